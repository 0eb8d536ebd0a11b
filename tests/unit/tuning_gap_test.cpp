#include "tools/fit/fit.hpp"
#include "tools/fit/gap_fit.hpp"
#include "tools/fit/measurement_json.hpp"
#include "tools/fit/saturation.hpp"
#include "tuning/table_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace nodeaware::tuning {

namespace {

/// What a machine does with k messages of s bytes from one node at the same time.
struct Machine {
    double gap = 0;
    double alpha = 0;
    double beta = 0;
    double inverse_rate = 0;

    double seconds(double processes, double bytes) const {
        return alpha + (processes - 1) * gap + bytes * std::max(beta, processes * inverse_rate);
    }
};

/// A link that is occupied for 5 ms by each message and carries 50 MB/s, 0.5 ms away.
constexpr Machine emulated = {5e-3, 5.5e-3, 2e-8, 2e-8};
/// Processes of 3 GB/s on a node of 12 GB/s that sends 1e10 messages a second.
constexpr Machine real = {0, 2e-6, 1 / 3e9, 1 / 12e9};

/// Powers of two.
std::vector<double> sizes() {
    std::vector<double> all;
    for (int size = 64; size <= 1 << 20; size *= 2) { all.push_back(size); }
    return all;
}

/// `disturbed`: every so many times are a tenth too long.
Measurements measured(const Machine& machine, int processes, int disturbed = 0) {
    Measurements all;
    Measurements::Pair network{Memory::host, Locality::network, {}};
    int number = 0;
    const auto seconds = [&](double k, double bytes) {
        const bool late = disturbed > 0 && ++number % disturbed == 0;
        return machine.seconds(k, bytes) * (late ? 1.1 : 1);
    };
    for (const double bytes : sizes()) {
        network.points.push_back({bytes, machine.seconds(1, bytes)});
        for (int k = 1; k <= processes; ++k) {
            all.simultaneous.push_back(
                {Memory::host, static_cast<double>(k), bytes, seconds(k, bytes)});
        }
    }
    all.pairs.push_back(network);
    network.locality = Locality::node;
    all.pairs.push_back(network);
    return all;
}

double gap_of(const ModelTable& table) {
    return table.path(Memory::host, Locality::network).gaps[2].value_or(-1);
}

} // namespace

TEST(Gap, IsFoundWhereALinkIsOccupiedByEachMessage) {
    const ModelTable table = fit(measured(emulated, 4), {}).table;
    EXPECT_NEAR(gap_of(table), 5e-3, 1e-5);
    EXPECT_NEAR(table.inverse_injection_rate[0], 2e-8, 1e-10);
    EXPECT_FALSE(table.path(Memory::host, Locality::node).gaps[2]);
}

TEST(Gap, IsFoundInSpiteOfDisturbances) {
    Measurements noisy = measured(emulated, 4, 7);
    noisy.simultaneous[10].seconds *= 30;
    const ModelTable table = fit(noisy, {}).table;
    EXPECT_NEAR(gap_of(table), 5e-3, 4e-4);
    EXPECT_NEAR(table.inverse_injection_rate[0], 2e-8, 1e-9);
}

TEST(Gap, IsZeroWhereMessagesDoNotDelayEachOther) {
    const ModelTable table = fit(measured(real, 8), {}).table;
    EXPECT_EQ(gap_of(table), 0);
    EXPECT_NEAR(table.inverse_injection_rate[0], 1 / 12e9, 1e-12);
}

TEST(Gap, IsToldFromALargeNodesInjectionLimit) {
    Machine machine = real;
    machine.gap = 2e-7;
    const ModelTable table = fit(measured(machine, 32), {}).table;
    EXPECT_NEAR(gap_of(table), 2e-7, 1e-8);
    EXPECT_NEAR(table.inverse_injection_rate[0], 1 / 12e9, 2e-12);
}

TEST(Gap, OfEachProtocolIsItsOwn) {
    Path path;
    path.by_protocol[1] = Postal{5.5e-3, 2e-8};
    path.by_protocol[2] = Postal{20e-3, 2e-8};
    path.eager_limit = 4096;
    const Machine rendezvous = {12e-3, 20e-3, 2e-8, 2e-8};
    Measurements all = measured(emulated, 4);
    for (auto& sample : all.simultaneous) {
        if (sample.bytes > 4096) {
            sample.seconds = rendezvous.seconds(sample.processes, sample.bytes);
        }
    }
    const NodeLimits limits = fit_node_limits(all.simultaneous, path);
    EXPECT_FALSE(limits.protocols[0]);
    ASSERT_TRUE(limits.protocols[1] && limits.protocols[2]);
    EXPECT_NEAR(limits.protocols[1]->gap, 5e-3, 1e-5);
    EXPECT_NEAR(limits.protocols[2]->gap, 12e-3, 1e-5);
    EXPECT_NEAR(limits.protocols[2]->line.r_squared, 1, 1e-6);
}

TEST(Gap, NeedsSeveralNumbersOfProcesses) {
    EXPECT_EQ(gap_of(fit(measured(emulated, 1), {}).table), -1);
    EXPECT_FALSE(fit_node_limits({}, Path{}).protocols[2]);
}

