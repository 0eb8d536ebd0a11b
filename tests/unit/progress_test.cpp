#include "runtime/progress/clock.hpp"
#include "runtime/progress/progress.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace nodeaware {

namespace {

constexpr double look_seconds = 5e-3;

/// Work of which every look takes long.
class SlowWork : public WorkSource {
  public:
    bool is_busy() const override { return true; }
    void advance() override {
        ++looks;
        std::this_thread::sleep_for(std::chrono::duration<double>(look_seconds));
    }
    int looks = 0;
};

TEST(Progress, CallsThatNeedNotWaitHaveMostOfTheTime) {
    SlowWork work;
    Progress progress;
    progress.add(work);
    const double start = now();
    uint64_t calls = 0;
    for (; work.looks < 5; ++calls) {
        progress.wait_until([] { return true; });
    }
    EXPECT_GE(now() - start, (5 * 4 + 1) * look_seconds);
    EXPECT_GT(calls, 5U);
}

TEST(Progress, WhoWaitsLooksAllTheTime) {
    SlowWork work;
    Progress progress;
    progress.add(work);
    int rounds = 0;
    progress.wait_until([&] { return ++rounds > 5; });
    EXPECT_GE(work.looks, 5);
}

} // namespace

} // namespace nodeaware
