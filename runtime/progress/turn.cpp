#include "runtime/progress/turn.hpp"

#include <array>
#include <atomic>
#include <utility>

namespace nodeaware {

namespace {

std::atomic<bool> taken{false};
/// Numbers, as at a counter. Who waits looks at the place of its number, so that not all wake up
/// for each.
constexpr uint32_t places = 64;
std::atomic<uint32_t> next_number{0};
std::atomic<uint32_t> served{0};
struct alignas(64) Place {
    std::atomic<uint32_t> wakes{0};
};
std::array<Place, places> waiting;
thread_local uint32_t held = 0; ///< turns of this thread, one inside the other
std::atomic<int> threads{0};    ///< that have had one
thread_local bool is_counted = false;

void wait_for_turn() {
    const uint32_t number = next_number.fetch_add(1);
    std::atomic<uint32_t>& wakes = waiting[number % places].wakes;
    for (;;) {
        const uint32_t seen = wakes.load();
        if (served.load() == number) { return; }
        wakes.wait(seen);
    }
}

void serve_next() {
    const uint32_t number = served.fetch_add(1) + 1;
    if (next_number.load() == number) { return; }
    std::atomic<uint32_t>& wakes = waiting[number % places].wakes;
    wakes.fetch_add(1);
    wakes.notify_all();
}

} // namespace

void Turn::take_from_now_on() {
#if !defined(NODEAWARE_VIRTUAL_TIME) // where all ranks are one process
    taken.store(true, std::memory_order_relaxed);
#endif
}

bool Turn::are_taken() { return taken.load(std::memory_order_relaxed); }

bool Turn::is_wanted() {
    return are_taken() &&
           next_number.load(std::memory_order_relaxed) - served.load(std::memory_order_relaxed) >
               (held > 0 ? 1U : 0U);
}

bool Turn::are_of_several_threads() { return threads.load(std::memory_order_relaxed) > 1; }

void Turn::enter() {
    if (held++ > 0) { return; }
    if (!std::exchange(is_counted, true)) { threads.fetch_add(1, std::memory_order_relaxed); }
    wait_for_turn();
}

void Turn::leave() {
    if (--held == 0) { serve_next(); }
}

uint32_t Turn::give_up() {
    const uint32_t given_up = std::exchange(held, 0);
    if (given_up > 0) { serve_next(); }
    return given_up;
}

void Turn::take_again(uint32_t given_up) {
    if (given_up == 0) { return; }
    wait_for_turn();
    held = given_up;
}

} // namespace nodeaware
