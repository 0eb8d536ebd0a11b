#pragma once

#include <cstdint>

namespace nodeaware {

/// Whether others want the core of this rank. More ranks than cores are known from the start; other
/// jobs, threads, or a container that has less of the machine than its cores are noticed by a rank
/// that is kept from running while it spins. It is this rank's affair alone: it decides how it
/// waits, not what it does.
class Crowding {
  public:
    struct Times {
        double passed; ///< seconds since any moment
        double run;    ///< of these, what this thread had a core for
    };

    explicit Crowding(bool known, Times (*times)() = times_of_thread)
        : known_(known), times_(times) {}

    bool is_crowded() const { return known_ || waits_left_ > 0; }

    /// A wait begins. What was noticed holds for some waits, for more each time that it turns out
    /// to hold still: a rank that was kept from running by chance soon spins again.
    void begin_wait() {
        if (waits_left_ > 0) { --waits_left_; }
    }

    /// To be told of every round of a wait that spins, counted from 0.
    void spin(uint32_t round);

  private:
    static Times times_of_thread();

    bool known_;
    Times (*times_)();
    Times begin_{};
    uint32_t waits_left_ = 0;
    uint32_t next_waits_ = fewest_waits;

    static constexpr uint32_t fewest_waits = 4;
};

} // namespace nodeaware
