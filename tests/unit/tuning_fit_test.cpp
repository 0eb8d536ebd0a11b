#include "tools/fit/fit.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace nodeaware::tuning {

namespace {

/// Times of `line` at sizes FIRST, 2 FIRST, ... up to LAST.
void append(std::vector<Point>& points, const Postal& line, int first, int last) {
    for (int bytes = first; bytes <= last; bytes *= 2) {
        points.push_back({static_cast<double>(bytes), postal(line, bytes)});
    }
}

std::vector<Point> three_protocols() {
    std::vector<Point> points;
    append(points, {1e-6, 1e-9}, 1, 128);
    append(points, {2e-6, 5e-10}, 256, 8192);
    append(points, {1.2e-5, 8e-11}, 16384, 1 << 20);
    return points;
}

bool has_warning(const FitResult& result, const std::string& part) {
    for (const std::string& warning : result.warnings) {
        if (warning.find(part) != std::string::npos) return true;
    }
    return false;
}

} // namespace

TEST(FitLine, FindsTheLineOfLeastSquares) {
    // Means 2 and 3, slope (-1 -2 + 0 + 1 1) / 2 = 1.5, intercept 0; residuals 0.5, -1, 0.5.
    const std::array<Point, 3> points = {{{1, 1}, {2, 4}, {3, 4}}};
    const LineFit line = fit_line(points, Weighting::uniform);
    EXPECT_DOUBLE_EQ(line.beta, 1.5);
    EXPECT_NEAR(line.alpha, 0, 1e-15);
    EXPECT_DOUBLE_EQ(line.r_squared, 0.75); // 1 - 1.5 / 6
    EXPECT_DOUBLE_EQ(line.rms_seconds, std::sqrt(0.5));
    EXPECT_DOUBLE_EQ(line.rms_relative, std::sqrt((0.25 + 1.0 / 16 + 1.0 / 64) / 3));
    EXPECT_EQ(line.points, 3);
}

TEST(FitLine, RelativeWeightsFollowTheShortTimes) {
    // The weights are 1, 1/4 and 1/16. The first point can be met whatever the slope.
    const std::array<Point, 3> points = {{{0, 1}, {10, 2}, {10, 4}}};
    // At 10 bytes the best is the weighted mean (2/4 + 4/16) / (1/4 + 1/16) = 2.4.
    const LineFit line = fit_line(points, Weighting::relative);
    EXPECT_DOUBLE_EQ(line.alpha, 1);
    EXPECT_DOUBLE_EQ(line.beta, 0.14);
    EXPECT_DOUBLE_EQ(fit_line(points, Weighting::uniform).beta, 0.2);
}

TEST(FitLine, OneSizeGivesItsMean) {
    const std::array<Point, 2> points = {{{8, 1}, {8, 3}}};
    const LineFit line = fit_line(points, Weighting::uniform);
    EXPECT_EQ(line.beta, 0);
    EXPECT_EQ(line.alpha, 2);
}

TEST(FitLine, OutliersDoNotBendIt) {
    std::vector<Point> points;
    append(points, {1e-6, 1e-9}, 64, 65536);
    points[3].seconds *= 5;
    points[9].seconds *= 5;
    const LineFit line = fit_line_robust(points, Weighting::uniform);
    EXPECT_NEAR(line.alpha, 1e-6, 1e-12);
    EXPECT_NEAR(line.beta, 1e-9, 1e-15);
    EXPECT_EQ(line.outliers, 2);
    EXPECT_GT(fit_line(points, Weighting::uniform).beta, 1.5e-9);
}

TEST(FitLine, SlopeThroughTheOrigin) {
    const std::array<Point, 2> points = {{{1, 2}, {2, 3}}};
    EXPECT_DOUBLE_EQ(fit_slope(points, Weighting::uniform), 1.6); // (2 + 6) / (1 + 4)
}

TEST(SwitchPoints, AreFound) {
    const auto limits = find_switch_points({three_protocols()}, {});
    ASSERT_EQ(limits.size(), 1U);
    EXPECT_EQ(limits[0], (std::vector<double>{128, 8192}));
}

TEST(SwitchPoints, AreFoundUnderNoise) {
    std::vector<Point> points = three_protocols();
    for (size_t i = 0; i < points.size(); ++i) {
        points[i].seconds *= 1 + 0.02 * std::sin(static_cast<double>(7 * i));
    }
    EXPECT_EQ(find_switch_points({points}, {})[0], (std::vector<double>{128, 8192}));
}

TEST(SwitchPoints, ALineHasNone) {
    std::vector<Point> points;
    append(points, {1e-6, 1e-10}, 1, 1 << 20);
    EXPECT_TRUE(find_switch_points({points}, {})[0].empty());
}

