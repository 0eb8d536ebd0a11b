#include "tests/unit/made_up_trace.hpp"
#include "tools/nodeaware/trace/analysis.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nodeaware::tool {

namespace {

using test::MadeUpTrace;

constexpr trace::Nanoseconds ms = 1'000'000;

trace::Call call(const char* function, int communicator, trace::Nanoseconds end) {
    return {function, nullptr, communicator, trace::Memory::host, 0, end};
}

TraceForecast forecast_of(const Trace& trace, const std::vector<int>& nodes) {
    Parameters parameters;
    parameters.message_cap = 60000;
    parameters.direct_bytes = 65536;
    parameters.arena_bytes = 64 << 20;
    return forecast_of(trace, nodes, parameters);
}

bool says(const std::vector<std::string>& verdict, const std::string& words) {
    return std::any_of(verdict.begin(), verdict.end(), [&words](const std::string& line) {
        return line.find(words) != std::string::npos;
    });
}

/// Two nodes of two ranks, which spend a third of the time in exchanges, and a third in messages.
struct Subject {
    Subject() {
        MadeUpTrace made_up({0, 0, 1, 1});
        for (int rank = 0; rank < 4; ++rank) {
            trace::Contents& contents = made_up.rank(static_cast<size_t>(rank));
            const int peer = (rank + 2) % 4;
            contents.add_exchange(call("MPI_Alltoallv", 0, 300 * ms), 1, {{peer, 1000}});
            contents.add_send(call("MPI_Send", 0, 300 * ms), peer, 1000);
        }
        made_up.write(900 * ms);
        trace = read_trace(made_up.folder());
        analysis = analyze(trace, trace.nodes);
        forecast.calls = 1;
        forecast.measured = 0.3;
        forecast.native = 0.2;
        forecast.strategies = {{"three_step", 0.1}};
        forecast.messages = {0.9, 0.1, 0};
    }
    std::vector<std::string> verdict() const { return tool::verdict(trace, analysis, forecast); }
    std::string config() const { return recommended_config(trace, analysis, forecast); }

    Trace trace;
    TraceAnalysis analysis;
    TraceForecast forecast;
};

} // namespace

TEST(Verdict, GainsAreThoseOfTheWholeRun) {
    Subject subject;
    const auto said = subject.verdict();
    // A third of the time at twice the speed: 1 / (1 - 1/3 * 1/2).
    EXPECT_TRUE(said.at(0).starts_with("three_step is predicted to make the collective exchanges "
                                       "2.0 times as fast; they take 33 % of the time, so the "
                                       "whole run would be at most 1.20 times as fast."))
        << said[0];
    EXPECT_TRUE(said.at(1).ends_with("33 % of the time, so the whole run would be at most 1.42 "
                                     "times as fast."))
        << said[1];
}

TEST(Verdict, PartsHaveTwoDigitsAndNoExponent) {
    Subject subject;
    const auto says_of = [&subject](double share, const std::string& words) {
        subject.analysis.shares[static_cast<size_t>(Purpose::exchange)] = share;
        const auto said = subject.verdict();
        return says(said, "of which " + words + " were spent in exchanges") &&
               says(said, "they take " + words + " of the time");
    };
    EXPECT_TRUE(says_of(0.9996, "100 %"));
    EXPECT_TRUE(says_of(0.994, "99 %"));
    EXPECT_TRUE(says_of(0.0999, "10 %"));
    EXPECT_TRUE(says_of(0.0912, "9.1 %"));
    EXPECT_TRUE(says_of(0.012, "1.2 %"));
}

TEST(Verdict, NamesNoStrategyWhereAllAreAlike) {
    Subject subject;
    subject.forecast.strategies = {{"standard", 0.1}, {"three_step", 0.1}};
    EXPECT_TRUE(subject.verdict().at(0).starts_with("Gathering is predicted"));
    subject.forecast.strategies = {{"three_step", 0.1}, {"standard", 0.2}};
    EXPECT_TRUE(subject.verdict().at(0).starts_with("three_step is predicted"));
}

