#pragma once

#include "runtime/memory/node_arena.hpp"
#include "runtime/mpi/mpi.hpp"
#include "runtime/progress/crowding.hpp"
#include "runtime/progress/patience.hpp"
#include "runtime/progress/progress.hpp"

#include <cstdint>
#include <functional>
#include <utility>

namespace nodeaware {

/// How a rank waits for others, with the patience that suits its core. MPI and the rest of the
/// library are given a chance to work all the while: other ranks may need this one for messages
/// that are still under way.
class Waiter {
  public:
    /// `progress`: tells what else there is to do; nullptr: nothing. It is asked each time, for
    /// there are communicators before there is something to do.
    Waiter(NodeArena& arena, MPI_Comm comm, bool oversubscribed, Progress* (*progress)() = nullptr)
        : arena_(arena), comm_(comm), progress_(progress), crowding_(oversubscribed) {}

    template <class Ready> void until(Ready ready) {
        begin();
        while (true) {
            const uint32_t bell = arena_.bell();
            if (ready()) { return; }
            pause(bell, true);
        }
    }

    /// For loops that do not fit until(): begin() when there was something to do, pause() when
    /// there was not. `bell` was read before looking for something to do. `only_bell`: nothing but
    /// the bell will end the wait; then MPI, which the loop does not call, is called here.
    void begin() {
        patience_.begin();
        crowding_.begin_wait();
        spins_ = 0;
    }
    void pause(uint32_t bell, bool only_bell);

    bool is_crowded() const { return crowding_.is_crowded(); }

    /// Something to do now and then while nothing happens; nullptr: nothing.
    void set_check(std::function<void()> check) { check_ = std::move(check); }

  private:
    void rest(Rest::Kind kind);
    void give_way();
    void progress_mpi();

    NodeArena& arena_;
    MPI_Comm comm_;
    Progress* (*progress_)();
    Patience patience_;
    Crowding crowding_;
    uint32_t spins_ = 0; ///< rounds of this wait so far in which it has spun
    Looks looks_;
    bool owes_progress_ = false; ///< the bell has rung, and MPI was not called since
    std::function<void()> check_;
};

} // namespace nodeaware
