// What a calibration leaves behind that does not come to its end, and what it shows until then.

#include "tools/fit/measurement_json.hpp"
#include "tools/nodeaware/calibration_files.hpp"
#include "tools/nodeaware/progress_line.hpp"
#include "tuning/text_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace nodeaware::tool {
namespace {

namespace fs = std::filesystem;

/// In a folder of its own.
class CalibrationFiles : public testing::Test {
  protected:
    CalibrationFiles() { fs::create_directory(folder_); }
    ~CalibrationFiles() override { fs::remove_all(folder_); }

    std::string at(const std::string& name) const { return folder_ / name; }

  private:
    fs::path folder_ =
        fs::temp_directory_path() / ("calibration_files_test." + std::to_string(getpid()));
};

tuning::Measurements measured(double seconds) {
    tuning::Measurements all;
    all.flag_latencies = {seconds};
    return all;
}

TEST_F(CalibrationFiles, CopiesTakeNoPlaceOfOthers) {
    const std::string table = at("table");
    EXPECT_EQ(path_of_copy(table), table + ".bak");
    for (int i = 1; i <= 9; ++i) {
        const std::string copy = path_of_copy(table);
        EXPECT_EQ(copy, table + (i == 1 ? ".bak" : ".bak." + std::to_string(i)));
        EXPECT_FALSE(fs::exists(copy));
        tuning::write_text_file(copy, "kept");
    }
    EXPECT_EQ(path_of_copy(table), table + ".bak.9");
}

TEST_F(CalibrationFiles, MeasurementsAreThereUntilTheEnd) {
    const std::string partial = at("table.partial");
    testing::internal::CaptureStderr();
    KeptMeasurements kept(partial);
    kept.keep(measured(1));
    EXPECT_EQ(tuning::read_measurements(partial, {}), measured(1));
    kept.keep(measured(2));
    EXPECT_EQ(tuning::read_measurements(partial, {}), measured(2));
    kept.done();
    EXPECT_TRUE(fs::is_empty(fs::path(partial).parent_path()));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "nodeaware: until the end, what is measured is kept in " + partial +
                  ", for nodeaware fit\n");
}

TEST_F(CalibrationFiles, MeasurementsThatCannotBeKeptAreSaidOnce) {
    testing::internal::CaptureStderr();
    KeptMeasurements kept(at("no/table.partial"));
    kept.keep(measured(1));
    kept.keep(measured(2));
    kept.done();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("no/table.partial: cannot be written: No such file"), std::string::npos);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    KeptMeasurements("").keep(measured(1));
}

TEST_F(CalibrationFiles, WhatAnEarlierOneKeptIsMovedAside) {
    const std::string partial = at("table.partial");
    tuning::write_text_file(partial, "earlier");
    testing::internal::CaptureStderr();
    KeptMeasurements kept(partial);
    kept.keep(measured(1));
    kept.keep(measured(2));
    kept.done();
    EXPECT_FALSE(fs::exists(partial));
    EXPECT_EQ(tuning::read_text_file(partial + ".bak"), "earlier");
    EXPECT_FALSE(fs::exists(partial + ".bak.2"));
    EXPECT_EQ(testing::internal::GetCapturedStderr().find(
                  "nodeaware: what an earlier calibration kept is now " + partial + ".bak\n"),
              0U);
}

/// Of files, until it goes; room for what is said.
class SmallFiles {
  public:
    SmallFiles() {
        EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
        const rlimit small{4096, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    }
    ~SmallFiles() { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0); }
    SmallFiles(const SmallFiles&) = delete;
    SmallFiles& operator=(const SmallFiles&) = delete;

  private:
    rlimit before_{};
};

TEST_F(CalibrationFiles, WhatWasKeptBeforeTheDiskIsFullIsSaid) {
    const std::string partial = at("table.partial");
    tuning::Measurements more;
    more.flag_latencies.assign(10000, 1.0);
    testing::internal::CaptureStderr();
    KeptMeasurements kept(partial);
    kept.keep(measured(1));
    {
        const SmallFiles limit;
        kept.keep(more);
        kept.keep(more);
    }
    EXPECT_EQ(tuning::read_measurements(partial, {}), measured(1));
    kept.done();
    EXPECT_FALSE(fs::exists(partial));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("from here on, what is measured is not kept until the end: " + partial +
                        ": cannot be written: File too large\n"
                        "nodeaware: what was measured before is in " +
                        partial + "\n"),
              std::string::npos);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3);
}

TEST_F(CalibrationFiles, NoneIsWrittenOverAnother) {
    const std::string table = at("t.json");
    const auto is_refused = [](const std::string& output, const std::string& measurements) {
        return !complaint_of_files(output, measurements).empty();
    };
    EXPECT_FALSE(is_refused(table, ""));
    EXPECT_FALSE(is_refused(table, at("m.json")));
    EXPECT_TRUE(is_refused(table, table));
    EXPECT_TRUE(is_refused(at("m.json.partial"), at("m.json")));
    EXPECT_FALSE(is_refused("-", at("m.json")));
    fs::create_symlink("m.json.partial", at("link"));
    EXPECT_TRUE(is_refused(at("link"), at("m.json")));
    EXPECT_FALSE(is_refused(table, table + ".partial")); // what is kept is beside that
    EXPECT_FALSE(is_refused(table, table + ".bak"));     // there is nothing to copy
    tuning::write_text_file(table, "old");
    EXPECT_TRUE(is_refused(table, table + ".bak"));
    tuning::write_text_file(table + ".bak", "older");
    EXPECT_FALSE(is_refused(table, table + ".bak"));
    EXPECT_TRUE(is_refused(table, table + ".bak.2"));
    EXPECT_EQ(path_of_kept("-", table), table + ".partial");
    EXPECT_EQ(path_of_kept("", "/dev/stdout"), "");
}

TEST(Progress, HasALineNowAndThenWhereNobodyLooks) {
    constexpr double later = 1e9; // than the clock
    testing::internal::CaptureStderr();
    {
        ProgressLine progress(ProgressLine::Kind::lines);
        progress.show("at once");
        progress.show_at(later, "first");
        progress.show_at(later + 0.9 * ProgressLine::seconds_between_lines, "too soon");
        progress.show_at(later + ProgressLine::seconds_between_lines, "second");
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "nodeaware: first\nnodeaware: second\n");
}

TEST(Progress, IsRewrittenWhereSomebodyLooks) {
    testing::internal::CaptureStderr();
    {
        ProgressLine progress(ProgressLine::Kind::rewritten);
        progress.show("longer");
        progress.show("short");
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "\rlonger\rshort \r     \r");
    testing::internal::CaptureStderr();
    ProgressLine(ProgressLine::Kind::none).show("nothing");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
} // namespace nodeaware::tool