TEST(Verdict, SaysWhereTheTableIsFarFromWhatWasMeasured) {
    Subject subject;
    const std::string far = "may be far from what is gained";
    EXPECT_FALSE(says(subject.verdict(), far));
    subject.forecast.native = 0.0003;
    subject.forecast.strategies = {{"three_step", 0.0003}};
    subject.forecast.messages = {0.105, 0.1, 0};
    const auto said = subject.verdict();
    EXPECT_TRUE(said.at(0).starts_with("The collective exchanges took 0.3 s, but 0.0003 s by the "
                                       "model table"))
        << said[0];
    EXPECT_NE(said[0].find("ranks wait in them for others"), std::string::npos);
    EXPECT_NE(said[0].find("`nodeaware calibrate`"), std::string::npos);
    EXPECT_TRUE(says(said, "No gain expected from the collective exchanges"));
    EXPECT_NE(subject.config().find("STRATEGY = auto\n"), std::string::npos);
    subject.forecast.messages = {0.1, 0.1, 0}; // none that could travel together, by any table
    EXPECT_NE(subject.config().find("STRATEGY = auto,p2p:native\n"), std::string::npos);
    Subject slow;
    slow.forecast.native = 30;
    EXPECT_TRUE(slow.verdict().at(0).ends_with(
        "gained: the table is of another machine (`nodeaware calibrate` measures one)."));
    Subject trifling;
    trifling.forecast.measured = 0.005;
    trifling.forecast.native = 0.0001;
    EXPECT_FALSE(says(trifling.verdict(), far));
}

TEST(Verdict, ComparesTheTableOnlyWithWhatItIsOf) {
    const std::string far = "may be far from what is gained";
    Subject subject;
    subject.forecast.native = 30;
    EXPECT_TRUE(says(subject.verdict(), far));
    subject.forecast.has_nonblocking = true; // and perhaps behind the program's own work
    EXPECT_FALSE(says(subject.verdict(), far));
    subject.forecast.native = 0.0003;
    EXPECT_TRUE(says(subject.verdict(), far));
    subject.forecast.is_of_its_nodes = false;
    EXPECT_FALSE(says(subject.verdict(), far));
    subject.forecast.is_of_its_nodes = true;
    subject.trace.nodes_are_virtual = true;
    EXPECT_FALSE(says(subject.verdict(), far));
    subject.trace.nodes_are_virtual = false;
    subject.trace.observes = false;
    EXPECT_TRUE(says(subject.verdict(), far));
    subject.trace.ranks[1].ways = {{"alltoallv", "three_step", "rerouted", 1, 1, 1}};
    EXPECT_FALSE(says(subject.verdict(), far));
}

TEST(Verdict, OfAJobThatWasEndedBeforeItCameToAnythingIsThatNothingCanBeSaid) {
    Subject subject;
    subject.trace.is_complete = false;
    EXPECT_TRUE(says(subject.verdict(), "The job did not come to its end: what follows"));
    subject.analysis.collective_between_nodes = {};
    subject.analysis.messages_between_nodes = {};
    const auto said = subject.verdict();
    EXPECT_TRUE(said.at(0).starts_with("The job did not come to its end, and no messages"));
    EXPECT_FALSE(says(said, "No gain expected"));
    EXPECT_FALSE(says(said, "what follows is what it had recorded"));
    EXPECT_EQ(subject.config().find("DISABLE"), std::string::npos);
    subject.trace.is_complete = true;
    EXPECT_TRUE(says(subject.verdict(), "No gain expected, because no messages between nodes"));
}

TEST(Verdict, TheTableThatWasAskedForIsASetting) {
    const Subject subject;
    const std::string config =
        recommended_config(subject.trace, subject.analysis, subject.forecast, "/a/table.json");
    EXPECT_TRUE(config.ends_with("STRATEGY = auto\nMODEL = /a/table.json\n")) << config;
    EXPECT_TRUE(subject.config().ends_with("STRATEGY = auto\n"));
}

TEST(Analysis, EmptyMessagesFromPointToPointAreMessages) {
    MadeUpTrace made_up({0, 0, 1, 1});
    for (int i = 0; i < 3; ++i) { made_up.rank(0).add_send(call("MPI_Send", 0, 1), 2, 0); }
    made_up.rank(0).add_send(call("MPI_Send", 0, 1), 2, 1);
    made_up.rank(0).add_send(call("MPI_Send", 0, 1), 1, 0);
    made_up.rank(1).add_exchange(call("MPI_Alltoallv", 0, 1), 1, {{2, 0}, {3, 10}});
    made_up.write();
    const Trace trace = read_trace(made_up.folder());
    const TraceAnalysis analysis = analyze(trace, trace.nodes);
    EXPECT_EQ(analysis.messages_between_nodes.messages, 4U);
    EXPECT_EQ(analysis.messages_between_nodes.bytes, 1U);
    EXPECT_EQ(analysis.collective_between_nodes.messages, 1U);
    EXPECT_EQ(analysis.within_nodes.messages, 1U);
    const auto sizes = to_json(trace, analysis, TraceForecast(), "")["between_nodes"]["sizes"];
    ASSERT_EQ(sizes.size(), 3U);
    EXPECT_EQ(sizes[0], (nlohmann::ordered_json{{"from", 0}, {"messages", 3}, {"bytes", 0}}));
    EXPECT_EQ(sizes[1]["from"], 1);
    EXPECT_EQ(sizes[2]["from"], 8);
}

