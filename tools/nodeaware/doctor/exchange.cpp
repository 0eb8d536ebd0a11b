#include "tools/nodeaware/doctor/exchange.hpp"

#include "runtime/job/options.hpp"
#include "runtime/mpi/mpi.hpp"
#include "tools/nodeaware/doctor/facts.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <numeric>
#include <optional>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace nodeaware::tool::doctor {

namespace {

constexpr int rounds = 3;

void check(int code, const char* function) {
    if (code != MPI_SUCCESS) { throw MpiError(code, function); }
}

/// Where the library writes its report, as text: no file is left behind, however the job ends.
class Report {
  public:
    Report() {
        if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) { ends_ = {-1, -1}; }
    }
    ~Report() {
        for (const int end : ends_) {
            if (end >= 0) { close(end); }
        }
    }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[1]); }
    std::string text() const {
        std::string text;
        std::array<char, 4096> block{};
        for (ssize_t length = 0; (length = read(ends_[0], block.data(), block.size())) > 0;) {
            text.append(block.data(), static_cast<size_t>(length));
        }
        return text;
    }

  private:
    std::array<int, 2> ends_{};
};

/// The job's, but for files that it would write, and with a strategy that takes every call.
void set_up_library(const Report& report) {
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
    setenv("NODEAWARE_STRATEGY", exchange_strategy, 1);
    setenv("NODEAWARE_REPORT", report.path().c_str(), 1);
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

/// What is behind `begin` in "  rerouted by three_step (12 calls)".
std::optional<std::string> reason_in(const std::string& line, const std::string& begin) {
    const size_t end = line.rfind(" (");
    if (!line.starts_with(begin) || end == std::string::npos) { return std::nullopt; }
    return line.substr(begin.size(), end - begin.size());
}

/// What the library says that it has done.
void read_report(const std::string& text, ExchangeFacts& facts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        facts.has_report = true;
        facts.is_rerouted = facts.is_rerouted || reason_in(line, "  rerouted by ");
        if (const auto reason = reason_in(line, "  left to MPI: ")) {
            facts.left_to_mpi.push_back(*reason);
        }
    }
}

} // namespace

std::string exchange(int argc, char** argv) {
    const Report report;
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
    read_report(report.text(), facts);
    return to_text(facts);
}

} // namespace nodeaware::tool::doctor
