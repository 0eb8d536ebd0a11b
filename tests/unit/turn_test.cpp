#include "runtime/progress/progress.hpp"
#include "runtime/progress/turn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace nodeaware {

namespace {

void run_at_once(int threads, const std::function<void()>& work) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) { running.emplace_back(work); }
    for (std::thread& thread : running) { thread.join(); }
}

TEST(Turn, IsFreeWhereThreadsDoNotCallAtOnce) {
    const Turn turn;
    std::thread([] { const Turn another; }).join(); // does not wait
    EXPECT_FALSE(Turn::are_taken());
    EXPECT_FALSE(Turn::are_of_several_threads());
}

TEST(Turn, OneThreadAtATimeHasOne) {
    Turn::take_from_now_on();
    int count = 0; // which ThreadSanitizer would look at, too
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    run_at_once(4, [&] {
        for (int i = 0; i < 2000; ++i) {
            const Turn turn;
            const Turn within;
            most = std::max(most.load(), ++inside);
            ++count;
            --inside;
        }
    });
    EXPECT_EQ(count, 8000);
    EXPECT_EQ(most, 1);
    EXPECT_TRUE(Turn::are_of_several_threads());
    EXPECT_FALSE(Turn::is_wanted());
}

TEST(Turn, ComesToEachOfMany) {
    Turn::take_from_now_on();
    constexpr int many = 200; // more than there are places to wait at
    std::vector<int> order;
    std::vector<std::thread> running;
    std::atomic<int> begun{0};
    {
        const Turn turn;
        for (int i = 0; i < many; ++i) {
            running.emplace_back([&, i] {
                ++begun;
                const Turn another;
                order.push_back(i);
            });
            while (begun <= i) { std::this_thread::yield(); }
        }
    }
    for (std::thread& thread : running) { thread.join(); }
    ASSERT_EQ(order.size(), static_cast<size_t>(many));
    std::sort(order.begin(), order.end());
    for (int i = 0; i < many; ++i) { EXPECT_EQ(order[static_cast<size_t>(i)], i); }
}

TEST(Turn, OthersHaveItWhileOneIsAway) {
    Turn::take_from_now_on();
    std::atomic<bool> is_over{false};
    const Turn turn;
    const Turn within;
    std::thread other([&] {
        const Turn another;
        is_over = true;
    });
    while (!Turn::is_wanted()) { std::this_thread::yield(); }
    EXPECT_FALSE(is_over);
    {
        const Turn::Away away;
        other.join();
        EXPECT_TRUE(is_over);
    }
    std::atomic<bool> has_had_it{false};
    std::thread third([&] {
        const Turn another;
        has_had_it = true;
    });
    while (!Turn::is_wanted()) { std::this_thread::yield(); }
    EXPECT_FALSE(has_had_it); // this thread has it again
    const Turn::Away away;
    third.join();
}

/// Work of the library that only one thread at a time may see.
class Counting : public WorkSource {
  public:
    bool is_busy() const override { return true; }
    void advance() override { ++looks; }
    void set_waiting(bool waits) override { is_waiting = waits; }
    int looks = 0;
    bool is_waiting = false;
};

TEST(Turn, WhoWaitsLetsOthersLook) {
    Turn::take_from_now_on();
    Counting work;
    Progress progress;
    progress.add(work);
    int at = 0; // each waits for what another does
    std::atomic<int> next{0};
    run_at_once(3, [&] {
        const int mine = next++;
        for (int round = 0; round < 200; ++round) {
            progress.wait_until([&] { return at == 3 * round + mine; });
            const Turn turn;
            ++at;
        }
    });
    EXPECT_EQ(at, 600);
    EXPECT_GE(work.looks, 600);
    EXPECT_FALSE(work.is_waiting);
}

} // namespace

} // namespace nodeaware