TEST(Analysis, CommunicatorsAddUpToAllCalls) {
    MadeUpTrace made_up({0, 0, 1, 1});
    for (int rank = 0; rank < 4; ++rank) {
        trace::Contents& contents = made_up.rank(static_cast<size_t>(rank));
        const int self = contents.add_communicator({0, 1, false, {{rank, 1, 1}}});
        contents.add_call(call("MPI_Allreduce", self, 2 * ms));
        contents.add_call(call("MPI_Waitall", -1, 3 * ms));
        contents.add_call(call("MPI_Allreduce", 0, 5 * ms));
    }
    made_up.write();
    const Trace trace = read_trace(made_up.folder());
    ASSERT_EQ(trace.complaints, std::vector<std::string>());
    const auto& rows = analyze(trace, trace.nodes).communicators;
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].what, "all 4 ranks");
    EXPECT_TRUE(rows[1].what.starts_with("no communicator"));
    EXPECT_NEAR(rows[1].seconds, 0.012, 1e-9);
    EXPECT_EQ(rows[2].what, "4 ranks, each by itself");
    EXPECT_EQ(rows[2].calls, 4U);
    EXPECT_NEAR(rows[2].seconds, 0.008, 1e-9);
}

TEST(Analysis, OthersWaitForARankThatIsInCallsForFarLess) {
    TraceAnalysis analysis;
    EXPECT_FALSE(analysis.least_stands_out());
    analysis.wall = 10;
    analysis.mean_in_calls = 5;
    analysis.least_in_calls = {3, 4.97};
    EXPECT_FALSE(analysis.least_stands_out());
    analysis.least_in_calls = {3, 4.4};
    EXPECT_TRUE(analysis.least_stands_out());
}

TEST(Forecast, TimesOfCommunicatorsSideBySideAreTheMeanOfTheRanks) {
    MadeUpTrace both({0, 0, 1, 1});
    MadeUpTrace one({0, 0, 1, 1});
    for (int rank = 0; rank < 4; ++rank) {
        for (MadeUpTrace* made_up : {&both, &one}) {
            trace::Contents& contents = made_up->rank(static_cast<size_t>(rank));
            const int half = contents.add_communicator({rank / 2, 2, false, {{rank % 2, 2, 2}}});
            if (made_up == &one && rank % 2 == 1) { continue; }
            const int peer = 1 - rank / 2;
            contents.add_exchange(call("MPI_Alltoallv", half, 10 * ms), 1, {{peer, 1000}});
            contents.add_send(call("MPI_Send", half, 0), peer, 1000);
        }
    }
    both.write();
    one.write();
    const Trace trace = read_trace(both.folder());
    ASSERT_EQ(trace.complaints, std::vector<std::string>());
    const TraceForecast of_both = forecast_of(trace, trace.nodes);
    const TraceForecast of_one = forecast_of(read_trace(one.folder()), trace.nodes);
    EXPECT_EQ(of_both.calls, 1U);
    EXPECT_EQ(of_one.calls, 1U); // half a call is one
    EXPECT_NEAR(of_both.measured, 0.01, 1e-9);
    EXPECT_NEAR(of_one.measured, 0.005, 1e-9);
    EXPECT_GT(of_one.native, 0);
    EXPECT_DOUBLE_EQ(of_both.native, 2 * of_one.native);
    EXPECT_GT(of_one.messages.native, 0);
    EXPECT_DOUBLE_EQ(of_both.messages.native, 2 * of_one.messages.native);
    for (size_t i = 0; i < of_both.strategies.size(); ++i) {
        EXPECT_DOUBLE_EQ(of_both.strategies[i].seconds, 2 * of_one.strategies[i].seconds);
    }
}

} // namespace nodeaware::tool
