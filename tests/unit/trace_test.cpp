#include "runtime/trace/contents.hpp"
#include "runtime/trace/file.hpp"
#include "runtime/trace/modules.hpp"
#include "runtime/trace/purpose.hpp"
#include "runtime/trace/text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace nodeaware::trace {

namespace {

constexpr const char* alltoallv = "MPI_Alltoallv";

Call call(int communicator, Nanoseconds begin, Nanoseconds end) {
    return {alltoallv, nullptr, communicator, Memory::host, begin, end};
}

Communicator world_of(int ranks) { return {0, ranks, false, {{0, 1, ranks}}}; }

Contents with_world(const Limits& limits = {}, int ranks = 4) {
    Contents contents(limits);
    EXPECT_EQ(contents.add_communicator(world_of(ranks)), 0);
    return contents;
}

std::string text(const Contents& contents, bool is_complete = true) {
    return text_of({"job", 0, 4, 0, "host"}, contents, {}, 1000, is_complete);
}

} // namespace

TEST(Trace, EqualCallsAreStoredOnceAndCounted) {
    Contents contents = with_world();
    const std::vector<Block> some = {{1, 8}, {2, 16}};
    for (Nanoseconds i = 0; i < 1000; ++i) {
        EXPECT_EQ(contents.add_exchange(call(0, 100 * i, 100 * i + 10 + i % 3), 8, some), 0);
    }
    EXPECT_EQ(contents.add_exchange(call(0, 200000, 200005), 8, {{1, 8}}), 1);
    ASSERT_EQ(contents.patterns().size(), 2U);
    const Pattern& pattern = contents.patterns().front();
    EXPECT_EQ(pattern.blocks, some);
    EXPECT_EQ(pattern.times.calls, 1000U);
    EXPECT_EQ(pattern.times.first, 0U);
    EXPECT_EQ(pattern.times.last, 99900U + 10);
    EXPECT_EQ(pattern.times.least, 10U);
    EXPECT_EQ(pattern.times.most, 12U);
    ASSERT_EQ(contents.sequences().front().runs.size(), 2U);
    EXPECT_EQ(contents.sequences().front().runs.front().calls, 1000U);
    ASSERT_EQ(contents.sites().size(), 1U);
    EXPECT_EQ(contents.sites().front().messages, 2001U);
    EXPECT_EQ(contents.sites().front().bytes, 24008U);
}

TEST(Trace, CallsThatSendOtherMemoryAreOtherPatterns) {
    Contents contents = with_world();
    const std::vector<Block> some = {{1, 8}, {2, 8}};
    EXPECT_EQ(contents.add_exchange(call(0, 0, 1), 8, some), 0);
    EXPECT_EQ(contents.add_exchange(call(0, 0, 1), 8, some, false, {0, 0}), 1);
    EXPECT_EQ(contents.add_exchange(call(0, 0, 1), 8, some, false, {0, 0}), 1);
    EXPECT_NE(text(contents).find("\"data\":[0,0]"), std::string::npos);
    EXPECT_EQ(contents.patterns().size(), 2U);
}

TEST(Trace, FunctionsAreForOnePurpose) {
    for (const char* const name :
         {"MPI_Alltoallv_init", "MPI_Ineighbor_allgather", "MPI_Waitall of exchanges"}) {
        EXPECT_EQ(purpose_of(name), Purpose::exchange) << name;
    }
    for (const char* const name :
         {"MPI_Irsend", "MPI_Mrecv", "MPI_Improbe", "MPI_Waitsome", "MPI_Testany", "MPI_Startall",
          "MPI_Sendrecv", "MPI_Cancel", "MPI_Request_free"}) {
        EXPECT_EQ(purpose_of(name), Purpose::message) << name;
    }
    for (const char* const name :
         {"MPI_Win_test", "MPI_Win_start", "MPI_Win_wait", "MPI_Reduce_scatter", "MPI_Comm_accept",
          "MPI_Buffer_detach", "MPI_Comm_spawn", "MPI_Intercomm_create", "blocking collective"}) {
        EXPECT_EQ(purpose_of(name), Purpose::other) << name;
    }
    EXPECT_EQ(purpose_of("MPI_File_write_at_all_begin"), Purpose::file);
}

