#include "tools/fit/fit.hpp"
#include "tuning_texts.hpp"
#include "tuning_toy_table.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace nodeaware::tuning {

namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone at the end.
class Folder {
  public:
    Folder()
        : path_(fs::temp_directory_path() / ("tuning_table_test." + std::to_string(getpid()))) {
        fs::create_directory(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    fs::path operator/(const char* name) const { return path_ / name; }

  private:
    fs::path path_;
};

/// Values in the order of parameters_of(): alpha and beta of each protocol, by memory and locality;
/// injection; copies.
void expect_parameters(const std::string& name, const std::vector<double>& expected) {
    const auto parameters = parameters_of(find_table(name));
    ASSERT_EQ(parameters.size(), expected.size()) << name;
    for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_DOUBLE_EQ(parameters[i].value, expected[i]) << name << " " << parameters[i].key;
    }
}

} // namespace

TEST(PublishedTables, HoldTheNumbersOfLassen) {
    expect_parameters("lassen-spectrum",
                      {3.67e-07, 1.32e-10, 4.61e-07, 7.12e-11, 3.15e-06, 3.40e-11, // host socket
                       9.25e-07, 1.19e-09, 1.17e-06, 2.18e-10, 6.77e-06, 1.49e-10, // node
                       1.89e-06, 6.88e-10, 2.44e-06, 3.79e-10, 7.76e-06, 7.97e-11, // network
                       1.87e-06, 5.79e-11, 1.82e-05, 1.46e-11,                     // device socket
                       2.02e-05, 2.15e-10, 1.93e-05, 2.39e-11,                     // node
                       8.95e-06, 1.72e-10, 1.10e-05, 1.72e-10,                     // network
                       4.19e-11,                                                   // injection
                       1.30e-05, 1.85e-11, 1.27e-05, 1.96e-11,                     // 1 process
                       1.52e-05, 5.52e-10, 1.47e-05, 1.50e-10});                   // 4 processes
    expect_parameters("lassen-mvapich2-gdr",
                      {3.99e-07, 5.59e-11, 3.62e-06, 3.71e-11, 7.07e-07, 2.23e-10, 1.07e-05,
                       1.42e-10, 1.53e-06, 4.38e-10, 6.90e-06, 4.63e-11,                     //
                       7.09e-07, 5.79e-11, 6.39e-06, 3.38e-11, 1.04e-06, 2.15e-10, 2.61e-05, //
                       4.59e-13, 2.11e-06, 4.91e-10, 6.87e-06, 4.73e-11, 2.5e-11,            //
                       1.33e-05, 1.80e-11, 1.35e-05, 1.75e-11,                               //
                       1.42e-05, 2.84e-11, 1.40e-05, 2.83e-11});
}

TEST(PublishedTables, HoldTheNumbersOfTheOtherMachines) {
    expect_parameters("summit-spectrum",
                      {3.51e-07, 2.62e-10, 4.73e-07, 6.95e-11, 2.46e-06, 3.31e-11, //
                       9.08e-07, 1.46e-09, 1.17e-06, 2.16e-10, 5.81e-06, 1.46e-10, //
                       1.38e-06, 3.82e-10, 1.85e-06, 2.93e-10, 6.56e-06, 8.51e-11, //
                       1.68e-05, 1.86e-11, 1.80e-05, 2.09e-11, 4.96e-06, 1.69e-10, //
                       3.0e-11,  5.1e-11,  1.09e-05, 2.38e-11, 1.09e-05, 2.36e-11, //
                       1.26e-05, 2.71e-11, 1.25e-05, 2.72e-11});
    expect_parameters("blue-waters",
                      {1.1284e-6, 0.8154e-9, 2.3950e-6, 0.0489e-9, 2.1162e-6, 0.0954e-9, //
                       2.2467e-6, 0.3451e-9, 7.1826e-6, 0.5092e-9, 8.9720e-6, 0.1498e-9, //
                       1 / 9.03e9});
    expect_parameters("piz-daint",
                      {0.51055e-6, 0.22926e-9, 0.97865e-6, 0.03879e-9, 0.85828e-6, 0.05603e-9, //
                       1.7416e-6, 0.0041e-9, 4.3080e-6, 0.2224e-9, 5.9433e-6, 0.1083e-9,       //
                       1 / 11.77e9});
}

TEST(PublishedTables, HoldTheHopsOfTheNetworks) {
    const auto links = find_table("blue-waters").network->links;
    ASSERT_EQ(links.size(), 3U);
    EXPECT_EQ(links[1].name, "Y");
    EXPECT_DOUBLE_EQ(links[1].latency, 0.104e-6);
    EXPECT_DOUBLE_EQ(links[1].pings.at("host_hop"), 2.231e-6);
    EXPECT_DOUBLE_EQ(links[1].pings.at("3_hops"), 2.544e-6);
    const auto routed = find_table("piz-daint").network->links;
    ASSERT_EQ(routed.size(), 6U);
    EXPECT_EQ(routed[5].name, "green dynamic");
    EXPECT_DOUBLE_EQ(routed[5].latency, 0.761e-6);
    EXPECT_DOUBLE_EQ(routed[5].pings.at("hop"), 3.639e-6);
}

