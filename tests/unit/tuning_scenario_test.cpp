#include "tools/models/scenario.hpp"
#include "tools/models/svg_plot.hpp"
#include "tuning/table_file.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace nodeaware::tuning {

namespace {

/// Winners by message size, powers of two.
class Winners {
  public:
    Winners(double messages, double nodes, double duplicates)
        : points_(evaluate(find_table("lassen-spectrum"),
                           {.messages = messages, .nodes = nodes, .duplicate_fraction = duplicates},
                           parse_sizes("1:1048576"))) {}

    std::string at(double bytes) const { return std::string(curves[point(bytes).winner].key); }
    std::string overall(double bytes) const {
        return std::string(curves[point(bytes).overall_winner].key);
    }
    bool staged(double bytes) const { return !curves[point(bytes).winner].device_aware; }

  private:
    const ScenarioPoint& point(double bytes) const {
        return *std::find_if(points_.begin(), points_.end(),
                             [&](const ScenarioPoint& point) { return point.bytes == bytes; });
    }
    std::vector<ScenarioPoint> points_;
};

std::string error_of(const auto& function) {
    try {
        function();
    } catch (const std::invalid_argument& error) { return error.what(); }
    return "";
}

size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

} // namespace

// Two messages of 1200 bytes from 2 GPUs (gps = 1) to 2 nodes, 4 processes, a cap of 1000:
// s_proc = 1200, s_node = 2400, s_node_node = 1200, redistributed 600.
TEST(Scenario, AddsUpTheTermsOfEachCurve) {
    const Scenario scenario{.messages = 2,
                            .nodes = 2,
                            .duplicate_fraction = 0,
                            .gps = 1,
                            .ppn = 4,
                            .ppg = 4,
                            .message_cap = 1000};
    const auto points = evaluate(toy_table(), scenario, {1200});
    ASSERT_EQ(points.size(), 1U);
    const double copies = 200 + 24 + 100 + 12;
    const double on_host = 5 + 0.05 * 600;
    const double on_device = 7 + 0.07 * 600;
    const double expected[] = {
        40 + 4.8 + copies,               // one of 1200: 40 + max(2.4, 0.004 1200)
        50 + 7.2,                        // 50 + 0.006 1200
        40 + 4.8 + 2 * on_host + copies, // one node each
        50 + 7.2 + 2 * on_device,
        2 * 20 + 240 + on_host + copies, // two of 600, eager
        2 * 30 + 360 + on_device,
        40 + 4.8 + on_host + copies, // one of 1200
        50 + 7.2 + on_device,
        // 2 nodes x 2 pieces from 4 processes, 600 each: 20 + 0.2 600, one deal of 2 + 0.02 600
        20 + 120 + 2 * (on_host + 14) + copies,
        // 4 processes for each GPU hold a part already, 300 bytes each to copy
        20 + 120 + 2 * on_host + 220 + 12 + 110 + 9};
    for (size_t i = 0; i < curves.size(); ++i) {
        ASSERT_TRUE(points[0].seconds[i]);
        EXPECT_DOUBLE_EQ(*points[0].seconds[i], expected[i]) << curves[i].key;
    }
    EXPECT_EQ(curves[points[0].winner].key, "standard_device");
}

TEST(Scenario, DuplicateDataIsSentByStandardCommunicationAlone) {
    const Scenario with{.messages = 2, .nodes = 2, .duplicate_fraction = 0.5, .gps = 1};
    const Scenario without{.messages = 2, .nodes = 2, .duplicate_fraction = 0, .gps = 1};
    const auto halved = evaluate(toy_table(), with, {1000})[0];
    const auto full = evaluate(toy_table(), without, {1000})[0];
    const auto half = evaluate(toy_table(), without, {500})[0];
    EXPECT_EQ(halved.seconds[0], full.seconds[0]);
    EXPECT_EQ(halved.seconds[1], full.seconds[1]);
    for (size_t i = 2; i < curves.size(); ++i) {
        EXPECT_EQ(halved.seconds[i], half.seconds[i]) << curves[i].key;
    }
}

// Section 4.6: few messages to few nodes: 3-Step and standard, staged up to 10^4 bytes, then
// standard device-aware. (One size, 2048, goes to Split + MD, by 2 %.)
TEST(Section46, FewMessagesToFewNodes) {
    const Winners winners(32, 4, 0);
    for (int bytes = 1; bytes <= 1024; bytes *= 2) {
        EXPECT_EQ(winners.at(bytes), "three_step_staged") << bytes;
    }
    EXPECT_EQ(winners.at(4096), "three_step_staged");
    EXPECT_EQ(winners.at(8192), "standard_staged");
    for (int bytes = 1; bytes < 10000; bytes *= 2) { EXPECT_TRUE(winners.staged(bytes)); }
    for (int bytes = 16384; bytes <= 1048576; bytes *= 2) {
        EXPECT_EQ(winners.at(bytes), "standard_device") << bytes;
    }
}

