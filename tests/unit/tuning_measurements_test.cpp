#include "tools/fit/fit.hpp"
#include "tools/fit/measurement_json.hpp"
#include "tuning_texts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

namespace nodeaware::tuning {

namespace {

std::string complaint_of_run(const std::string& text) {
    return complaint_of_reader([&] { parse_measurements(text, "run.txt", {}); });
}

Measurements read_folder(const std::string& folder) {
    Measurements all;
    for (const char* name : {"ping_pong", "memcpy", "memcpy_mult", "maxrate"}) {
        const std::string path =
            std::string(NODEAWARE_MEASUREMENTS) + "/" + folder + "/" + name + ".txt";
        all.add(read_measurements(path, {}));
    }
    return all;
}

bool absent(const std::string& folder) {
    return !std::filesystem::exists(std::string(NODEAWARE_MEASUREMENTS) + "/" + folder);
}

/// A published parameter, by how much the fit may differ from it, and, where the recorded data are
/// not those of the publication, by how much they do.
struct Expected {
    const char* key;
    double tolerance;            ///< relative to the published value
    double known_difference = 0; ///< the same
};

/// Fits, prints each parameter beside the published one, and checks the stated tolerances.
void expect_near_published(const std::string& folder, const std::string& table,
                           const FitOptions& options, const std::vector<Expected>& expected) {
    std::map<std::string, double> fitted;
    for (const Parameter& parameter : parameters_of(fit(read_folder(folder), options).table)) {
        fitted[parameter.key] = parameter.value;
    }
    const auto published = parameters_of(find_table(table));
    EXPECT_EQ(published.size(), expected.size());
    std::printf("%-42s %12s %12s %11s %9s\n", table.c_str(), "published", "fitted", "difference",
                "expected");
    for (size_t i = 0; i < std::min(published.size(), expected.size()); ++i) {
        const auto& [key, value] = published[i];
        ASSERT_EQ(key, expected[i].key);
        ASSERT_TRUE(fitted.contains(key)) << key;
        const double difference = fitted[key] / value - 1;
        std::printf("%-42s %12.3e %12.3e %+10.1f%% %+8.1f%% +- %.0f%%\n", key.c_str(), value,
                    fitted[key], 100 * difference, 100 * expected[i].known_difference,
                    100 * expected[i].tolerance);
        EXPECT_NEAR(difference, expected[i].known_difference, expected[i].tolerance) << key;
    }
}

} // namespace

// Tables 2, 3 and 4 of the paper. The tolerance is at most 8 % where the recorded data are those of
// the tables. Where they cannot be, the known difference stands behind it:
//  - messages between nodes come from another run (at most 128 bytes take 1.28e-6 s here, where
//    table 2 has 1.89e-6 s);
//  - device eager: the alpha on the socket is printed a tenth of what was measured, and both slopes
//    on the node are those of the other MPI (table I of the data-movement paper);
//  - copies by 4 processes: the slopes are printed larger than what was measured.
TEST(LassenSpectrum, FitsThePublishedParameters) {
    if (absent("lassen_spectrum")) { GTEST_SKIP() << "no folder " << NODEAWARE_MEASUREMENTS; }
    FitOptions options;
    options.limits[1] = {8192}; // the recorded device curves show no switch, the table has one
    expect_near_published("lassen_spectrum", "lassen-spectrum", options,
                          {{"paths.host.socket.short.alpha", 0.01},
                           {"paths.host.socket.short.beta", 0.01},
                           {"paths.host.socket.eager.alpha", 0.06},
                           {"paths.host.socket.eager.beta", 0.02},
                           {"paths.host.socket.rendezvous.alpha", 0.04},
                           {"paths.host.socket.rendezvous.beta", 0.01},
                           {"paths.host.node.short.alpha", 0.01},
                           {"paths.host.node.short.beta", 0.06},
                           {"paths.host.node.eager.alpha", 0.03},
                           {"paths.host.node.eager.beta", 0.04},
                           {"paths.host.node.rendezvous.alpha", 0.01},
                           {"paths.host.node.rendezvous.beta", 0.01},
                           {"paths.host.network.short.alpha", 0.01, -0.323},
                           {"paths.host.network.short.beta", 0.01, 0.454},
                           {"paths.host.network.eager.alpha", 0.01, -0.232},
                           {"paths.host.network.eager.beta", 0.01, 0.394},
                           {"paths.host.network.rendezvous.alpha", 0.01, -0.118},
                           {"paths.host.network.rendezvous.beta", 0.08},
                           {"paths.device.socket.eager.alpha", 0.01, 8.577},
                           {"paths.device.socket.eager.beta", 0.01, -0.981},
                           {"paths.device.socket.rendezvous.alpha", 0.04},
                           {"paths.device.socket.rendezvous.beta", 0.07},
                           {"paths.device.node.eager.alpha", 0.06},
                           {"paths.device.node.eager.beta", 0.01, -0.967},
                           {"paths.device.node.rendezvous.alpha", 0.05},
                           {"paths.device.node.rendezvous.beta", 0.02},
                           {"paths.device.network.eager.alpha", 0.01, -0.329},
                           {"paths.device.network.eager.beta", 0.02},
                           {"paths.device.network.rendezvous.alpha", 0.01, -0.275},
                           {"paths.device.network.rendezvous.beta", 0.01, -0.582},
                           {"injection.host.seconds_per_byte", 0.01},
                           {"copies.host_to_device.1.alpha", 0.05},
                           {"copies.host_to_device.1.beta", 0.03},
                           {"copies.device_to_host.1.alpha", 0.02},
                           {"copies.device_to_host.1.beta", 0.06},
                           {"copies.host_to_device.4.alpha", 0.08},
                           {"copies.host_to_device.4.beta", 0.01, -0.902},
                           {"copies.device_to_host.4.alpha", 0.07},
                           {"copies.device_to_host.4.beta", 0.01, -0.635}});
}

// What is wrong with the printed numbers, as far as the recorded data tell.
TEST(LassenSpectrum, TellsMisprintsFromMeasurements) {
    if (absent("lassen_spectrum")) { GTEST_SKIP() << "no folder " << NODEAWARE_MEASUREMENTS; }
    FitOptions options;
    options.limits[1] = {8192};
    const ModelTable table = fit(read_folder("lassen_spectrum"), options).table;
    // 1.87e-6 is printed; the curve of all small device messages on a socket is at 1.79e-5.
    EXPECT_NEAR(table.path(Memory::device, Locality::socket).postal_of(4).alpha, 1.87e-5, 1e-6);
    // 5.52e-10 is printed; four processes need a tenth of that for each of their bytes.
    EXPECT_NEAR(copy_of(table, Direction::host_to_device, 4).beta, 5.52e-11, 0.1e-11);
}

TEST(LassenSpectrum, HasTheSwitchPointsOfTheMpi) {
    if (absent("lassen_spectrum")) { GTEST_SKIP() << "no folder " << NODEAWARE_MEASUREMENTS; }
    const ModelTable table = fit(read_folder("lassen_spectrum"), {}).table;
    for (const Locality locality : localities) {
        EXPECT_EQ(table.path(Memory::host, locality).short_limit, 128);
        EXPECT_EQ(table.path(Memory::host, locality).eager_limit, 8192);
    }
}

// Two pairs of processes have less than three quarters of the node's rate.
TEST(LassenSpectrum, HasNoInjectionLimitOfTwoPairs) {
    if (absent("lassen_spectrum")) { GTEST_SKIP() << "no folder " << NODEAWARE_MEASUREMENTS; }
    FitOptions options;
    EXPECT_GT(fit(read_folder("lassen_spectrum"), options).table.inverse_injection_rate[0], 0);
    options.most_injecting = 2;
    const FitResult result = fit(read_folder("lassen_spectrum"), options);
    EXPECT_EQ(result.table.inverse_injection_rate[0], 0);
    ASSERT_FALSE(result.not_measured.empty());
    EXPECT_EQ(result.not_measured[0].key, "injection.host");
}

// Tables I to III of the data-movement paper: the recorded data are those of the tables, and the
// switch points are all found. The injection limit is fitted here from larger messages than there.
TEST(LassenMvapich, FitsThePublishedParameters) {
    if (absent("lassen_mvapich")) { GTEST_SKIP() << "no folder " << NODEAWARE_MEASUREMENTS; }
    expect_near_published("lassen_mvapich", "lassen-mvapich2-gdr", {},
                          {{"paths.host.socket.eager.alpha", 0.03},
                           {"paths.host.socket.eager.beta", 0.01},
                           {"paths.host.socket.rendezvous.alpha", 0.01},
                           {"paths.host.socket.rendezvous.beta", 0.01},
                           {"paths.host.node.eager.alpha", 0.02},
                           {"paths.host.node.eager.beta", 0.01},
                           {"paths.host.node.rendezvous.alpha", 0.01},
                           {"paths.host.node.rendezvous.beta", 0.01},
                           {"paths.host.network.eager.alpha", 0.01},
                           {"paths.host.network.eager.beta", 0.01},
                           {"paths.host.network.rendezvous.alpha", 0.01},
                           {"paths.host.network.rendezvous.beta", 0.01},
                           {"paths.device.socket.eager.alpha", 0.03},
                           {"paths.device.socket.eager.beta", 0.01},
                           {"paths.device.socket.rendezvous.alpha", 0.01},
                           {"paths.device.socket.rendezvous.beta", 0.01},
                           {"paths.device.node.eager.alpha", 0.01},
                           {"paths.device.node.eager.beta", 0.01},
                           {"paths.device.node.rendezvous.alpha", 0.01},
                           {"paths.device.node.rendezvous.beta", 0.01},
                           {"paths.device.network.eager.alpha", 0.01},
                           {"paths.device.network.eager.beta", 0.01},
                           {"paths.device.network.rendezvous.alpha", 0.01},
                           {"paths.device.network.rendezvous.beta", 0.01},
                           {"injection.host.seconds_per_byte", 0.01, 0.161},
                           {"copies.host_to_device.1.alpha", 0.01},
                           {"copies.host_to_device.1.beta", 0.02},
                           {"copies.device_to_host.1.alpha", 0.01},
                           {"copies.device_to_host.1.beta", 0.01},
                           {"copies.host_to_device.other_socket.1.alpha", 0.01},
                           {"copies.host_to_device.other_socket.1.beta", 0.01},
                           {"copies.device_to_host.other_socket.1.alpha", 0.01},
                           {"copies.device_to_host.other_socket.1.beta", 0.01}});
}

TEST(MeasurementFiles, EveryRecordedFileCanBeRead) {
    if (absent("")) { GTEST_SKIP() << "no folder " << NODEAWARE_MEASUREMENTS; }
    int files = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(NODEAWARE_MEASUREMENTS)) {
        if (entry.path().extension() != ".txt") { continue; }
        EXPECT_NO_THROW(read_measurements(entry.path(), {})) << entry.path();
        ++files;
    }
    EXPECT_GE(files, 13);
}

