#include "tools/nodeaware/doctor/exchange.hpp"

#include "runtime/job/options.hpp"
#include "runtime/mpi/mpi.hpp"
#include "tools/nodeaware/doctor/facts.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <unistd.h>
#include <vector>

namespace nodeaware::tool::doctor {

namespace {

namespace fs = std::filesystem;

constexpr int rounds = 3;

void check(int code, const char* function) {
    if (code != MPI_SUCCESS) { throw MpiError(code, function); }
}

/// A file of its own for each process: which of them will be rank 0 is not known yet.
fs::path path_of_report() {
    std::error_code error;
    fs::path folder = fs::temp_directory_path(error);
    if (error) { folder = "/tmp"; }
    return folder / ("nodeaware-probe-" + std::to_string(getpid()) + ".json");
}

/// The job's, but for files that it would write, and with a strategy that takes every call.
void set_up_library(const fs::path& report) {
    const ReadOptions read = read_options(process_environment());
    constexpr std::array dropped = {"CONFIG", "LOG_FILE", "TRACE", "TUNING", "MODE", "NVTX"};
    for (size_t i = 0; i < option_table().size(); ++i) {
        const std::string name(option_table()[i].name);
        const bool is_kept = read.settings[i].source != "default" &&
                             std::find(dropped.begin(), dropped.end(), name) == dropped.end();
        const std::string variable = "NODEAWARE_" + name;
        if (is_kept) {
            setenv(variable.c_str(), read.settings[i].value.c_str(), 1);
        } else {
            unsetenv(variable.c_str());
        }
    }
    setenv("NODEAWARE_STRATEGY", "three_step", 1);
    setenv("NODEAWARE_REPORT", report.c_str(), 1);
}

int count(int from, int to) { return 1 + (from + to) % 5; }
int value(int round, int from, int to, int position) {
    return ((round * 31 + from) * 31 + to) * 31 + position;
}

std::vector<int> displacements_of(const std::vector<int>& counts) {
    std::vector<int> displacements(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), 0);
    return displacements;
}

/// Values that this rank has got wrong.
long exchange_once(int round, int rank, int ranks) {
    std::vector<int> counts(static_cast<size_t>(ranks)); // as many from each as to it
    for (int i = 0; i < ranks; ++i) { counts[static_cast<size_t>(i)] = count(rank, i); }
    const std::vector<int> displacements = displacements_of(counts);
    std::vector<int> sent;
    std::vector<int> expected;
    for (int i = 0; i < ranks; ++i) {
        for (int position = 0; position < count(rank, i); ++position) {
            sent.push_back(value(round, rank, i, position));
            expected.push_back(value(round, i, rank, position));
        }
    }
    std::vector<int> received(sent.size(), -1);
    check(MPI_Alltoallv(sent.data(), counts.data(), displacements.data(), MPI_INT, received.data(),
                        counts.data(), displacements.data(), MPI_INT, MPI_COMM_WORLD),
          "MPI_Alltoallv");
    long wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i) { wrong += received[i] != expected[i] ? 1 : 0; }
    return wrong;
}

/// What the library says that it has done; the file goes.
void read_report(const fs::path& path, ExchangeFacts& facts) {
    std::ifstream stream(path);
    const auto report = nlohmann::json::parse(stream, nullptr, false);
    std::error_code error;
    fs::remove(path, error);
    try {
        for (const auto& operation : report.at("operations")) {
            facts.rerouted += operation.at("rerouted").get<long>();
        }
        for (const auto& [reason, calls] : report.at("left_to_mpi").items()) {
            facts.left_to_mpi.push_back(reason);
        }
        facts.has_report = true;
    } catch (const nlohmann::json::exception&) { facts.has_report = false; }
}

} // namespace

std::string exchange(int argc, char** argv) {
    const fs::path report = path_of_report();
    set_up_library(report);
    check(MPI_Init(&argc, &argv), "MPI_Init");
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    long wrong = 0;
    for (int round = 0; round < rounds; ++round) { wrong += exchange_once(round, rank, ranks); }
    ExchangeFacts facts;
    check(MPI_Reduce(&wrong, &facts.wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
    check(MPI_Finalize(), "MPI_Finalize");
    if (rank != 0) { return ""; }
    read_report(report, facts);
    return to_text(facts);
}

} // namespace nodeaware::tool::doctor