// Split + MD replaces 3-Step when there are more nodes.
TEST(Section46, FewMessagesToManyNodes) {
    const Winners winners(32, 16, 0);
    for (int bytes = 1; bytes <= 4096; bytes *= 2) {
        EXPECT_EQ(winners.at(bytes), "split_md") << bytes;
    }
    for (int bytes = 1; bytes < 10000; bytes *= 2) { EXPECT_TRUE(winners.staged(bytes)); }
    for (int bytes = 16384; bytes <= 1048576; bytes *= 2) {
        EXPECT_EQ(winners.at(bytes), "standard_device") << bytes;
    }
}

// Many messages to few nodes: 3-Step and 2-Step, staged nearly up to 10^4 bytes, then the same
// device-aware.
TEST(Section46, ManyMessagesToFewNodes) {
    const Winners winners(256, 4, 0);
    const std::set<std::string> staged = {"three_step_staged", "two_step_staged"};
    const std::set<std::string> aware = {"three_step_device", "two_step_device"};
    int others = 0;
    for (int bytes = 1; bytes <= 4096; bytes *= 2) {
        others += staged.contains(winners.at(bytes)) ? 0 : 1;
        EXPECT_TRUE(winners.staged(bytes)) << bytes;
    }
    EXPECT_LE(others, 1);
    for (int bytes = 8192; bytes <= 524288; bytes *= 2) {
        EXPECT_TRUE(aware.contains(winners.at(bytes))) << bytes << " " << winners.at(bytes);
    }
}

// Many messages to many nodes: Split + MD, then 3-Step and 2-Step, device-aware for large ones.
TEST(Section46, ManyMessagesToManyNodes) {
    const Winners winners(256, 16, 0);
    const std::set<std::string> aware = {"three_step_device", "two_step_device"};
    for (int bytes = 1; bytes <= 1024; bytes *= 2) {
        EXPECT_EQ(winners.at(bytes), "split_md") << bytes;
    }
    for (int bytes = 1; bytes <= 4096; bytes *= 2) { EXPECT_TRUE(winners.staged(bytes)); }
    for (int bytes = 8192; bytes <= 262144; bytes *= 2) {
        EXPECT_TRUE(aware.contains(winners.at(bytes))) << bytes << " " << winners.at(bytes);
    }
}

// With many messages above some 10^3 bytes the best case of 2-step, device-aware, beats all.
TEST(Section46, TheBestCaseOfTwoStepWinsForLargeVolumes) {
    for (const double nodes : {4.0, 16.0}) {
        const Winners winners(256, nodes, 0);
        for (int bytes = 16384; bytes <= 524288; bytes *= 2) {
            EXPECT_EQ(winners.overall(bytes), "two_step_one_device") << nodes << " " << bytes;
        }
    }
}

// Duplicate data matters for many large messages, not for few small ones.
TEST(Section46, DuplicateDataMattersForLargeVolumes) {
    for (const double nodes : {4.0, 16.0}) {
        const Winners full(32, nodes, 0);
        const Winners less(32, nodes, 0.25);
        for (int bytes = 1; bytes <= 2048; bytes *= 2) {
            EXPECT_EQ(full.at(bytes), less.at(bytes)) << nodes << " " << bytes;
        }
    }
    EXPECT_EQ(Winners(256, 16, 0).at(8192), "three_step_device");
    EXPECT_EQ(Winners(256, 16, 0.25).at(8192), "three_step_staged");
}

// Split + DD loses to Split + MD for small messages: its copies cost more than it saves.
TEST(Section46, SplitWithDuplicatePointersLosesForSmallMessages) {
    for (const double nodes : {4.0, 16.0}) {
        const auto points = evaluate(find_table("lassen-spectrum"),
                                     {.messages = 256, .nodes = nodes}, parse_sizes("1:512"));
        for (const ScenarioPoint& point : points) {
            EXPECT_LT(*point.seconds[8], *point.seconds[9]) << nodes << " " << point.bytes;
        }
    }
}