TEST(Trace, WaitingIsOfThePatternsWaitedFor) {
    Contents contents;
    const int comm = contents.add_communicator({0, 4, false, {{0, 1, 4}}, ""});
    Call call;
    call.function = "MPI_Ialltoallv";
    call.communicator = comm;
    const int first = contents.add_exchange(call, 4, {{1, 8}});
    const int second = contents.add_exchange(call, 4, {{2, 8}});
    contents.add_waiting({first, second, first, Contents::no_pattern}, 400);
    EXPECT_EQ(contents.patterns()[static_cast<size_t>(first)].waited, 200U);
    EXPECT_EQ(contents.patterns()[static_cast<size_t>(second)].waited, 100U);
}

TEST(Trace, PersistentExchangesCountWhenTheyStart) {
    Contents contents = with_world();
    const int pattern = contents.add_exchange(call(0, 0, 1), 1, {{Block::every_rank, 5}}, true);
    EXPECT_EQ(contents.patterns().front().times.calls, 0U);
    const Sums sent = contents.add_start(pattern, 10, 20);
    EXPECT_EQ(sent.messages, 4U);
    EXPECT_EQ(sent.bytes, 20U);
    EXPECT_EQ(contents.patterns().front().times.calls, 1U);
    EXPECT_EQ(contents.patterns().front().made, 1U);
}

TEST(Trace, MessagesAreCountedBySize) {
    EXPECT_EQ(Sizes::class_of(0), 0);
    EXPECT_EQ(Sizes::class_of(1), 1);
    EXPECT_EQ(Sizes::class_of(1023), 10);
    EXPECT_EQ(Sizes::class_of(1024), 11);
    Contents contents = with_world();
    for (const uint64_t bytes : {0, 1023, 1024, 512, 0}) {
        contents.add_send(call(0, 0, 1), 3, bytes);
    }
    ASSERT_EQ(contents.connections().size(), 1U);
    const auto& classes = contents.connections().front().sizes.classes();
    ASSERT_EQ(classes.size(), 3U);
    EXPECT_EQ(classes[0].messages, 2U);
    EXPECT_EQ(classes[1].bytes, 1023U + 512);
    EXPECT_EQ(classes[2].messages, 1U);
}

TEST(Trace, RanksOfCommunicatorsAreRuns) {
    const auto runs = runs_of({0, 1, 2, 3, 10, 8, 6, 20});
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[0].count, 4);
    EXPECT_EQ(runs[1].step, -2);
    EXPECT_EQ(runs[1].count, 3);
    EXPECT_EQ(runs[2].first, 20);
}

// What has no room is counted, and nothing of it is lost in the sums.
TEST(Trace, BeyondTheLimitsIsCountedAsOther) {
    const Limits limits{2, 5, 1, 10, 3, 4, 2, 3, 6};
    Contents contents = with_world(limits, 1000);
    EXPECT_EQ(contents.add_communicator(world_of(3)), no_communicator);
    EXPECT_EQ(contents.other().communicators, 1U);
    for (int i = 0; i < 10; ++i) { contents.add_exchange(call(0, 0, 1), 1, {{i, 4}, {i + 1, 4}}); }
    EXPECT_EQ(contents.patterns().size(), 2U);
    EXPECT_EQ(contents.other().patterns, 8U);
    EXPECT_EQ(contents.other().pattern_sizes.classes().front().messages, 16U);
    EXPECT_TRUE(contents.sequences().front().is_cut);
    for (int i = 0; i < 10; ++i) { contents.add_send(call(0, 0, 1), i, 100); }
    contents.add_send(call(0, 0, 1), 0, 1);
    contents.add_send(call(0, 0, 1), 0, 10000);
    contents.add_send(call(no_communicator, 0, 1), 0, 100);
    EXPECT_EQ(contents.connections().size(), 3U);
    uint64_t messages = 0;
    for (const auto& part : contents.other().messages.classes()) { messages += part.messages; }
    for (const auto& connection : contents.connections()) {
        for (const auto& part : connection.sizes.classes()) { messages += part.messages; }
    }
    EXPECT_EQ(messages, 13U);
    for (intptr_t i = 1; i < 10; ++i) {
        contents.add_call({"MPI_Wait", reinterpret_cast<void*>(i), 0, Memory::host, 5, 7});
    }
    EXPECT_EQ(contents.sites().size(), 2U);
    EXPECT_EQ(contents.other().sites.calls, 9U);
    EXPECT_EQ(contents.all_calls().calls, 32U);
    EXPECT_EQ(contents.events().size(), 6U);
    EXPECT_EQ(contents.other().events, 26U);
}

