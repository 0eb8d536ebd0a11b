// Every interleaving of messages, receives, cancels and notes of one connection, through the code
// that decides what comes by MPI and what by the library, over an MPI of a few lines.

#include "tests/unit/handover/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace nodeaware {

namespace {

using handover_test::Plan;
using handover_test::World;

struct Seen {
    size_t states = 0;
    size_t ends = 0;
    size_t by_library = 0; ///< of these
    size_t returned = 0;
};

/// Visits every state; what went before is done again each time, for the library cannot go back.
class Search {
  public:
    explicit Search(Plan plan) : plan_(std::move(plan)) {}
    std::string run(Seen* seen);

  private:
    std::unique_ptr<World> at(const std::vector<std::string>& path) const {
        auto world = std::make_unique<World>(plan_);
        for (const std::string& step : path) { world->take(step); }
        return world;
    }

    Plan plan_;
};

std::string Search::run(Seen* seen) {
    std::set<std::string> states;
    std::vector<std::vector<std::string>> open = {{}};
    while (!open.empty()) {
        const std::vector<std::string> path = std::move(open.back());
        open.pop_back();
        const auto world = at(path);
        const std::string state = world->state();
        if (!states.insert(state).second) { continue; }
        const std::vector<std::string> steps = world->steps();
        bool is_over = false;
        if (steps == std::vector<std::string>{"look"} ||
            std::all_of(steps.begin(), steps.end(), [](const std::string& step) {
                return step == "look" || step == "propose" || step == "leave" ||
                       step.rfind("cancel", 0) == 0;
            })) {
            world->take("look");
            world->take("look");
            is_over = world->state() == state;
        }
        const std::string wrong = world->wrong(is_over);
        if (!wrong.empty()) {
            std::string text = wrong + ":";
            for (const std::string& step : path) { text += " " + step + ","; }
            return text;
        }
        ++seen->states;
        seen->ends += is_over ? 1 : 0;
        seen->by_library += is_over && world->has_used_library() ? 1 : 0;
        seen->returned += is_over && world->has_returned() ? 1 : 0;
        for (const std::string& step : steps) {
            open.push_back(path);
            open.back().push_back(step);
        }
    }
    return {};
}

class Handover : public ::testing::Test {
  protected:
    void SetUp() override { handover_test::use_network(); }
    static void expect_all_right(const Plan& plan, bool may_return) {
        Seen seen;
        EXPECT_EQ(Search(plan).run(&seen), "");
        EXPECT_GT(seen.by_library, 0U);
        EXPECT_EQ(seen.returned > 0, may_return);
        std::printf("%zu states, %zu ends, %zu by the library, %zu returned\n", seen.states,
                    seen.ends, seen.by_library, seen.returned);
    }
};

constexpr int any = MPI_ANY_TAG;

TEST_F(Handover, OfOneChannel) { expect_all_right({{7, 7, 7}, {7, 7, 7, 7}, 1}, false); }
TEST_F(Handover, OfTwoChannels) { expect_all_right({{7, 8, 7}, {8, 7, 7}, 1}, false); }
TEST_F(Handover, WithWildcards) { expect_all_right({{7, 8, 7}, {any, 7, any}, 1}, false); }
TEST_F(Handover, WithNamesBehindWildcards) {
    expect_all_right({{8, 7, 8, 7}, {any, 8, 7, any}, 0}, false);
}
TEST_F(Handover, AndBack) { expect_all_right({{7, 7, 7}, {7, 7, 7}, 0, 1}, true); }
TEST_F(Handover, AndBackAndOnceMore) {
    expect_all_right({{7, 7, 7, 7}, {7, 7, 7, 7}, 0, 1, 2}, true);
}
TEST_F(Handover, ProposedTwice) { expect_all_right({{7, 7, 8, 7}, {7, 8, 7, 7}, 1, 0, 2}, false); }
TEST_F(Handover, ProposedTwiceWithWildcards) {
    expect_all_right({{7, 8, 7, 7}, {7, any, 7, any}, 1, 0, 2}, false);
}
TEST_F(Handover, AndBackAskedTwice) { expect_all_right({{7, 7, 7}, {7, 7, 7}, 0, 2}, true); }
TEST_F(Handover, AndBackAskedTwiceWithWildcards) {
    expect_all_right({{7, 8, 7}, {7, any, 7}, 0, 2}, true);
}

/// Each receive is posted before the one before it is over.
TEST_F(Handover, AndBackWhereReceivesAreAlwaysPosted) {
    World world({{7, 7, 7, 7}, {7, 7, 7, 7}, 0, 2});
    for (const char* step :
         {"post",           "send",      "MPI brings", "propose",        "receiver is told",
          "sender is told", "library 0", "post",       "send",           "leave",
          "post",           "library 0", "library 0",  "sender is told", "send",
          "leave",          "post",      "library 0",  "library 0",      "sender is told",
          "library 0",      "send",      "MPI brings"}) {
        world.take(step);
        ASSERT_EQ(world.wrong(false), "") << step;
    }
    EXPECT_TRUE(world.has_returned());
    world.take("look");
    EXPECT_EQ(world.wrong(true), "");
}

TEST_F(Handover, AndBackWithWildcards) {
    expect_all_right({{7, 8, 7}, {7, any, any}, 1, 1, 2}, true);
}

} // namespace

} // namespace nodeaware
