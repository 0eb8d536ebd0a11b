// The common start of a timed call.
#pragma once

#include <mpi.h>

namespace bench {

class StartLine {
  public:
    enum class Mode {
        barrier,      // each rank's time starts when it leaves the barrier
        shared_clock, // all ranks' time starts at one moment of the machine's clock
        none          // at once
    };
    struct Start {
        double time;
        bool late; // shared clock: the moment had passed when this rank knew of it, or woke up
    };

    // `pause`: seconds from rank 0's announcement to the start.
    StartLine(Mode mode, double pause, int ranks);

    Start wait(MPI_Comm comm) const;
    // After a timed call. On a shared clock ranks share cores too: one that has finished sleeps for
    // a moment, or its next calls would take the cores from those that have not.
    void rest() const;
    bool spins() const { return spins_; }

  private:
    Mode mode_;
    double pause_;
    bool spins_; // the last moments before the start
};

} // namespace bench
