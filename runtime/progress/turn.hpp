#pragma once

#include <cstdint>

namespace nodeaware {

/// What the library knows of messages and requests is used by one thread at a time. Where threads
/// may call MPI at the same time, who holds a Turn is alone with it; others get theirs in the order
/// in which they came. A thread may hold one inside another. Nobody who holds one waits for other
/// ranks, in the library or in MPI, but Away.
class Turn {
  public:
    Turn() : is_taken_(are_taken()) {
        if (is_taken_) { enter(); }
    }
    ~Turn() {
        if (is_taken_) { leave(); }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// This thread gives up its turn, and has it again. The number of those that it holds.
    static uint32_t give_up();
    static void take_again(uint32_t held);

    /// While one lives, this thread has given it up.
    class Away {
      public:
        Away() : held_(give_up()) {}
        ~Away() { take_again(held_); }
        Away(const Away&) = delete;
        Away& operator=(const Away&) = delete;

      private:
        const uint32_t held_;
    };

    /// From now on, while only this thread calls MPI.
    static void take_from_now_on();
    static bool are_taken();
    /// Others wait for theirs.
    static bool is_wanted();
    /// More than one thread has had one.
    static bool are_of_several_threads();

  private:
    static void enter();
    static void leave();

    const bool is_taken_;
};

} // namespace nodeaware
