#include "tests/unit/made_up_trace.hpp"
#include "tools/nodeaware/trace/clocks.hpp"
#include "tools/nodeaware/trace/matrix.hpp"
#include "tools/nodeaware/trace/timeline.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace nodeaware::tool {

namespace {

using nlohmann::json;
using test::MadeUpTrace;

trace::Call call(const char* function, trace::Nanoseconds begin, trace::Nanoseconds end) {
    return {function, nullptr, 0, trace::Memory::host, begin, end};
}

/// Four ranks on two nodes, some of which send.
void fill(MadeUpTrace& made_up) {
    made_up.rank(0).add_exchange(call("MPI_Alltoallv", 0, 1000), 1, {{1, 10}, {2, 20}});
    made_up.rank(0).add_exchange(call("MPI_Alltoallv", 2000, 3000), 1, {{1, 10}, {2, 20}});
    made_up.rank(1).add_exchange(call("MPI_Alltoall", 0, 1000), 1, {{trace::Block::every_rank, 3}});
    trace::Call send = call("MPI_Send", 5000, 7500);
    send.peer = 0;
    made_up.rank(3).add_send(send, 0, 100);
    made_up.rank(3).add_send(send, 0, 0);
}

json timeline_of(const Trace& trace) {
    std::ostringstream text;
    write_timeline(text, trace);
    return json::parse(text.str())["traceEvents"];
}

std::vector<std::string> lines_of(const Trace& trace, MatrixOf of, Between between) {
    std::stringstream text;
    write_matrix(text, trace, of, between);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) { lines.push_back(line); }
    return lines;
}

std::vector<json> calls_of(const json& events, int rank) {
    std::vector<json> calls;
    for (const json& event : events) {
        if (event["ph"] == "X" && event["tid"] == rank + 1) { calls.push_back(event); }
    }
    return calls;
}

} // namespace

TEST(Export, MatricesHaveWhatEachHasSent) {
    MadeUpTrace made_up({0, 0, 1, 1});
    fill(made_up);
    made_up.write();
    const Trace trace = read_trace(made_up.folder());
    ASSERT_EQ(trace.complaints, std::vector<std::string>());
    EXPECT_EQ(lines_of(trace, MatrixOf::bytes, Between::ranks),
              (std::vector<std::string>{"%%MatrixMarket matrix coordinate real general",
                                        "% Bytes that rank ROW - 1 has sent to rank COLUMN - 1",
                                        "4 4 7", "1 2 20", "1 3 40", "2 1 3", "2 2 3", "2 3 3",
                                        "2 4 3", "4 1 100"}));
    EXPECT_EQ(lines_of(trace, MatrixOf::messages, Between::nodes),
              (std::vector<std::string>{"%%MatrixMarket matrix coordinate real general",
                                        "% Messages that node ROW - 1 has sent to node COLUMN - 1",
                                        "2 2 3", "1 1 4", "1 2 4", "2 1 2"})); // one is empty
}

TEST(Export, MatricesSayWhatIsMissing) {
    MadeUpTrace made_up({0, 1});
    made_up.write();
    std::filesystem::remove(made_up.path_of(1));
    const auto lines = lines_of(read_trace(made_up.folder()), MatrixOf::bytes, Between::ranks);
    EXPECT_EQ(lines[2], "% 1 of 2 ranks could not be read and are missing");
    EXPECT_EQ(lines.back(), "2 2 0");
}

TEST(Export, RanksOfAHostGoByItsClock) {
    MadeUpTrace made_up({0, 0, 1, 1});
    fill(made_up);
    const std::vector<double> clocks = {1000.5, 1000.25, 7, 8};
    for (size_t rank = 0; rank < 4; ++rank) {
        made_up.header(rank).clock = clocks[rank];
        made_up.header(rank).host = rank < 2 ? "one" : "other";
    }
    made_up.write();
    EXPECT_EQ(begins_of(read_trace(made_up.folder())), (std::vector<double>{0.25, 0, 0, 1}));
    const json events = timeline_of(read_trace(made_up.folder(), Timeline::read));
    ASSERT_EQ(calls_of(events, 3).size(), 2U);
    EXPECT_EQ(calls_of(events, 3).front()["ts"], 1000005.0);
    made_up.header(1).clock = 0; // as of another machine by the same name
    made_up.write();
    EXPECT_EQ(begins_of(read_trace(made_up.folder())), (std::vector<double>{0, 0, 0, 1}));
}

TEST(Export, TimelinesHaveATrackForEachRank) {
    MadeUpTrace made_up({0, 0, 1, 1});
    made_up.header(2).host = "a \"b\"\n\xff";
    fill(made_up);
    made_up.write();
    const json events = timeline_of(read_trace(made_up.folder(), Timeline::read));
    std::map<std::string, int> nodes; // of the tracks
    for (const json& event : events) {
        if (event["name"] == "thread_name") { nodes[event["args"]["name"]] = event["pid"]; }
    }
    EXPECT_EQ(nodes, (std::map<std::string, int>{{"rank 0", 1}, {"rank 1", 1}, {"rank 3", 2}}));
    const auto calls = calls_of(events, 3);
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0]["name"], "MPI_Send");
    EXPECT_EQ(calls[0]["ts"], 5.0);
    EXPECT_EQ(calls[0]["dur"], 2.5);
    EXPECT_EQ(calls[0]["args"],
              (json{{"bytes", 100}, {"communicator", "all 4 ranks"}, {"peer", 0}}));
    EXPECT_EQ(calls_of(events, 0)[1]["args"]["bytes"], 30);
}

