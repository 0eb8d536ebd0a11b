#include "runtime/job/options.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace nodeaware {

namespace {

Choice choice(const ReadOptions& read, Operation operation) {
    return read.options.choice(operation);
}

/// A file that goes with the test.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text)
        : path_(testing::TempDir() + "nodeaware-options-" + std::to_string(getpid())) {
        std::ofstream(path_) << text;
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

} // namespace

TEST(Options, DefaultsAreThoseOfTheTable) {
    const ReadOptions read = read_options({"PATH=/bin", "NODEAWARE=1"});
    EXPECT_TRUE(read.complaints.empty());
    ASSERT_EQ(read.settings.size(), option_table().size());
    for (size_t i = 0; i < read.settings.size(); ++i) {
        EXPECT_EQ(read.settings[i].value, option_table()[i].default_value);
        EXPECT_EQ(read.settings[i].source, "default");
    }
    EXPECT_FALSE(read.options.disable);
    EXPECT_EQ(choice(read, Operation::alltoall).kind, Choice::Kind::automatic);
    EXPECT_EQ(read.options.region, Region::node);
}

TEST(Options, EnvironmentSetsThem) {
    const ReadOptions read =
        read_options({"NODEAWARE_MESSAGE_CAP=2K", "NODEAWARE_PPN=3,1", "NODEAWARE_REGION=socket",
                      "NODEAWARE_LOG=debug", "NODEAWARE_DISABLE=yes"});
    EXPECT_TRUE(read.complaints.empty());
    EXPECT_EQ(read.options.parameters.message_cap, 2048U);
    EXPECT_EQ(read.options.ppn, (std::vector<int>{3, 1}));
    EXPECT_EQ(read.options.region, Region::socket);
    EXPECT_EQ(read.options.log, LogLevel::debug);
    EXPECT_TRUE(read.options.disable);
}

TEST(Options, StrategyForAllOrForOne) {
    ReadOptions read = read_options({"NODEAWARE_STRATEGY=three_step"});
    EXPECT_EQ(choice(read, Operation::neighbor_allgather).strategy, find_strategy("three_step"));
    read = read_options({"NODEAWARE_STRATEGY=native, alltoallv:split, neighbor_alltoallv : auto"});
    EXPECT_TRUE(read.complaints.empty());
    EXPECT_EQ(choice(read, Operation::alltoall).kind, Choice::Kind::native);
    EXPECT_EQ(choice(read, Operation::alltoallv).strategy, find_strategy("split"));
    EXPECT_EQ(choice(read, Operation::neighbor_alltoallv).kind, Choice::Kind::automatic);
    read = read_options({"NODEAWARE_STRATEGY=gathered,ialltoallv:native"});
    EXPECT_TRUE(read.complaints.empty());
    EXPECT_EQ(choice(read, Operation::alltoallv).strategy, find_strategy("gathered"));
    EXPECT_EQ(choice(read, Operation::ialltoallv).kind, Choice::Kind::native);
    read = read_options({"NODEAWARE_STRATEGY=nonblocking:native,ialltoallw:split"});
    EXPECT_TRUE(read.complaints.empty());
    EXPECT_EQ(choice(read, Operation::ialltoall).kind, Choice::Kind::native);
    EXPECT_EQ(choice(read, Operation::ineighbor_allgatherv).kind, Choice::Kind::native);
    EXPECT_EQ(choice(read, Operation::ialltoallw).strategy, find_strategy("split"));
    EXPECT_EQ(choice(read, Operation::alltoall).kind, Choice::Kind::automatic);
    EXPECT_EQ(choice(read, Operation::point_to_point).kind, Choice::Kind::automatic);
}

/// Only for it by name.
TEST(Options, ReductionsOfFloatingPointNumbersHaveToBeAskedFor) {
    Choice sums = choice(read_options({}), Operation::allreduce);
    EXPECT_EQ(sums.kind, Choice::Kind::automatic);
    EXPECT_FALSE(sums.reorders);
    sums = choice(read_options({"NODEAWARE_STRATEGY=three_step"}), Operation::allreduce);
    EXPECT_EQ(sums.strategy, find_strategy("three_step"));
    EXPECT_FALSE(sums.reorders);
    sums = choice(read_options({"NODEAWARE_STRATEGY=allreduce:node"}), Operation::allreduce);
    EXPECT_EQ(sums.kind, Choice::Kind::automatic);
    EXPECT_TRUE(sums.reorders);
    sums = choice(read_options({"NODEAWARE_STRATEGY=allreduce:radix"}), Operation::allreduce);
    EXPECT_EQ(sums.strategy, find_strategy("radix"));
    EXPECT_TRUE(sums.reorders);
    EXPECT_FALSE(read_options({"NODEAWARE_STRATEGY=alltoall:node"}).complaints.empty());
    EXPECT_FALSE(read_options({"NODEAWARE_STRATEGY=node"}).complaints.empty());
}

TEST(Options, TheDocumentationNamesEveryStrategy) {
    const std::string_view values = option_table()[1].values;
    for (const Strategy& strategy : strategies()) {
        EXPECT_NE(values.find(strategy.name), std::string_view::npos) << strategy.name;
    }
}

TEST(Options, BadValuesLeaveTheDefaultAndAComplaint) {
    const ReadOptions read =
        read_options({"NODEAWARE_STRATEGY=tree_step", "NODEAWARE_PPN=0",
                      "NODEAWARE_MESSAGE_CAP=lots", "NODEAWARE_ARENA=0", "NODEAWARE_REGION=rack",
                      "NODEAWARE_STRICT=perhaps", "NODEAWARE_DISABLE=2"});
    ASSERT_EQ(read.complaints.size(), 7U);
    EXPECT_EQ(read.complaints[6].find("did you mean"), std::string::npos); // nothing in common
    EXPECT_NE(read.complaints[0].find("did you mean three_step?"), std::string::npos);
    EXPECT_NE(read.complaints[0].find("NODEAWARE_STRATEGY='tree_step'"), std::string::npos);
    EXPECT_NE(read.complaints[1].find("ranks per virtual node"), std::string::npos);
    EXPECT_NE(read.complaints[4].find("node, socket, numa"), std::string::npos);
    EXPECT_EQ(read.options.parameters.message_cap, Options().parameters.message_cap);
    EXPECT_TRUE(read.options.ppn.empty());
}

TEST(Options, UnknownNamesAreNamedWithTheLikelyOne) {
    const ReadOptions read = read_options({"NODEAWARE_STRATEGIE=split", "NODEAWARE_QWERTY=1"});
    ASSERT_EQ(read.complaints.size(), 2U);
    EXPECT_EQ(read.complaints[0],
              "unknown option NODEAWARE_STRATEGIE; did you mean NODEAWARE_STRATEGY?");
    EXPECT_NE(read.complaints[1].find("options are DISABLE, STRATEGY"), std::string::npos);
}

TEST(Options, UnknownOperationInStrategy) {
    const ReadOptions read = read_options({"NODEAWARE_STRATEGY=alltoalv:split"});
    ASSERT_EQ(read.complaints.size(), 1U);
    EXPECT_NE(read.complaints[0].find("did you mean alltoall"), std::string::npos);
}

TEST(Options, FileIsReadAndTheEnvironmentWins) {
    const TemporaryFile file(
        "# settings\nMESSAGE_CAP = 1M\nNODEAWARE_DIRECT=7 # bytes\n\nPPN = 2\n");
    const ReadOptions read = read_options({"NODEAWARE_CONFIG=" + file.path(), "NODEAWARE_PPN=4"});
    EXPECT_TRUE(read.complaints.empty());
    EXPECT_EQ(read.options.parameters.message_cap, 1U << 20);
    EXPECT_EQ(read.options.parameters.direct_bytes, 7U);
    EXPECT_EQ(read.options.ppn, std::vector<int>{4});
    EXPECT_EQ(read.settings[2].source, file.path() + ":2");
}

TEST(Options, BadFilesAreNamedWithTheirLines) {
    const TemporaryFile file("MESSAGE_CAP = 1X\nnonsense\nDIRECTT = 1\n");
    const ReadOptions read = read_options({"NODEAWARE_CONFIG=" + file.path()});
    ASSERT_EQ(read.complaints.size(), 3U);
    EXPECT_EQ(read.complaints[0].rfind(file.path() + ":1: ", 0), 0U);
    EXPECT_EQ(read.complaints[1].rfind(file.path() + ":2: expected OPTION = VALUE", 0), 0U);
    EXPECT_NE(read.complaints[2].find("did you mean NODEAWARE_DIRECT?"), std::string::npos);
    const ReadOptions missing = read_options({"NODEAWARE_CONFIG=/does/not/exist"});
    ASSERT_EQ(missing.complaints.size(), 1U);
    EXPECT_NE(missing.complaints[0].find("No such file"), std::string::npos);
    const TemporaryFile pipe("");
    ASSERT_EQ(std::remove(pipe.path().c_str()), 0);
    ASSERT_EQ(mkfifo(pipe.path().c_str(), 0600), 0);
    const ReadOptions waiting = read_options({"NODEAWARE_CONFIG=" + pipe.path()});
    ASSERT_EQ(waiting.complaints.size(), 1U);
    EXPECT_EQ(waiting.complaints[0],
              pipe.path() + ": expected a regular file (named by NODEAWARE_CONFIG)");
}

TEST(Options, SettingsSurviveTheJourneyToOtherRanks) {
    const ReadOptions read =
        read_options({"NODEAWARE_STRATEGY=split,alltoall:native", "NODEAWARE_PPN=3,1",
                      "NODEAWARE_LOG_FILE=/x/%h=%r", "NODEAWARE_ARENA=1G", "NODEAWARE_REPORT=1"});
    const Options options = apply_settings(settings_text(read));
    EXPECT_EQ(options.choice(Operation::alltoallv).strategy, find_strategy("split"));
    EXPECT_EQ(options.choice(Operation::alltoall).kind, Choice::Kind::native);
    EXPECT_EQ(options.ppn, (std::vector<int>{3, 1}));
    EXPECT_EQ(options.log_file, "/x/%h=%r");
    EXPECT_EQ(options.parameters.arena_bytes, 1U << 30);
    EXPECT_TRUE(options.report);
    EXPECT_TRUE(options.report_times);
    EXPECT_EQ(options.report_path, "");
}

TEST(Options, VirtualNodes) {
    const Options cyclic = read_options({"NODEAWARE_PPN=cyclic:3,1"}).options;
    EXPECT_EQ(cyclic.ppn, (std::vector<int>{3, 1}));
    EXPECT_TRUE(cyclic.ppn_is_cyclic);
    EXPECT_FALSE(read_options({"NODEAWARE_PPN=3"}).options.ppn_is_cyclic);
    for (const char* bad : {"NODEAWARE_PPN=cyclic:", "NODEAWARE_PPN=cyclic", "NODEAWARE_PPN=2,"}) {
        const ReadOptions read = read_options({bad});
        EXPECT_EQ(read.complaints.size(), 1U) << bad;
        EXPECT_TRUE(read.options.ppn.empty()) << bad;
    }
}

TEST(Options, Bytes) {
    EXPECT_EQ(parse_bytes("0"), 0U);
    EXPECT_EQ(parse_bytes("12k"), 12288U);
    EXPECT_EQ(parse_bytes("3G"), 3ULL << 30);
    for (const char* bad : {"", "K", "-1", "1.5K", "1KB", "99999999999999999999", "80000000G"}) {
        EXPECT_THROW(parse_bytes(bad), BadValue) << bad;
    }
}

TEST(Options, AReportGoesToStderrOrIntoAFile) {
    const auto read = [](const char* value) {
        return read_options({std::string("NODEAWARE_REPORT=") + value});
    };
    EXPECT_FALSE(read("0").options.report);
    EXPECT_FALSE(read("off").options.report);
    EXPECT_TRUE(read("counts").options.report);
    EXPECT_FALSE(read("counts").options.report_times);
    EXPECT_EQ(read("counts").options.report_path, "");
    for (const char* path : {"report.json", "/tmp/report", "./1", "%h.%p.%j"}) {
        EXPECT_TRUE(read(path).options.report) << path;
        EXPECT_TRUE(read(path).options.report_times) << path;
        EXPECT_EQ(read(path).options.report_path, path);
        EXPECT_TRUE(read(path).complaints.empty()) << path;
    }
    for (const char* word : {"2", "ture", "stderr", "count"}) {
        EXPECT_FALSE(read(word).options.report) << word;
        ASSERT_EQ(read(word).complaints.size(), 1U) << word;
    }
    EXPECT_NE(read("count").complaints[0].find("did you mean counts?"), std::string::npos);
    // Other ranks are told the same.
    const Options told = apply_settings(settings_text(read("/tmp/report.json")));
    EXPECT_EQ(told.report_path, "/tmp/report.json");
    EXPECT_FALSE(told.signals);
    EXPECT_TRUE(read_options({"NODEAWARE_SIGNALS=1"}).options.signals);
}

} // namespace nodeaware