TEST(PublishedTables, NameTheirSource) {
    EXPECT_EQ(published_table_names(),
              (std::vector<std::string>{"blue-waters", "lassen-mvapich2-gdr", "lassen-spectrum",
                                        "piz-daint", "summit-spectrum"}));
    for (const std::string& name : published_table_names()) {
        const ModelTable table = find_table(name);
        EXPECT_EQ(table.name, name);
        EXPECT_FALSE(table.sources.empty()) << name;
        EXPECT_FALSE(table.fingerprint.mpi.empty()) << name;
    }
}

TEST(TableFile, WhatIsWrittenIsReadAgain) {
    for (const std::string& name : published_table_names()) {
        const ModelTable table = find_table(name);
        EXPECT_EQ(parse_table(to_json_text(table), "text"), table) << name;
    }
    ModelTable toy = toy_table();
    toy.copies.clear(); // their latencies of 100 s and more are refused below
    toy.fingerprint = {"Open MPI", "5.0", "a host", 4, 16, 8, 2, "2026-01-31", "0.1"};
    EXPECT_EQ(parse_table(to_json_text(toy), "text"), toy);
}

TEST(TableFile, SaysWhatIsWrongAndWhere) {
    const std::string good = to_json_text(find_table("lassen-spectrum"));
    EXPECT_EQ(complaint_of(good), "");
    EXPECT_EQ(complaint_of(replaced(good, "\"version\": 1", "\"version\": 7")),
              "file.json: version: is 7, this library reads up to 2");
    EXPECT_EQ(complaint_of(replaced(good, "\"time\": \"seconds\"", "\"time\": \"microseconds\"")),
              "file.json: units.time: must be seconds, is microseconds");
    EXPECT_EQ(complaint_of(replaced(good, "nodeaware-model-table", "recipe")),
              "file.json: format: must be nodeaware-model-table, is recipe");
    EXPECT_EQ(complaint_of(replaced(good, "\"name\":", "\"nam\":")), "file.json: name: is missing");
    EXPECT_EQ(complaint_of(replaced(good, "\"injection\":", "\"injektion\":")),
              "file.json: injektion: is not a key of this format");
    EXPECT_EQ(complaint_of(replaced(good, "\"alpha\": 3.67e-07", "\"alpha\": \"fast\"")),
              "file.json: paths.host.socket.short.alpha: must be a number that is not negative, is "
              "\"fast\"");
    EXPECT_EQ(complaint_of(replaced(good, "\"alpha\": 3.67e-07", "\"alpha\": -3.67e-07")),
              "file.json: paths.host.socket.short.alpha: must be a number that is not negative, is "
              "-3.67e-07");
    EXPECT_EQ(
        complaint_of(replaced(good, "\"alpha\": 3.67e-07", "\"alpha\": 367")),
        "file.json: paths.host.socket.short.alpha: more than 100 seconds for a message: is the "
        "unit seconds?");
    EXPECT_EQ(complaint_of(replaced(good, "\"short_limit\": 128.0", "\"short_limit\": 9000")),
              "file.json: paths.host.socket.eager_limit: is below short_limit");
    EXPECT_EQ(complaint_of(replaced(good, "\"processes\": 1", "\"processes\": 1.5")),
              "file.json: copies[0].processes: must be a whole number, is 1.5");
    EXPECT_EQ(complaint_of(replaced(good, "\"network\": {", "\"sea\": {")),
              "file.json: paths.host.sea: is not a key of this format");
    EXPECT_EQ(complaint_of("[1, 2]"), "file.json: the file: must be an object, is array");
}

TEST(TableFile, CutOffAnywhereIsAnError) {
    const std::string good = to_json_text(find_table("lassen-spectrum"));
    for (size_t length = 0; length + 2 < good.size(); length += 97) {
        EXPECT_TRUE(complaint_of(good.substr(0, length)).starts_with("file.json: not JSON"))
            << length;
    }
    EXPECT_TRUE(complaint_of("\xff\xfe garbage").starts_with("file.json: not JSON"));
}

TEST(TableFile, ABadTableIsReplacedByTheDefault) {
    const Folder folder;
    const std::string path = folder / "table.json";
    std::ofstream(path) << "{\"format\": ";
    const LoadedTable loaded = find_table_or_default(path);
    EXPECT_EQ(loaded.table.name, default_table_name);
    EXPECT_TRUE(loaded.complaint.starts_with(path + ": not JSON")) << loaded.complaint;
    EXPECT_TRUE(loaded.complaint.ends_with("(the table lassen-spectrum is used instead)"));

    const LoadedTable misspelt = find_table_or_default("lasen");
    EXPECT_EQ(misspelt.table.name, default_table_name);
    EXPECT_TRUE(misspelt.complaint.starts_with(
        "lasen: neither a file nor a published model table; those are blue-waters "))
        << misspelt.complaint;

    EXPECT_EQ(find_table_or_default("piz-daint").table.name, "piz-daint");
    EXPECT_EQ(find_table_or_default("piz-daint").complaint, "");
    EXPECT_EQ(find_table_or_default("").complaint, "");
    const std::string here = fs::temp_directory_path();
    EXPECT_TRUE(find_table_or_default(here).complaint.starts_with(here + ": cannot be read"));

    const std::string pipe = here + "/nodeaware-pipe-" + std::to_string(getpid()) + ".json";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::string complaint = find_table_or_default(pipe).complaint;
    fs::remove(pipe);
    EXPECT_TRUE(complaint.starts_with(pipe + ": cannot be read: expected a regular file"))
        << complaint;
}

} // namespace nodeaware::tuning
