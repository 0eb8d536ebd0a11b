#pragma once

#include "tests/mpi/conformance/context.hpp"

#include <map>
#include <memory>
#include <set>

namespace nodeaware::conformance {

/// What the command line asks for.
struct Wishes {
    std::string folder; ///< of the transcripts
    bool before = true;
    bool after = true;
    std::string only = "*";
    int from = 0;
    std::set<int> without;
    std::string left_out; ///< file with cases that are none: MPI, pattern, reason
    unsigned patience = 60;
    bool only_lists = false;
};

/// Runs the cases one after the other, and gives them communicators.
class Runner {
  public:
    explicit Runner(const Wishes& wishes);
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    void run(const Cases& cases);
    /// Ends MPI, and with it the last case.
    void close();

  private:
    /// What is under way when MPI_Finalize is called.
    struct LastOperations {
        Recorder* out = nullptr;
        Memory sent{0};
        Memory exchanged{0};
        Memory received{sizeof(int)};
        MPI_Request exchange = MPI_REQUEST_NULL;
        MPI_Request message = MPI_REQUEST_NULL;
    };
    static int complete_last(MPI_Comm comm, int keyval, void* value, void* extra);
    void begin_last(LastOperations& last);

    void run_phase(const Cases& cases, bool after);
    void run_case(const Case& one, bool after);
    bool is_wanted(const std::string& name) const;
    MPI_Comm communicator_for(const Case& one, bool after);
    MPI_Comm make_communicator() const;
    void take_over(MPI_Comm comm, int iterations);
    MPI_Comm graph_for(Context& context);
    void end_group();

    Wishes wishes_;
    std::unique_ptr<Recorder> out_;
    std::vector<std::string> left_out_;
    std::string group_;
    MPI_Comm shared_ = MPI_COMM_NULL;
    MPI_Comm graph_ = MPI_COMM_NULL;
    MPI_Comm side_ = MPI_COMM_NULL;
    std::set<std::string> ready_for_world_; ///< groups and phases
    std::map<std::string, int> counts_;     ///< of cases, by group
    std::map<std::string, double> seconds_;
    int number_ = 0; ///< of the case
    int taken_over_ = 0;
    int rank_ = 0;
    std::vector<char> attached_ = std::vector<char>(1 << 20);
};

} // namespace nodeaware::conformance
