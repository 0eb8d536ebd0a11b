#include "tests/unit/made_up_trace.hpp"
#include "tools/nodeaware/trace/forecast.hpp"
#include "tools/nodeaware/trace/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace nodeaware::tool {

namespace {

constexpr size_t ranks = 4; // two on each of two nodes
constexpr uint64_t bytes = 100;

/// A trace in which ranks call one function after the other, 1 ms each.
class Program {
  public:
    Program() {
        trace_.nodes = {0, 0, 1, 1};
        trace_.ranks.resize(ranks);
        for (size_t i = 0; i < ranks; ++i) {
            RankTrace& rank = trace_.ranks[i];
            rank.rank = static_cast<int>(i);
            rank.has_timeline = true;
            rank.communicators.push_back({rank.rank, ranks, false, {0, 1, 2, 3}, 0, 0});
        }
    }

    void call(size_t rank, const std::string& function) { add(rank, function, -1, 0, 0); }
    void send(size_t rank, const std::string& function, size_t peer) {
        add(rank, function, 0, static_cast<int>(peer), bytes);
        count(rank, function, peer, 1);
    }
    /// Of persistent requests; older traces do not have which are started.
    void start(size_t rank, size_t peer, bool is_told = false) {
        if (is_told) { add(rank, "MPI_Start of a send", 0, static_cast<int>(peer), bytes); }
        add(rank, "MPI_Start", -1, -1, bytes);
        count(rank, "MPI_Start", peer, 1);
    }
    void meet() {
        for (size_t rank = 0; rank < ranks; ++rank) { add(rank, "blocking collective", 0, -1, 0); }
    }
    Trace& trace() { return trace_; }

  private:
    void add(size_t number, const std::string& function, int communicator, int peer,
             uint64_t sent) {
        RankTrace& rank = trace_.ranks[number];
        const auto known = std::find(rank.functions.begin(), rank.functions.end(), function);
        const auto name = static_cast<size_t>(known - rank.functions.begin());
        if (known == rank.functions.end()) { rank.functions.push_back(function); }
        const double begin = 1e-3 * static_cast<double>(rank.events.size());
        rank.events.push_back({name, communicator, peer, begin, begin + 1e-3, sent});
    }
    void count(size_t number, const std::string& function, size_t peer, uint64_t messages) {
        RankTrace& rank = trace_.ranks[number];
        rank.sites.push_back({function, "", 0, 1, messages, messages * bytes, 1e-3});
        const auto to = static_cast<int>(peer);
        const auto known = std::find_if(rank.sends.begin(), rank.sends.end(),
                                        [to](const TracedSends& one) { return one.peer == to; });
        TracedSends& sends = known == rank.sends.end()
                                 ? rank.sends.emplace_back(TracedSends{0, to, {{7, 0, 0}}})
                                 : *known;
        sends.sizes.front().messages += messages;
        sends.sizes.front().bytes += messages * bytes;
    }

    Trace trace_;
};

/// Messages of each group, by nodes.
std::vector<size_t> sizes_of(const Trace& trace, size_t most = 1000) {
    std::vector<size_t> sizes;
    for (const MessagesTogether& group : messages_together(trace, trace.nodes, most)) {
        sizes.push_back(group.messages.size());
    }
    return sizes;
}

MessagesForecast forecast(const Trace& trace) {
    Parameters parameters;
    parameters.arena_bytes = 64 << 20;
    for (ProtocolCosts& protocol : parameters.costs.protocols) {
        protocol.latency = protocol.gap = 1e-3;
    }
    return forecast_of_messages(trace, trace.nodes, parameters);
}

double gain_of(const MessagesForecast& forecast) { return forecast.native / forecast.gathered; }

/// Every rank sends to both of the other node.
Program to_both(bool at_once) {
    Program program;
    for (int step = 0; step < 5; ++step) {
        for (size_t rank = 0; rank < ranks; ++rank) {
            const size_t other = rank < 2 ? 2 : 0;
            program.send(rank, "MPI_Isend", other);
            if (!at_once) { program.call(rank, "MPI_Wait"); }
            program.send(rank, "MPI_Isend", other + 1);
            program.call(rank, at_once ? "MPI_Waitall" : "MPI_Wait");
        }
    }
    return program;
}

} // namespace