TEST(MeasurementFiles, PingPong) {
    const Measurements read = parse_measurements("Profiling Standard CPU Ping-Pongs:\n"
                                                 "CPU 0 and CPU 1:\t1e-6\t2e-6\t\n"
                                                 "CPU 1 and CPU 2:\t3e-6\n"
                                                 "Profiling GPU Ping-Pongs\n"
                                                 "GPU on rank 3 and GPU on rank 4:\t5e-6\n",
                                                 "ping_pong.txt", {});
    ASSERT_EQ(read.pairs.size(), 3U);
    EXPECT_EQ(read.pairs[0].locality, Locality::socket);
    ASSERT_EQ(read.pairs[0].points.size(), 2U);
    EXPECT_EQ(read.pairs[0].points[1].bytes, 8);
    EXPECT_EQ(read.pairs[0].points[1].seconds, 2e-6);
    EXPECT_EQ(read.pairs[1].locality, Locality::node);
    EXPECT_EQ(read.pairs[2].locality, Locality::network);
    EXPECT_EQ(read.pairs[2].memory, Memory::device);
}

TEST(MeasurementFiles, Copies) {
    const Measurements read = parse_measurements("Memcpy Host To Device:\n"
                                                 "CPU 0, GPU 1:\t1e-5\n"
                                                 "Memcpy Device To Host:\n"
                                                 "CPU 0, GPU 2:\t2e-5\n"
                                                 "Memcpy Device To Device:\n"
                                                 "CPU 0, GPU 0 <-> GPU 1:\t2e-5\n",
                                                 "memcpy.txt", {});
    ASSERT_EQ(read.copies.size(), 2U);
    EXPECT_EQ(read.copies[0].direction, Direction::host_to_device);
    EXPECT_TRUE(read.copies[0].same_socket);
    EXPECT_EQ(read.copies[1].direction, Direction::device_to_host);
    EXPECT_FALSE(read.copies[1].same_socket);
    const Measurements shared = parse_measurements(
        "Memcpy Host To Device Mult:\nNP 3\n1e-5\t2e-5\n", "memcpy_mult.txt", {});
    ASSERT_EQ(shared.copies.size(), 1U);
    EXPECT_EQ(shared.copies[0].processes, 4);
    EXPECT_EQ(shared.copies[0].points[1].bytes, 8);
}