TEST(Export, CallsOfSeveralThreadsDoNotOverlapOnATrack) {
    MadeUpTrace made_up({0});
    for (const auto& [begin, end] : std::vector<std::pair<int, int>>{
             {0, 100}, {10, 50}, {20, 30}, {60, 120}, {100, 110}, {115, 130}, {120, 121}}) {
        made_up.rank(0).add_call(
            call("MPI_Wait", trace::Nanoseconds(begin) * 1000, trace::Nanoseconds(end) * 1000));
    }
    made_up.write();
    std::map<int, std::vector<json>> tracks;
    for (const json& event : timeline_of(read_trace(made_up.folder(), Timeline::read))) {
        if (event["ph"] == "X") { tracks[event["tid"]].push_back(event); }
    }
    size_t calls = 0;
    for (const auto& [number, track] : tracks) {
        calls += track.size();
        for (const json& one : track) {
            for (const json& other : track) {
                const double begin = one["ts"], end = begin + double(one["dur"]);
                const double from = other["ts"], to = from + double(other["dur"]);
                EXPECT_FALSE(begin < from && from < end && end < to) << one << other;
            }
        }
    }
    EXPECT_EQ(calls, 7U);
    EXPECT_EQ(tracks.size(), 2U);
}

TEST(Export, TimelinesShowWhereCallsHadNoRoom) {
    MadeUpTrace made_up({0});
    for (trace::Nanoseconds i = 0; i < 10000; ++i) {
        made_up.rank(0).add_call(call("MPI_Wait", i * 1000, i * 1000 + 500));
    }
    made_up.write();
    const auto calls = calls_of(timeline_of(read_trace(made_up.folder(), Timeline::read)), 0);
    ASSERT_EQ(calls.size(), 8193U);
    EXPECT_EQ(calls.back()["name"], "1808 calls that had no room");
    // Beside its neighbours, which end and begin at 4095.5 and 5904.
    EXPECT_EQ(calls.back()["ts"], 4095.501);
    EXPECT_EQ(calls.back()["dur"], 1808.498);
}

// Whoever has made it: a rank whose events make no sense is complained of.
TEST(Export, EventsThatMakeNoSenseAreNotTaken) {
    for (const std::string line :
         {R"("events":[[0,1,"MPI_Send",0,1]],"peers":[])", R"("events":[[0,1,"MPI_Send",0,1]])",
          R"("events":[])", R"("events":[[0,1,"MPI_Send",0]])",
          R"("events":[[2,1,"MPI_Send",0,1]])", R"("events":[[-1,1,"MPI_Send",0,1]])",
          R"("events":[[0,1,"MPI_Send",7,1]])", R"("events":[[0,1,"MPI_Send",-2,1]])",
          R"("events":[[0,1,"MPI_Send",0,-1]])", R"("events":[[0,1,5,0,1]])",
          R"("events":[[0,1,"MPI_Send",0,1]],"peers":[1])",
          R"("events":[[0,1,"MPI_Send",-1,1]],"peers":[0])",
          R"("events":[[0,1,"MPI_Send",0,1]],"peers":[-1,-1])",
          R"("events":[[0,1,"MPI_Send",0,1]],"peers":["x"])", R"("events":{})", R"("no":1)"}) {
        MadeUpTrace made_up({0});
        made_up.write();
        std::ifstream file(made_up.path_of(0));
        std::ostringstream text;
        text << file.rdbuf();
        std::string changed = text.str();
        const size_t end = changed.rfind(R"({"type":"end")");
        const std::string lines = R"("lines":)";
        const size_t number = changed.find(lines, end) + lines.size();
        const int count = std::stoi(changed.substr(number));
        changed.replace(number, std::to_string(count).size(), std::to_string(count + 1));
        changed.insert(end, R"({"type":"events",)" + line + "}\n");
        std::ofstream(made_up.path_of(0)) << changed;
        const Trace trace = read_trace(made_up.folder(), Timeline::read);
        const bool is_right = line == R"("events":[[0,1,"MPI_Send",0,1]])" ||
                              line == R"("events":[])" ||
                              line == R"("events":[[0,1,"MPI_Send",0,1]],"peers":[])";
        EXPECT_EQ(trace.complaints.empty(), is_right) << line;
        EXPECT_TRUE(timeline_of(trace).is_array());
        EXPECT_TRUE(read_trace(made_up.folder()).complaints.empty()); // nobody asks for them
    }
}

} // namespace nodeaware::tool