TEST(Segments, MessagesAtOnceGoTogether) {
    Program program = to_both(true);
    EXPECT_EQ(sizes_of(program.trace()), std::vector<size_t>(10, 4));
    const MessagesForecast by_order = forecast(program.trace());
    EXPECT_DOUBLE_EQ(by_order.told, 1);
    EXPECT_NEAR(gain_of(by_order), 4, 0.1);
    EXPECT_EQ(basis_of(by_order).find("as far as the order of calls tells"), 0U);
}

TEST(Segments, MessagesOneAfterTheOtherGoWithThoseOfOtherRanksOnly) {
    Program program = to_both(false);
    EXPECT_EQ(sizes_of(program.trace()), std::vector<size_t>(20, 2));
    EXPECT_NEAR(gain_of(forecast(program.trace())), 2, 0.1);
}

TEST(Segments, AChainOfOneRankGainsNothing) {
    Program program;
    for (int step = 0; step < 10; ++step) {
        for (const size_t peer : {size_t{2}, size_t{3}}) {
            program.send(0, "MPI_Send", peer);
            program.call(0, "MPI_Recv");
        }
    }
    EXPECT_EQ(sizes_of(program.trace()), std::vector<size_t>(20, 1));
    const MessagesForecast by_order = forecast(program.trace());
    EXPECT_DOUBLE_EQ(by_order.gathered, by_order.native);
    program.trace().ranks[0].has_timeline = false;
    EXPECT_GT(gain_of(forecast(program.trace())), 1.5); // as if they were sent at once
}

TEST(Segments, ExchangesInTurnAreOneAfterTheOther) {
    Program program;
    for (size_t distance = 1; distance < ranks; ++distance) {
        for (size_t rank = 0; rank < ranks; ++rank) {
            program.send(rank, "MPI_Sendrecv", (rank + distance) % ranks);
        }
    }
    // Of each node one message to a neighbour, both to the rank opposite, one to a neighbour; the
    // rank that has sent within the node is one ahead.
    for (const size_t size : sizes_of(program.trace())) { EXPECT_LE(size, 2U); }
    EXPECT_LE(gain_of(forecast(program.trace())), 2.01);
    for (RankTrace& rank : program.trace().ranks) { rank.has_timeline = false; }
    EXPECT_GT(gain_of(forecast(program.trace())), 3.5);
}

TEST(Segments, RanksAreInStepAgainAfterACollective) {
    Program program;
    for (int step = 0; step < 3; ++step) {
        for (size_t rank = 0; rank < 2; ++rank) {
            program.send(rank, "MPI_Isend", 2);
            program.call(rank, "MPI_Wait");
            if (step == 1 && rank == 1) { continue; }
            program.send(rank, "MPI_Isend", 3);
            program.call(rank, "MPI_Wait");
        }
        program.meet();
    }
    EXPECT_EQ(sizes_of(program.trace()), (std::vector<size_t>{2, 2, 2, 1, 2, 2}));
}

TEST(Segments, AfterAGapCallsAreCountedFromTheEnd) {
    Program program;
    for (size_t rank = 0; rank < 2; ++rank) {
        const int steps = rank == 0 ? 6 : 4; // of these half before the gap
        for (int step = 0; step < steps; ++step) {
            const bool is_last = step + 1 == steps;
            program.send(rank, "MPI_Isend", is_last ? 3 : 2);
            program.call(rank, "MPI_Wait");
        }
        program.trace().ranks[rank].events_left_out = 100;
    }
    const auto groups = messages_together(program.trace(), program.trace().nodes, 1000);
    std::vector<size_t> sizes;
    for (const auto& group : groups) { sizes.push_back(group.messages.size()); }
    EXPECT_EQ(sizes, (std::vector<size_t>{2, 2, 1, 1, 2, 2}));
    for (const auto& message : groups.back().messages) { EXPECT_EQ(message.to, 3); }
}