TEST(MeasurementFiles, SimultaneousMessages) {
    const std::string text = "Timing Max-Rate CPU Ping-Pongs\nSize 16\t1e-6\t2e-6\n";
    const Measurements each = parse_measurements(text, "a/maxrate.txt", {});
    ASSERT_EQ(each.simultaneous.size(), 2U);
    EXPECT_EQ(each.simultaneous[1].processes, 2);
    EXPECT_EQ(each.simultaneous[1].bytes, 64);
    EXPECT_EQ(each.simultaneous[1].seconds, 2e-6);
    const Measurements split = parse_measurements(text, "a/node_pong.txt", {});
    EXPECT_EQ(split.simultaneous[1].bytes, 32);
}

TEST(MeasurementFiles, SaysWhatIsWrongAndWhere) {
    EXPECT_EQ(complaint_of_run("hello\n"),
              "run.txt:1: does not start with the heading of a known benchmark");
    EXPECT_EQ(complaint_of_run(""), "run.txt:0: holds no measurements");
    EXPECT_EQ(complaint_of_run("Profiling Standard CPU Ping-Pongs:\nCPU 0 and CPU 1:\t1e-6\tx\n"),
              "run.txt:2: \"x\" is not a time in seconds");
    EXPECT_EQ(complaint_of_run("Profiling Standard CPU Ping-Pongs:\nCPU 0 and CPU 1:\n"),
              "run.txt:2: has no times: is the file cut off?");
    EXPECT_EQ(complaint_of_run("Profiling Standard CPU Ping-Pongs:\nCPU 0 and\n"),
              "run.txt:2: a row without its name and a colon");
    EXPECT_EQ(complaint_of_run("Profiling Standard CPU Ping-Pongs:\nCPU 0:\t1e-6\n"),
              "run.txt:2: a row whose name does not hold two numbers");
    EXPECT_EQ(complaint_of_run("Memcpy Host To Device Mult:\n1e-6\n"),
              "run.txt:2: times before the first NP");
    EXPECT_EQ(complaint_of_run("Timing Max-Rate CPU Ping-Pongs\nSize\n"),
              "run.txt:2: a row that does not start with its size");
}

