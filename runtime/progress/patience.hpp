#pragma once

#include "runtime/progress/backoff.hpp"

#include <algorithm>
#include <cstdint>

namespace nodeaware {

/// What a rank does in one round of waiting in vain.
struct Rest {
    enum class Kind { spin, yield, nap, sleep };
    Kind kind = Kind::spin;
    uint32_t microseconds = 0; ///< of a sleep, which the bell ends at once
    bool checks = false;       ///< it looks for what only errors leave behind, before it rests
};

/// The rounds of one wait: it spins for a short time, then yields the core, then naps; where only
/// the bell can end it, it sleeps instead. On a crowded core, where a rank that spins keeps the one
/// from running that it waits for, it yields or sleeps at once.
class Patience {
  public:
    void begin() { rounds_ = sleeps_ = 0; }

    Rest next(bool only_bell, bool crowded) {
        const uint32_t round = rounds_++;
        const uint32_t spins = crowded ? 0 : backoff::spins;
        const uint32_t yields = crowded && only_bell ? 0 : backoff::yields;
        if (round >= spins + yields && only_bell) { return sleep(); }
        const bool checks = round % rounds_between_checks == rounds_between_checks - 1;
        if (round >= spins + yields) { return {Rest::Kind::nap, 0, checks}; }
        return {round < spins ? Rest::Kind::spin : Rest::Kind::yield, 0, checks};
    }

  private:
    // Microseconds. The limits of a sleep are for MPI, which may have work to do for others. They
    // double, so that such work waits little longer than this rank has waited.
    static constexpr uint32_t shortest_sleep = 200;
    static constexpr uint32_t doublings = 6;
    // A check is a dozen calls of MPI, in each of which it may yield: what comes meanwhile is
    // noticed late. These many sleeps take 0.1 to 0.2 s.
    static constexpr uint32_t rounds_between_checks = 1024;
    static constexpr uint32_t sleeps_between_checks = 16;

    Rest sleep() {
        const uint32_t number = sleeps_++;
        return {Rest::Kind::sleep, shortest_sleep << std::min(number, doublings),
                number % sleeps_between_checks == sleeps_between_checks - 1};
    }

    uint32_t rounds_ = 0;
    uint32_t sleeps_ = 0;
};

/// Whether a rank that yields has looked often enough to leave its core. Some MPIs tell only at the
/// next look what they have found at this one, and some leave the core themselves when they find
/// nothing: one look in vain is not enough, and whoever has left it looks again. The next turn of
/// this rank may come a millisecond later.
class Looks {
  public:
    /// After one more in vain. `switches`: how often this thread has left its core up to now.
    bool are_enough(long switches) {
        in_vain_ = switches == switches_ ? in_vain_ + 1 : 0;
        switches_ = switches;
        return in_vain_ >= 2;
    }
    void begin_again(long switches) {
        in_vain_ = 0;
        switches_ = switches;
    }

  private:
    long switches_ = 0;
    uint32_t in_vain_ = 0; ///< since it last left it
};

} // namespace nodeaware
