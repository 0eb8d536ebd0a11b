// Every interleaving of messages, receives, probes, cancels and notes of one connection, or of two
// to one receiver, through the code that decides what comes by MPI and what by the library, over an
// MPI of a few lines.

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

/// What a search has seen.
struct Visited {
    size_t states = 0;
    size_t ends = 0;
    size_t by_library = 0; ///< of these
    size_t returned = 0;
};

/// Visits every state; what went before is done again each time, for the library cannot go back.
class Search {
  public:
    explicit Search(Plan plan) : plan_(std::move(plan)) {}
    std::string run(Visited* seen);

  private:
    /// Nothing is under way.
    static bool may_be_over(const std::vector<std::string>& steps) {
        return std::all_of(steps.begin(), steps.end(), [](const std::string& step) {
            const std::string what = step.substr(0, step.find_first_of(' '));
            return what == "look" || what == "probe" || what == "propose" || what == "leave" ||
                   what == "cancel";
        });
    }
    /// What can be done again and again changes nothing.
    static bool is_settled(World& world) {
        const std::string state = world.state();
        for (const char* step : {"look", "look", "probe"}) {
            const std::vector<std::string> steps = world.steps();
            if (std::find(steps.begin(), steps.end(), step) != steps.end()) { world.take(step); }
        }
        return world.state() == state;
    }
    std::unique_ptr<World> at(const std::vector<std::string>& path) const {
        auto world = std::make_unique<World>(plan_);
        for (const std::string& step : path) { world->take(step); }
        return world;
    }

    Plan plan_;
};

std::string Search::run(Visited* seen) {
    std::set<std::string> states;
    std::vector<std::vector<std::string>> open = {{}};
    while (!open.empty()) {
        const std::vector<std::string> path = std::move(open.back());
        open.pop_back();
        const auto world = at(path);
        const std::string state = world->state();
        if (!states.insert(state).second) { continue; }
        const std::vector<std::string> steps = world->steps();
        const bool is_over = may_be_over(steps) && is_settled(*at(path));
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
        Visited seen;
        EXPECT_EQ(Search(plan).run(&seen), "");
        EXPECT_GT(seen.by_library, 0U);
        EXPECT_EQ(seen.returned > 0, may_return);
        std::printf("%zu states, %zu ends, %zu by the library, %zu returned\n", seen.states,
                    seen.ends, seen.by_library, seen.returned);
    }
};

constexpr int any = MPI_ANY_TAG;

/// Of one source: tags of the messages and of the receives, and so many cancels, questions for the
/// way back, and proposals.
Plan of_one(const std::vector<int>& messages, const std::vector<int>& receives, int cancels,
            int questions = 0, int proposals = 1) {
    Plan plan{{{messages, proposals, questions}}, {}, cancels};
    for (const int tag : receives) { plan.receives.push_back({{1, tag}}); }
    return plan;
}

TEST_F(Handover, OfOneChannel) { expect_all_right(of_one({7, 7, 7}, {7, 7, 7, 7}, 1), false); }
TEST_F(Handover, OfTwoChannels) { expect_all_right(of_one({7, 8, 7}, {8, 7, 7}, 1), false); }
TEST_F(Handover, WithWildcards) { expect_all_right(of_one({7, 8, 7}, {any, 7, any}, 1), false); }
TEST_F(Handover, WithNamesBehindWildcards) {
    expect_all_right(of_one({8, 7, 8, 7}, {any, 8, 7, any}, 0), false);
}
TEST_F(Handover, AndBack) { expect_all_right(of_one({7, 7, 7}, {7, 7, 7}, 0, 1), true); }
TEST_F(Handover, AndBackAndOnceMore) {
    expect_all_right(of_one({7, 7, 7, 7}, {7, 7, 7, 7}, 0, 1, 2), true);
}
TEST_F(Handover, ProposedTwice) {
    expect_all_right(of_one({7, 7, 8, 7}, {7, 8, 7, 7}, 1, 0, 2), false);
}
TEST_F(Handover, ProposedTwiceWithWildcards) {
    expect_all_right(of_one({7, 8, 7, 7}, {7, any, 7, any}, 1, 0, 2), false);
}
TEST_F(Handover, AndBackAskedTwice) { expect_all_right(of_one({7, 7, 7}, {7, 7, 7}, 0, 2), true); }
TEST_F(Handover, AndBackAskedTwiceWithWildcards) {
    expect_all_right(of_one({7, 8, 7}, {7, any, 7}, 0, 2), true);
}

/// Each receive is posted before the one before it is over.
TEST_F(Handover, AndBackWhereReceivesAreAlwaysPosted) {
    World world(of_one({7, 7, 7, 7}, {7, 7, 7, 7}, 0, 2));
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
    expect_all_right(of_one({7, 8, 7}, {7, any, any}, 1, 1, 2), true);
}

// A second source, whose messages stay with MPI.

constexpr int anyone = MPI_ANY_SOURCE;
constexpr auto probed = Plan::Receive::Kind::probed;
constexpr auto taken = Plan::Receive::Kind::taken;

TEST_F(Handover, OfOneOfTwoSources) {
    const Plan plan{{{{7, 7}, 1}, {{7, 7}}}, {{{1, 7}}, {{anyone, 7}}, {{anyone, 7}}, {{2, 7}}}, 1};
    expect_all_right(plan, false);
}
TEST_F(Handover, OfOneOfTwoSourcesWithTags) {
    const Plan plan{{{{7, 8, 7}, 1}, {{8, 7}}},
                    {{{1, 7}}, {{anyone, any}}, {{anyone, 8}}, {{1, 7}}, {{2, any}}},
                    0};
    expect_all_right(plan, false);
}
TEST_F(Handover, OfOneOfTwoSourcesProbed) {
    const Plan plan{{{{7, 8, 7}, 1}, {{7, 8}}},
                    {{{1, 7}}, {{anyone, any}, probed}, {{anyone, 7}}, {{anyone, 8}, probed}},
                    1};
    expect_all_right(plan, false);
}
TEST_F(Handover, OfOneOfTwoSourcesTaken) {
    const Plan plan{{{{7, 8, 7}, 1}, {{7, 8}}},
                    {{{1, 7}}, {{anyone, any}, taken}, {{anyone, 7}}, {{anyone, any}, taken}},
                    1};
    expect_all_right(plan, false);
}
TEST_F(Handover, OfOneOfTwoSourcesAndBack) {
    const Plan plan{{{{7, 7, 7}, 1, 1}, {{7}}},
                    {{{1, 7}}, {{anyone, 7}}, {{anyone, any}, probed}, {{1, 7}}},
                    0};
    expect_all_right(plan, true);
}
TEST_F(Handover, OfTwoSources) {
    const Plan plan{{{{7, 7}, 1}, {{7, 7}, 1}},
                    {{{1, 7}}, {{2, 7}}, {{anyone, 7}}, {{anyone, any}, probed}},
                    0};
    expect_all_right(plan, false);
}

} // namespace

} // namespace nodeaware