// As schedulers end the output of a job.
TEST(MeasurementFiles, EndWhereTheSchedulerBegins) {
    const std::string footer = "\n------------------------------------------------------------\n"
                               "Sender: LSF System <lsfadmin@batch4>\n"
                               "Started at Mon Jan 20 10:11:12 2020\n"
                               "Resource usage summary:\n\n"
                               "    CPU time :                                   59.10 sec.\n"
                               "    Max Threads :                                10 on 2: 3\n";
    for (const std::string run : {"Profiling Standard CPU Ping-Pongs:\nCPU 0 and CPU 1:\t1e-6\n",
                                  "Memcpy Device To Device:\nCPU 0, GPU 0 <-> GPU 1:\t2e-5\n",
                                  "Memcpy Host To Device Mult:\nNP 3\n1e-5\t2e-5\n",
                                  "Timing Max-Rate CPU Ping-Pongs\nSize 16\t1e-6\t2e-6\n",
                                  "Timing CPU Multiple Messages\nSize 16\t1e-6\t2e-6\n"}) {
        const Measurements alone = parse_measurements(run, "run.txt", {});
        EXPECT_TRUE(alone.notes.empty()) << run;
        Measurements read = parse_measurements(run + footer, "run.txt", {});
        const auto lines = std::count(run.begin(), run.end(), '\n');
        EXPECT_EQ(read.notes, std::vector<std::string>{"run.txt:" + std::to_string(lines + 2) +
                                                       ": ignored from here on: no measurements"});
        read.notes.clear();
        EXPECT_EQ(read, alone) << run;
        EXPECT_EQ(complaint_of_run(run + footer + run),
                  "run.txt:" + std::to_string(lines + 2) + ": is no measurement, but more follow");
    }
}