TEST(Scenario, IsParsed) {
    const Scenario scenario =
        parse_scenario("messages=256,nodes=16,dup=0.25,gps=3,ppn=42,ppg=7,cap=4096");
    EXPECT_EQ(scenario.messages, 256);
    EXPECT_EQ(scenario.nodes, 16);
    EXPECT_EQ(scenario.duplicate_fraction, 0.25);
    EXPECT_EQ(scenario.gps, 3);
    EXPECT_EQ(scenario.ppn, 42);
    EXPECT_EQ(scenario.ppg, 7);
    EXPECT_EQ(scenario.message_cap, 4096);
    EXPECT_EQ(error_of([] { parse_scenario("nodes=x"); }), "scenario, nodes: x is not a number");
    EXPECT_EQ(error_of([] { parse_scenario("nodes"); }), "scenario, nodes:  is not a number");
    EXPECT_EQ(error_of([] { parse_scenario("nodes=0"); }), "scenario, nodes: must be at least 1");
    EXPECT_EQ(error_of([] { parse_scenario("dup=1"); }),
              "scenario, dup: must be at least 0 and below 1");
    EXPECT_EQ(error_of([] { parse_scenario("nods=4"); }),
              "scenario: no key nods; keys are messages, nodes, dup, gps, ppn, ppg, cap");
}

TEST(Scenario, SizesAreParsed) {
    EXPECT_EQ(parse_sizes("1:8"), (std::vector<double>{1, 2, 4, 8}));
    EXPECT_EQ(parse_sizes("3:10"), (std::vector<double>{3, 4, 8, 10}));
    EXPECT_EQ(parse_sizes("100"), (std::vector<double>{100}));
    EXPECT_NE(error_of([] { parse_sizes("8:1"); }), "");
    EXPECT_NE(error_of([] { parse_sizes("0:8"); }), "");
    EXPECT_NE(error_of([] { parse_sizes("1:inf"); }), "");
}

TEST(Scenario, OnAMachineWithoutGpusHasHostCurvesWithoutCopies) {
    const auto points = evaluate(find_table("blue-waters"), {}, {1024});
    EXPECT_TRUE(points[0].seconds[0]);
    EXPECT_FALSE(points[0].seconds[1]);
    EXPECT_TRUE(points[0].seconds[8]);
    EXPECT_NE(to_csv(curve_table(find_table("blue-waters"), {}, points)).find(",,"),
              std::string::npos);
}

TEST(ScenarioText, TextCsvAndJson) {
    const ModelTable table = find_table("lassen-spectrum");
    const Scenario scenario{.messages = 32, .nodes = 4};
    const CurveTable table_of_curves =
        curve_table(table, scenario, evaluate(table, scenario, {8, 32768}));
    const std::string csv = to_csv(table_of_curves);
    EXPECT_EQ(count_of(csv, "\n"), 3U);
    EXPECT_TRUE(csv.starts_with("bytes,standard_staged,standard_device,"));
    EXPECT_NE(csv.find(",three_step_staged,"), std::string::npos);
    EXPECT_TRUE(csv.ends_with(",standard_device,two_step_one_device\n"));
    const std::string text = to_text(table_of_curves);
    EXPECT_EQ(count_of(text, "* "), 2U);
    EXPECT_TRUE(text.ends_with("  standard_device  two_step_one_device\n"));
    const std::string json = to_json_text({{"table", table.name}}, table_of_curves);
    EXPECT_NE(json.find("\"winner\": \"standard_device\""), std::string::npos);
    EXPECT_NE(json.find("\"table\": \"lassen-spectrum\""), std::string::npos);
}

TEST(SvgPlot, DrawsEveryLineAndMark) {
    const ModelTable table = find_table("lassen-spectrum");
    const auto points = evaluate(table, {}, parse_sizes("1:1024"));
    const std::string svg = to_svg(curve_table(table, {}, points));
    EXPECT_TRUE(svg.starts_with("<svg "));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(count_of(svg, "<polyline"), curves.size());
    // Each device-aware curve is dashed, in the plot and in the legend.
    EXPECT_EQ(count_of(svg, "stroke-dasharray"), 2U * 4);
    EXPECT_EQ(count_of(svg, "<circle"), points.size() + 1);
    std::set<std::pair<int, bool>> looks;
    for (const Curve& curve : curves) { looks.insert({curve.colour, curve.device_aware}); }
    EXPECT_EQ(looks.size(), curves.size());
}

TEST(SvgPlot, AxesAreLogarithmic) {
    const Plot plot{
        "a < b & c", "x", "y", "", {{"line", false, false, 0, {{1, 1}, {10, 10}, {100, 100}}}}};
    const std::string svg = to_svg(plot);
    // The plot area starts at (90, 50) and is 620 x 440: decades are 310 and 220 apart.
    EXPECT_NE(svg.find("points='90.0,490.0 400.0,270.0 710.0,50.0 '"), std::string::npos) << svg;
    EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
}

} // namespace nodeaware::tuning
