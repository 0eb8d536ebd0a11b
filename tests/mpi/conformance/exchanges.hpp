#pragma once

#include "tests/mpi/conformance/context.hpp"
#include "tests/mpi/exchange.hpp"

#include <string>
#include <vector>

/// The collective exchanges in all their forms, with arguments that can be spoiled one by one.
namespace nodeaware::conformance {

using test::Operation;

enum class Form { blocking, nonblocking, persistent };

/// An operation in one of its forms.
struct Function {
    Operation operation;
    Form form;
    bool is_large; ///< counts are MPI_Count

    std::string name() const;
    bool is_neighborhood() const { return operation >= test::neighbor_alltoall; }
    bool is_allgather() const { return operation >= test::neighbor_allgather; }
    /// One count and one place for all blocks that are sent, or received.
    bool sends_uniform() const;
    bool receives_uniform() const;
    bool has_types() const;
};

/// All that this MPI has.
const std::vector<Function>& functions();

/// Counts, places and types of the blocks of one side.
struct Blocks {
    void* buffer = nullptr;
    std::vector<int> counts;
    std::vector<int> places; ///< in extents; for the w operations in bytes
    std::vector<MPI_Datatype> types;
    bool no_counts = false; ///< nullptr instead of the array
};

/// The arguments of a call. They have to live until it is complete.
class Arguments {
  public:
    Blocks sent;
    Blocks received;
    MPI_Comm comm = MPI_COMM_NULL;

    int invoke(const Function& function, MPI_Request* request);

  private:
    struct Wide {
        std::vector<MPI_Count> counts;
        std::vector<MPI_Aint> places;
    };
    template <class Names, class Count, class Place, class... More>
    int dispatch(const Function& function, const Count* sendcounts, const Place* sdispls,
                 const Count* recvcounts, const Place* rdispls, More... more);
    template <class Names, class... More> int call(const Function& function, More... more);
    template <class Names, class... More> int call_large(const Function& function, More... more);

    Wide wide_sent_;
    Wide wide_received_;
};

/// From whom and to whom blocks go on a communicator.
struct Peers {
    std::vector<int> sources;
    std::vector<int> destinations;
};
Peers everybody(MPI_Comm comm);
Peers neighbors(MPI_Comm comm);

/// A communicator with a topology on the ranks of `comm`: one on the same node and two elsewhere on
/// either side of each rank, or on one side only. Collective.
MPI_Comm make_graph(Context& context, bool balanced = true);
MPI_Comm make_ring(Context& context, bool periodic);

/// A call with arguments that are right, and its data: blocks of `ints` ints, or where they may
/// differ of more or less of them.
class Exchange {
  public:
    Exchange(const Function& function, MPI_Comm comm, int round, int ints = 4);

    Arguments arguments;
    Memory sent;
    Memory received;

    const Function& function() const { return function_; }
    /// Calls and completes it, and writes down how it went.
    int run(Recorder& out, const std::string& what);

  private:
    int block_ints(int source, int destination) const;
    void lay_out(Blocks& blocks, const std::vector<int>& sizes, bool uniform) const;

    Function function_;
    int ints_;
};

/// As many right calls on `comm` as asked for.
void exchange_rightly(Context& context, const Function& function, MPI_Comm comm, int calls,
                      const std::string& what);

/// The communicator for a function, made of the context's where it has to have a topology; freed at
/// the end.
class Place {
  public:
    Place(Context& context, const Function& function);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    MPI_Comm comm() const { return comm_; }

  private:
    Context& context_;
    MPI_Comm comm_;
    bool is_own_;
};

} // namespace nodeaware::conformance