TEST(MeasurementFiles, ThatAreCutOffAreNoFooters) {
    const std::string pairs = "Profiling Standard CPU Ping-Pongs:\nCPU 0 and CPU 1:\t1e-6\n";
    EXPECT_EQ(complaint_of_run(pairs + "CPU 0 and CPU"),
              "run.txt:3: a row without its name and a colon");
    EXPECT_EQ(complaint_of_run(pairs + "CPU 0 and CPU 2:\t1e-6\tx\nbye\n"),
              "run.txt:3: \"x\" is not a time in seconds");
    EXPECT_EQ(complaint_of_run("Timing Max-Rate CPU Ping-Pongs\nSize 1\t1e-6\nSize"),
              "run.txt:3: a row that does not start with its size");
    EXPECT_EQ(complaint_of_run("Memcpy Host To Device Mult:\nNP 3\n1e-5\n1e-5\t2e-\n"),
              "run.txt:4: \"2e-\" is not a time in seconds");
}

namespace {

Measurements some_measurements() {
    Measurements some;
    some.pairs = {{Memory::host, Locality::node, {{4, 1e-6}, {8, 1.1e-6}}},
                  {Memory::device, Locality::network, {{4, 1e-5}}}};
    some.copies = {{Direction::device_to_host, false, 4, {{16, 2e-5}}}};
    some.simultaneous = {{Memory::host, 3, 64, 1e-6}, {Memory::device, 2, 32, 2e-6}};
    some.shared_copies = {{1000, 2e-7}, {3000, 4e-7}};
    some.flag_latencies = {3e-7, 1e-7, 2e-7};
    return some;
}

std::string json_complaint_of(const std::string& text, const std::string& from,
                              const std::string& to) {
    return complaint_of_reader(
        [&] { measurements_from_json(replaced(text, from, to), "run.json"); });
}

} // namespace

TEST(MeasurementJson, WhatIsWrittenIsReadAgain) {
    const Measurements some = some_measurements();
    EXPECT_EQ(measurements_from_json(to_json_text(some), "text"), some);
    EXPECT_EQ(measurements_from_json(to_json_text(Measurements()), "text"), Measurements());
}

TEST(MeasurementJson, SaysWhatIsWrongAndWhere) {
    const std::string good = to_json_text(some_measurements());
    EXPECT_EQ(json_complaint_of(good, "\"version\": 1", "\"version\": 7"),
              "run.json: version: is 7, this library reads up to 2");
    EXPECT_EQ(json_complaint_of(good, "\"seconds\"", "\"ns\""),
              "run.json: units.time: must be seconds");
    EXPECT_EQ(json_complaint_of(good, "\"node\"", "\"rack\""),
              "run.json: pairs[0].locality: is rack, must be one of socket node network");
    EXPECT_EQ(json_complaint_of(good, "1e-06", "0"),
              "run.json: pairs[0].points: has a time that is not above 0");
    EXPECT_EQ(json_complaint_of(good, "1e-06", "1,2"),
              "run.json: pairs[0].points: must be a list of rows of 2 numbers, has [4.0,1,2]");
    EXPECT_TRUE(json_complaint_of(good, "}", "").starts_with("run.json: not JSON, or cut off"));
}

TEST(MeasurementJson, SharedMemoryIsFitted) {
    // The copies gain 2000 bytes in 2e-7 s; the median flag takes 2e-7 s.
    const FitResult result = fit(some_measurements(), {});
    ASSERT_TRUE(result.table.shared_memory);
    EXPECT_NEAR(result.table.shared_memory->copy_rate, 1e10, 1);
    EXPECT_EQ(result.table.shared_memory->flag_latency, 2e-7);
}

} // namespace nodeaware::tuning