TEST(Injection, IsNotMeasuredByProcessesThatDoNotReachIt) {
    Machine wide = real; // its limit is that of 16 processes
    wide.inverse_rate = wide.beta / 16;
    for (const int processes : {2, 6, 8}) {
        const FitResult result = fit(measured(wide, processes, 7), {});
        EXPECT_EQ(result.table.inverse_injection_rate[0], 0) << processes;
        ASSERT_EQ(result.not_measured.size(), 1U) << processes;
        EXPECT_EQ(result.not_measured[0].key, "injection.host");
        EXPECT_NE(result.not_measured[0].why.find("up to " + std::to_string(processes)),
                  std::string::npos)
            << result.not_measured[0].why;
        // As the models and the file have it, there is none.
        EXPECT_EQ(parse_table(to_json_text(result.table), "text").inverse_injection_rate[0], 0);
        EXPECT_TRUE(result.doubtful.empty());
    }
    FitOptions all;
    all.most_injecting = 32;
    const FitResult reached = fit(measured(wide, 32), all);
    EXPECT_TRUE(reached.not_measured.empty());
    EXPECT_NEAR(reached.table.inverse_injection_rate[0], wide.inverse_rate,
                0.2 * wide.inverse_rate);
}

TEST(Injection, IsNotMeasuredByOneNumberOfProcesses) {
    const FitResult result = fit(measured(real, 1), {});
    ASSERT_EQ(result.not_measured.size(), 1U);
    EXPECT_EQ(result.not_measured[0].why, "there are no messages by several numbers of processes");
    Measurements without = measured(real, 1);
    without.simultaneous.clear();
    EXPECT_TRUE(fit(without, {}).not_measured.empty()) << "nobody has tried";
}

TEST(Injection, GrowthIsThatOfTheTransfer) {
    Path path;
    path.by_protocol[2] = Postal{real.alpha, real.beta};
    const auto growth = [&](const Machine& machine, int processes) {
        return growth_with_processes(measured(machine, processes).simultaneous, path).value_or(-1);
    };
    EXPECT_NEAR(growth(real, 8), 1, 0.01);
    EXPECT_NEAR(growth(real, 4), 0, 0.01);
    EXPECT_EQ(growth(real, 1), -1);
    // Gaps take longer with each process, too, and are no limit of the bytes.
    Machine busy = real;
    busy.gap = 1e-4;
    EXPECT_GT(growth(busy, 4), growth_of_limit);
    path.gaps[2] = busy.gap;
    EXPECT_NEAR(growth(busy, 4), 0, 0.01);
}

TEST(Gap, IsInTheTableFile) {
    ModelTable table = find_table("lassen-spectrum");
    EXPECT_FALSE(table.path(Memory::host, Locality::network).gaps[1]);
    table.path(Memory::host, Locality::network).gaps = {1e-7, std::nullopt, 0};
    const std::string text = to_json_text(table);
    EXPECT_EQ(parse_table(text, "text"), table);
    std::string wrong = text;
    wrong.replace(wrong.find("\"gap\": 1e-07"), 12, "\"gap\": 1e7");
    EXPECT_THROW(parse_table(wrong, "text"), TableError);
    wrong = text; // messages on a node have none
    wrong.replace(wrong.find("\"alpha\""), 7, "\"gap\": 0, \"alpha\"");
    EXPECT_THROW(parse_table(wrong, "text"), TableError);
    // One more parameter than alpha and beta, where it is known.
    EXPECT_EQ(parameters_of(table).size(), parameters_of(find_table("lassen-spectrum")).size() + 2);
}

TEST(SwitchPoints, AreFoundBesideACurveOfNoise) {
    std::vector<Point> good;
    std::vector<Point> noise;
    for (const double bytes : sizes()) {
        good.push_back({bytes, (bytes <= 65536 ? 5e-3 : 2e-2) + 2e-8 * bytes});
        noise.push_back({bytes, 1e-5 * (2 + 1.9 * std::sin(7 * std::log(bytes)))});
    }
    EXPECT_EQ(find_switch_points({noise, good}, {})[1], std::vector<double>{65536});
}

TEST(SwitchPoints, OfACleanCurveDoNotFollowANoisyOne) {
    std::vector<Point> good;
    std::vector<Point> noise;
    for (const double bytes : sizes()) {
        good.push_back({bytes, (bytes <= 16384 ? 5.5e-3 : 2.6e-2) + 2e-8 * bytes});
        // Jumps of its own, where the other has none.
        noise.push_back({bytes, bytes < 512 ? 1e-4 : bytes < 262144 ? 4e-3 : 3e-5});
    }
    const auto limits = find_switch_points({noise, good}, {})[1];
    ASSERT_FALSE(limits.empty());
    EXPECT_EQ(limits.back(), 16384);
}

TEST(MeasurementJson, KeepsMessagesInARow) {
    Measurements all;
    all.in_a_row = {{4, 8, 1e-5}, {8, 2048, 3e-5}};
    EXPECT_EQ(measurements_from_json(to_json_text(all), "text"), all);
    Measurements sum = all;
    sum.add(all);
    EXPECT_EQ(sum.in_a_row.size(), 4U);
}

} // namespace nodeaware::tuning
