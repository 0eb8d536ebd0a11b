// What a calibration leaves behind that does not come to its end, and what it shows until then.

#include "tools/fit/measurement_json.hpp"
#include "tools/nodeaware/calibration_files.hpp"
#include "tools/nodeaware/progress_line.hpp"
#include "tuning/text_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
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
    KeptMeasurements kept(at("table"));
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
    KeptMeasurements kept(at("no/table"));
    kept.keep(measured(1));
    kept.keep(measured(2));
    kept.done();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("no/table.partial: cannot be written: No such file"), std::string::npos);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
    KeptMeasurements("").keep(measured(1));
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