TEST(Trace, PlacesKnowTheSizeOfTheirOneDatatype) {
    Contents contents = with_world();
    const auto size_after = [&](uint64_t type_bytes) {
        Call send = call(0, 0, 1);
        send.type_bytes = type_bytes;
        contents.add_send(send, 1, 4 * type_bytes);
        return contents.sites().front().call.type_bytes;
    };
    EXPECT_EQ(size_after(0), 0U); // an empty message
    EXPECT_EQ(size_after(8), 8U);
    EXPECT_EQ(size_after(0), 8U);
    EXPECT_EQ(size_after(4), 0U); // several
    EXPECT_EQ(size_after(4), 0U);
    EXPECT_EQ(contents.sites().size(), 1U);
}

TEST(Trace, OtherCollectivesLeaveRoomForExchanges) {
    Limits limits;
    limits.patterns = 8;
    limits.blocks = 16;
    Contents contents = with_world(limits);
    for (uint64_t i = 0; i < 10; ++i) {
        contents.add_collective(call(0, i, i + 1), {{Block::every_rank, i}});
        contents.add_collective(call(0, i, i + 1), {}); // passes nothing
    }
    contents.add_collective(call(0, 10, 12), {{Block::every_rank, 1}});
    ASSERT_EQ(contents.collectives().size(), 2U);
    EXPECT_EQ(contents.collectives()[1].times.calls, 2U);
    EXPECT_EQ(contents.other().collectives, 8U);
    EXPECT_EQ(contents.events().size(), 21U);
    EXPECT_EQ(contents.events()[2].bytes, 1U);
    for (uint64_t i = 0; i < 10; ++i) { contents.add_exchange(call(0, 0, 1), 1, {{1, i}}); }
    EXPECT_EQ(contents.patterns().size(), 6U);
    EXPECT_EQ(contents.collectives().size(), 2U);
    contents = with_world(limits);
    contents.add_collective(call(0, 0, 1), {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {0, 2}});
    EXPECT_EQ(contents.other().collectives, 1U);
}

TEST(Trace, TheTimelineHasTheFirstAndTheLastEvents) {
    Limits limits;
    limits.events = 6;
    Contents contents = with_world(limits);
    for (Nanoseconds i = 0; i < 100; ++i) { contents.add_call(call(0, i, i + 1)); }
    std::vector<Nanoseconds> begins;
    for (const Event& event : contents.events()) { begins.push_back(event.begin); }
    EXPECT_EQ(begins, (std::vector<Nanoseconds>{0, 1, 2, 97, 98, 99}));
}

TEST(Trace, EventsKnowTheOtherRankOfAMessage) {
    Contents contents = with_world();
    Call send = call(0, 0, 1);
    send.peer = 3;
    contents.add_send(send, 3, 100);
    contents.add_exchange(call(0, 2, 3), 1, {{1, 1}, {2, 1}});
    std::istringstream lines(text(contents));
    nlohmann::json peers;
    for (std::string line; std::getline(lines, line);) {
        const auto read = nlohmann::json::parse(line);
        if (read["type"] == "events") { peers = read["peers"]; }
    }
    EXPECT_EQ(peers, (nlohmann::json{3, no_peer}));
}

