#include "tests/unit/made_up_trace.hpp"
#include "tools/nodeaware/trace/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;
using test::MadeUpTrace;

constexpr trace::Nanoseconds ms = 1'000'000;

/// Each rank exchanges for so long, and sends a message to the next one.
void fill(MadeUpTrace& made_up, size_t ranks, trace::Nanoseconds exchange) {
    for (size_t rank = 0; rank < ranks; ++rank) {
        const trace::Call all = {"MPI_Alltoall", nullptr, 0, trace::Memory::host, 0, exchange};
        made_up.rank(rank).add_exchange(all, 1, {{trace::Block::every_rank, 10}});
        const trace::Call send = {"MPI_Send", nullptr, 0, trace::Memory::host, 0, 2 * ms};
        made_up.rank(rank).add_send(send, static_cast<int>((rank + 1) % ranks), 100);
    }
}

ordered_json compared(const MadeUpTrace& first, const MadeUpTrace& second) {
    const Trace one = read_trace(first.folder());
    const Trace other = read_trace(second.folder());
    const TraceAnalysis of_one = analyze(one, one.nodes);
    const TraceAnalysis of_other = analyze(other, other.nodes);
    const ComparedTrace before{one, one.nodes, of_one};
    const ComparedTrace after{other, other.nodes, of_other};
    return to_json(before, after, compare(before, after));
}

bool says(const ordered_json& report, const std::string& words) {
    for (const ordered_json& line : report["verdict"]) {
        if (line.get<std::string>().find(words) != std::string::npos) { return true; }
    }
    return false;
}

ordered_json row_of(const ordered_json& report, const char* list, const char* name,
                    const std::string& what) {
    for (const ordered_json& row : report[list]) {
        if (row[name] == what) { return row; }
    }
    return {};
}

} // namespace

TEST(Compare, SaysWhatIsFasterAndWhere) {
    MadeUpTrace slow({0, 0, 1, 1});
    MadeUpTrace fast({0, 0, 1, 1});
    fill(slow, 4, 60 * ms);
    fill(fast, 4, 10 * ms);
    for (MadeUpTrace* made_up : {&slow, &fast}) { // an empty one
        made_up->rank(0).add_send({"MPI_Send", nullptr, 0, trace::Memory::host, 0, 0}, 2, 0);
    }
    fast.ways().push_back({"alltoall", "three_step", "rerouted", 1, 1, 80, {}});
    slow.ways().push_back({"alltoall", "native", "the configuration says native", 1, 0, 0, {}});
    slow.write(100 * ms);
    fast.write(50 * ms);
    const ordered_json report = compared(slow, fast);
    const auto first = report["verdict"][0].get<std::string>();
    EXPECT_EQ(
        first.find("The second is 2.00 times as fast as the first: 0.1 : 0.05 s from start to "
                   "end, most of all in MPI_Alltoall (0.06 : 0.01 s in it"),
        0U)
        << first;
    EXPECT_TRUE(says(report, "A rank spent 0.06 : 0.01 s in exchanges, 0.002 : 0.002 s in"));
    EXPECT_TRUE(says(report, "sent 11 : 11 messages with 280 : 280 bytes between nodes"));
    EXPECT_TRUE(says(report, "rerouted 0 : 4 calls; for the blocking ones of them 0 : 4 messages "
                             "with 0 : 320 bytes"));
    EXPECT_FALSE(says(report, "not the same work"));
    EXPECT_FALSE(says(report, "ranks on"));
    const ordered_json row = row_of(report, "operations", "operation", "MPI_Alltoall");
    EXPECT_EQ(row["calls"], (ordered_json{4, 4}));
    EXPECT_EQ(row["messages"], (ordered_json{8, 8})); // two ranks of another node each
    EXPECT_EQ(row["bytes"], (ordered_json{80, 80}));
    const ordered_json messages =
        row_of(report, "operations", "operation", "messages from point to point");
    EXPECT_EQ(messages["bytes"], (ordered_json{200, 200}));
    EXPECT_EQ(row_of(report, "communicators", "ranks", "all 4 ranks")["bytes"],
              (ordered_json{280, 280}));
    EXPECT_EQ(row_of(report, "sites", "site", "MPI_Alltoall")["bytes"], (ordered_json{160, 160}));
    const ordered_json back = compared(fast, slow);
    EXPECT_TRUE(says(back, "The second takes 2.00 times as long as the first"));
}

TEST(Repeated, AreTheSameBytesForSeveralRanksOfANode) {
    MadeUpTrace made_up({0, 0, 1, 1, 1, 2});
    const trace::Call call = {"MPI_Alltoallv", nullptr, 0, trace::Memory::host, 0, 1};
    const std::vector<trace::Block> blocks = {{1, 10}, {2, 10}, {3, 10}, {4, 10}, {5, 10}};
    for (int i = 0; i < 3; ++i) {
        made_up.rank(0).add_exchange(call, 1, blocks, false, {0, 0, 0, 3, 0}); // 10 of 40 bytes
        made_up.rank(1).add_exchange(call, 1, {{2, 10}, {3, 10}});
    }
    trace::Call gather = call;
    gather.function = "MPI_Neighbor_allgather";
    made_up.rank(5).add_exchange(gather, 1, {{2, 7}, {3, 7}, {4, 7}, {0, 7}}); // 14 of 28
    made_up.write();
    const Trace trace = read_trace(made_up.folder());
    ASSERT_EQ(trace.complaints, std::vector<std::string>());
    const TraceAnalysis analysis = analyze(trace, trace.nodes);
    EXPECT_EQ(analysis.between_nodes().bytes, 3U * 40 + 3U * 20 + 28);
    EXPECT_EQ(analysis.repeated_between_nodes, 3U * 10 + 14);
    EXPECT_EQ(analyze(trace, {0, 1, 2, 3, 4, 5}).repeated_between_nodes, 0U);
}