TEST(Segments, WhatIsStartedIsTakenFromHowOften) {
    Program program;
    for (size_t rank = 0; rank < 2; ++rank) {
        for (int step = 0; step < 3; ++step) {
            for (const size_t peer : {size_t{2}, size_t{3}}) { program.start(rank, peer); }
            program.call(rank, "MPI_Waitall");
        }
        for (const size_t peer : {size_t{2}, size_t{3}}) {
            program.send(rank, "MPI_Isend", peer);
            program.call(rank, "MPI_Wait");
        }
    }
    const MessagesForecast mixed = forecast(program.trace());
    EXPECT_DOUBLE_EQ(mixed.told, 0.25);
    EXPECT_NE(basis_of(mixed).find("of persistent requests (75 % of the messages)"),
              std::string::npos);
    EXPECT_NEAR(mixed.gathered / mixed.native, 0.75 / 4 + 0.25 / 2, 0.01);
}

TEST(Segments, WhatIsStartedGoesTogetherAsItsEventsSay) {
    Program program;
    for (size_t rank = 0; rank < 2; ++rank) {
        for (int step = 0; step < 3; ++step) {
            for (const size_t peer : {size_t{2}, size_t{3}}) { program.start(rank, peer, true); }
            program.call(rank, "MPI_Waitall");
            for (const size_t peer : {size_t{2}, size_t{3}}) {
                program.start(rank, peer, true);
                program.call(rank, "MPI_Wait");
            }
        }
    }
    EXPECT_EQ(sizes_of(program.trace()), (std::vector<size_t>{4, 2, 2, 4, 2, 2, 4, 2, 2}));
    const MessagesForecast by_order = forecast(program.trace());
    EXPECT_DOUBLE_EQ(by_order.told, 1);
    EXPECT_NEAR(by_order.gathered / by_order.native, 0.5 / 4 + 0.5 / 2, 0.01);
}

TEST(Segments, WhereRanksOnlyLookNothingIsTold) {
    Program program;
    for (size_t rank = 0; rank < 2; ++rank) {
        for (int step = 0; step < 3; ++step) { program.send(rank, "MPI_Isend", 2); }
    }
    EXPECT_TRUE(sizes_of(program.trace()).empty());
    EXPECT_DOUBLE_EQ(forecast(program.trace()).told, 0);
}

TEST(Segments, WithoutEventsHowOftenCounts) {
    Program program = to_both(false);
    for (RankTrace& rank : program.trace().ranks) {
        rank.has_timeline = false;
        rank.events.clear();
    }
    const MessagesForecast by_counts = forecast(program.trace());
    EXPECT_DOUBLE_EQ(by_counts.told, 0);
    EXPECT_NEAR(gain_of(by_counts), 4, 0.1);
    EXPECT_EQ(basis_of(by_counts), "if those that are sent equally often go together");
}

TEST(Segments, OfALongRunTheFirstAndTheLastAreASample) {
    Program program = to_both(true);
    EXPECT_EQ(sizes_of(program.trace(), 8).size(), 8U);
}

TEST(Segments, OfManyRanksTheEventsOfSomeNodesAreRead) {
    std::vector<int> nodes(600);
    for (size_t i = 0; i < nodes.size(); ++i) { nodes[i] = static_cast<int>(i / 2); }
    test::MadeUpTrace made_up(nodes);
    made_up.write();
    const Trace trace = read_trace(made_up.folder(), Timeline::sample);
    ASSERT_EQ(trace.ranks.size(), nodes.size());
    size_t with_events = 0;
    for (size_t i = 0; i < nodes.size(); i += 2) {
        EXPECT_EQ(trace.ranks[i].has_timeline, trace.ranks[i + 1].has_timeline);
        with_events += trace.ranks[i].has_timeline ? 2 : 0;
    }
    EXPECT_EQ(with_events, 300U);
}

} // namespace nodeaware::tool
