#pragma once

#include "tests/unit/scripted/random.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace scripted {

/// Runs the ranks of a job in one thread, one at a time, each on a stack of its own. A seed decides
/// when another one goes on; time goes on with each such moment. So a run can be repeated exactly.
class Scheduler {
  public:
    explicit Scheduler(Random random);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// What a blocked rank lets happen meanwhile: true if something has happened. `hurry`: if
    /// anything can.
    using Deliver = std::function<bool(int rank, bool hurry)>;

    /// Calls program(rank) for each rank. Empty, or why the job was ended: no rank can go on, or
    /// stop() was called.
    std::string run(int ranks, const std::function<void(int)>& program, Deliver deliver);

    /// The one that runs, or nullptr.
    static Scheduler* running();
    int rank() const { return current_; }

    // For the rank that runs.
    /// Another rank may go on.
    void may_switch();
    /// Others go on until `ready` is true. `in_mpi`: what comes for this rank is delivered.
    void wait_until(std::function<bool()> ready, bool in_mpi);
    /// What the rank is doing, for those who ask why nothing happens.
    void set_place(std::string place);
    const std::string& place() const;
    /// The function of MPI that it has called there.
    void set_call(const char* function);
    /// Ends the job.
    void stop(const std::string& why);

    /// Something has happened; if nothing does for long while ranks look for it, none ever will.
    void note_change() { idle_ = 0; }
    uint64_t nanoseconds() const { return nanoseconds_; }

  private:
    struct Fiber;
    [[gnu::noinline]] static void prepare(Fiber& fiber);
    void resume(int rank);
    void suspend();
    int choose();
    std::string places() const;
    static void enter();

    Random random_;
    size_t patience_; ///< a rank goes on in so many cases for one in which it does not
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::function<void(int)> program_;
    Deliver deliver_;
    std::string ended_;
    int current_ = -1;
    uint64_t idle_ = 0;
    uint64_t nanoseconds_ = 0;
};

} // namespace scripted