TEST(SwitchPoints, EachCurveKeepsThoseItNeeds) {
    std::vector<Point> two;
    append(two, {1e-6, 5e-10}, 1, 8192);
    append(two, {9e-6, 8e-11}, 16384, 1 << 20);
    std::vector<Point> one;
    append(one, {1e-6, 1e-10}, 1, 1 << 20);
    const auto limits = find_switch_points({three_protocols(), two, one}, {});
    EXPECT_EQ(limits[0], (std::vector<double>{128, 8192}));
    EXPECT_EQ(limits[1], (std::vector<double>{8192}));
    EXPECT_TRUE(limits[2].empty());
}

TEST(Fit, FindsTheTableThatMadeTheTimes) {
    Measurements made;
    made.pairs.push_back({Memory::host, Locality::network, three_protocols()});
    std::vector<Point> slower = three_protocols();
    for (Point& point : slower) { point.seconds *= 1.3; } // the least time counts
    made.pairs.push_back({Memory::host, Locality::network, slower});
    std::vector<Point> on_node;
    append(on_node, {5e-7, 2e-10}, 1, 1 << 20);
    made.pairs.push_back({Memory::host, Locality::node, on_node});
    std::vector<Point> copies;
    append(copies, {1e-5, 2e-11}, 4, 1 << 20);
    made.copies.push_back({Direction::device_to_host, true, 1, copies});
    for (int processes = 1; processes <= 40; ++processes) {
        for (int bytes = 16384; bytes <= 1 << 20; bytes *= 4) {
            const double together = 4e-11 * processes * bytes;
            made.simultaneous.push_back({Memory::host, static_cast<double>(processes),
                                         static_cast<double>(bytes), 9e-6 + together});
        }
    }
    const FitResult result = fit(made, {});
    const Path& network = result.table.path(Memory::host, Locality::network);
    EXPECT_EQ(network.short_limit, 128);
    EXPECT_EQ(network.eager_limit, 8192);
    EXPECT_NEAR(network.by_protocol[0]->alpha, 1e-6, 1e-12);
    EXPECT_NEAR(network.by_protocol[1]->beta, 5e-10, 1e-16);
    EXPECT_NEAR(network.by_protocol[2]->alpha, 1.2e-5, 1e-12);
    const Path& node = result.table.path(Memory::host, Locality::node);
    EXPECT_FALSE(node.by_protocol[0] || node.by_protocol[1]);
    EXPECT_NEAR(node.by_protocol[2]->beta, 2e-10, 1e-16);
    EXPECT_NEAR(result.table.inverse_injection_rate[0], 4e-11, 1e-17);
    ASSERT_EQ(result.table.copies.size(), 1U);
    EXPECT_NEAR(result.table.copies[0].postal.alpha, 1e-5, 1e-12);
    EXPECT_TRUE(result.warnings.empty()) << result.warnings.front();
    EXPECT_EQ(result.lines.front().key, "paths.host.node.rendezvous");
    EXPECT_NEAR(result.lines.front().line.r_squared, 1, 1e-9);
}

TEST(Fit, WarnsOfWhatCannotBe) {
    Measurements made;
    std::vector<Point> falling;
    append(falling, {-1e-6, 1e-8}, 256, 4096); // alpha below 0
    made.pairs.push_back({Memory::host, Locality::network, falling});
    made.pairs.push_back({Memory::host, Locality::node, {{64, 2e-6}, {128, 1e-6}}});
    std::vector<Point> noisy;
    for (int bytes = 64; bytes <= 65536; bytes *= 2) {
        noisy.push_back({static_cast<double>(bytes), 1e-6 * (1 + 0.8 * std::sin(bytes))});
    }
    made.copies.push_back({Direction::host_to_device, true, 1, noisy});
    FitOptions options;
    options.switches.most_protocols = 1;
    const FitResult result = fit(made, options);
    EXPECT_TRUE(has_warning(result, "paths.host.network.rendezvous: implausible: alpha is -1e-06"));
    const Postal& network = *result.table.path(Memory::host, Locality::network).by_protocol[2];
    EXPECT_EQ(network.alpha, 0);
    EXPECT_GT(network.beta, 0);
    EXPECT_TRUE(has_warning(result, "paths.host.node.rendezvous: only 2 points"));
    EXPECT_TRUE(has_warning(result, "paths.host.node.rendezvous: implausible: beta is"));
    EXPECT_EQ(result.table.path(Memory::host, Locality::node).by_protocol[2]->beta, 0);
    EXPECT_TRUE(has_warning(result, "copies.host_to_device.1: noisy"));
    EXPECT_THROW(fit({}, {}), TableError);
}

} // namespace nodeaware::tuning