/// An exchange of one call, whose blocks have been compared.
void add_compared(trace::Contents& contents, const char* function,
                  const std::vector<trace::Block>& blocks, const trace::Firsts& data,
                  const trace::Firsts& values) {
    const trace::Call call = {function, nullptr, 0, trace::Memory::host, 0, 1};
    const int pattern = contents.add_exchange(call, 1, blocks, false, data);
    ASSERT_TRUE(contents.next_sample(pattern));
    contents.add_sample(pattern, values);
}

TEST(Repeated, OfEqualValuesAreThoseThatAreNotOfTheSameMemory) {
    MadeUpTrace made_up({0, 0, 1, 1, 1, 2});
    const std::vector<trace::Block> blocks = {{1, 10}, {2, 10}, {3, 10}, {4, 10}, {5, 10}};
    // To node 1: the same bytes twice, and once more with equal values.
    add_compared(made_up.rank(0), "MPI_Alltoallv", blocks, {0, 1, 1, 3, 4}, {0, 1, 1, 1, 4});
    add_compared(made_up.rank(1), "MPI_Ialltoallv", blocks, {}, {0, 1, 2, 3, 1}); // other nodes
    add_compared(made_up.rank(5), "MPI_Alltoall", {{trace::Block::every_rank, 100}}, {},
                 {0, 0, 2, 2, 2, 5}); // 1 of 2 to node 0, 2 of 3 to node 1
    made_up.write();
    const Trace trace = read_trace(made_up.folder());
    ASSERT_EQ(trace.complaints, std::vector<std::string>());
    const TraceAnalysis analysis = analyze(trace, trace.nodes);
    EXPECT_EQ(analysis.repeated_between_nodes, 10U);
    EXPECT_EQ(analysis.equal_between_nodes, 10U + 300);
    EXPECT_EQ(analyze(trace, {0, 1, 2, 3, 4, 5}).equal_between_nodes, 0U);
    const std::vector<std::string> said = verdict(trace, analysis, TraceForecast());
    EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& line) {
        return line.starts_with("Another 53 % of the bytes between nodes go to several ranks");
    })); // 310 of 40 + 40 + 500
}

TEST(Repeated, AreNotReadWhereTheyAreNoBlocksOfThePattern) {
    for (const char* const wrong :
         {"[0,1,5,3,4]", "[0,1,-1,3,4]", "[0,1,1,3]", "[0,1,1,3,\"4\"]"}) {
        MadeUpTrace made_up({0, 0, 1, 1, 1});
        add_compared(made_up.rank(0), "MPI_Alltoall", {{trace::Block::every_rank, 8}}, {},
                     {0, 1, 1, 3, 4});
        made_up.write();
        std::ifstream file(made_up.path_of(0));
        std::string text((std::istreambuf_iterator<char>(file)), {});
        const std::string right = "[0,1,1,3,4]";
        text.replace(text.find("\"values\":" + right) + 9, right.size(), wrong);
        std::ofstream(made_up.path_of(0)) << text;
        const Trace trace = read_trace(made_up.folder());
        ASSERT_EQ(trace.complaints.size(), 1U) << wrong;
        EXPECT_NE(trace.complaints.front().find("rank.0.jsonl:3: values: expected"),
                  std::string::npos)
            << trace.complaints.front();
    }
}

TEST(Compare, SaysWhereNothingIsToBeSeen) {
    MadeUpTrace one({0, 1});
    MadeUpTrace other({0, 1});
    fill(one, 2, 10 * ms);
    fill(other, 2, 10 * ms);
    one.write(100 * ms);
    other.write(101 * ms);
    EXPECT_TRUE(says(compared(one, other), "The second is as fast as the first"));
    other.write(300 * ms);
    EXPECT_TRUE(
        says(compared(one, other),
             "takes 3.00 times as long as the first: 0.1 : 0.3 s from start to end, most of "
             "which is not in the calls that are recorded"));
    other.write(0);
    EXPECT_TRUE(says(compared(one, other), "cannot be said"));
}

TEST(Compare, OtherRanksAndOtherWorkAreSaid) {
    MadeUpTrace one({0, 0, 1, 1});
    MadeUpTrace other({0, 0, 1, 1, 2, 2});
    fill(one, 4, 10 * ms);
    fill(other, 6, 10 * ms);
    one.write(100 * ms);
    other.write(100 * ms);
    std::filesystem::remove(other.path_of(5));
    const ordered_json report = compared(one, other);
    EXPECT_TRUE(says(report, "They had 4 : 6 ranks on 2 : 3 nodes."));
    EXPECT_TRUE(says(report, "not the same work"));
    EXPECT_TRUE(says(report, "1 of 6 ranks of " + other.folder() + " could not be read"));
    EXPECT_EQ(row_of(report, "communicators", "ranks", "all 4 ranks")["calls"],
              (ordered_json{8, 0}));
    EXPECT_EQ(report["after"]["ranks_read"], 5);
}

} // namespace nodeaware::tool