TEST(Trace, PlacesAreInFilesThatAreThere) {
    const CodePlace here = place_of(reinterpret_cast<const void*>(&world_of));
    EXPECT_EQ(here.file, std::filesystem::read_symlink("/proc/self/exe"));
    EXPECT_EQ(here.site.substr(0, here.file.size() + 3), here.file + "+0x");
    const CodePlace elsewhere = place_of(reinterpret_cast<const void*>(&getpid));
    EXPECT_NE(elsewhere.file, here.file);
    EXPECT_TRUE(std::filesystem::path(elsewhere.file).is_absolute());
    EXPECT_EQ(elsewhere.build_id.find_first_not_of("0123456789abcdef"), std::string::npos);
    const int of_no_file = 0;
    EXPECT_EQ(place_of(&of_no_file).site, "");
    EXPECT_EQ(place_of(nullptr).site, "");
}

// However long the run, and however large its numbers: the stated size of a file.
TEST(Trace, FilesAreBounded) {
    Contents contents = with_world({}, 1 << 20);
    const Nanoseconds late = Nanoseconds{86400} * 365 * 1'000'000'000;
    std::vector<Block> blocks(100);
    const Firsts equal(blocks.size(), most_blocks_in_sample - 1);
    for (uint64_t i = 0; i < 10000; ++i) {
        for (Block& block : blocks) {
            block.peer = static_cast<int>((1 << 20) - i % 1000);
            block.bytes = (uint64_t{1} << 40) + i;
        }
        const int pattern = contents.add_exchange(call(0, late, late + 1), 1, blocks);
        if (contents.next_sample(pattern)) { contents.add_sample(pattern, equal); }
        contents.add_exchange(call(0, late, late + 1), 1, {});
    }
    for (uint64_t i = 0; i < 100000; ++i) {
        const Call send{"MPI_Isend", reinterpret_cast<void*>(i), 0, Memory::unknown, late, late};
        contents.add_send(send, static_cast<int>(1000000 + i % 40000), i << (i % 20));
    }
    EXPECT_LT(text(contents).size(), size_t{24} << 20);
}

TEST(Trace, EveryLineIsThereAndTheLastSaysHowMany) {
    Contents contents = with_world();
    contents.add_exchange(call(0, 0, 1), 1, {{1, 1}});
    std::istringstream lines(text(contents, false));
    std::string last;
    int count = 0;
    for (std::string line; std::getline(lines, line); last = line) {
        ++count;
        EXPECT_EQ(line.front(), '{');
        EXPECT_EQ(line.back(), '}');
    }
    EXPECT_NE(last.find("\"type\":\"end\",\"lines\":" + std::to_string(count)), std::string::npos);
    EXPECT_NE(last.find("\"complete\":false"), std::string::npos);
}

TEST(Trace, NamesMayBeAnything) {
    Contents contents = with_world();
    contents.add_call(call(0, 1'500'000'000, 3'500'000'001));
    std::istringstream lines(
        text_of({"a\"b\\c\n", 0, 4, 0, "\xff"}, contents, {}, 2'000'000'000, true));
    std::string line;
    std::getline(lines, line);
    const auto header = nlohmann::json::parse(line);
    EXPECT_EQ(header["job"], "a\"b\\c\n");
    EXPECT_EQ(header["host"], "\xef\xbf\xbd"); // what is no character
    for (; std::getline(lines, line);) {
        const auto read = nlohmann::json::parse(line);
        if (read["type"] == "site") { EXPECT_EQ(read["seconds"], 2.000000001); }
        if (read["type"] == "end") { EXPECT_EQ(read["wall"], 2.0); }
    }
}

TEST(Trace, FoldersAreMadeWhereThereAreNone) {
    const std::string folder = testing::TempDir() + "nodeaware-trace-" + std::to_string(getpid());
    ASSERT_EQ(make_folder(folder + "/a/b"), 0);
    ASSERT_EQ(make_folder(folder + "/a/b"), 0);
    const std::string path = folder + "/a/b/file";
    std::ofstream(path) << "file";
    EXPECT_EQ(make_folder(path), ENOTDIR);
    EXPECT_EQ(make_folder(path + "/c"), ENOTDIR);
    EXPECT_EQ(make_folder("/proc/none"), ENOENT);
    std::filesystem::remove_all(folder);
}

} // namespace nodeaware::trace
