#pragma once

#include "runtime/job/report.hpp"
#include "runtime/job/world.hpp"
#include "runtime/trace/recorder.hpp"

#include <string>
#include <utility>
#include <vector>

/// What the report says, and how: as text and as JSON.
namespace nodeaware::report {

/// A number that each rank has.
struct Spread {
    double least = 0;
    double mean = 0;
    double most = 0;
    int least_rank = 0;
    int most_rank = 0;
};

/// Communicators of one name and size. Collective exchanges are counted as their rank 0 has seen
/// them.
struct CommunicatorRow {
    std::string name; ///< as the program calls it; empty: not at all
    int ranks = 0;    ///< 0: several sizes and names, of which there were too many
    uint64_t communicators = 0;
    uint64_t exchanges = 0;
    uint64_t messages = 0; ///< calls that send, receive, or complete such
    double seconds = 0;    ///< in all these calls
    /// Exchanges by how they travelled.
    std::vector<std::pair<std::string, uint64_t>> ways;
};

/// Where the time of one rank went (seconds).
struct Times {
    enum Kind { wall, exchanges, messages, others, files, in_calls, kinds };
    std::array<double, kinds> seconds{};
    std::vector<CommunicatorRow> communicators;
};
inline constexpr std::array<std::string_view, Times::kinds> names_of_times = {
    "wall", "in_exchanges", "in_messages", "in_other_collectives", "in_files", "in_calls"};

/// Of what has been recorded so far. `only_led`: only communicators whose rank 0 this rank is.
Times times_of(const trace::Contents& contents, double wall, bool only_led);

struct Facts {
    // Known from the beginning.
    std::string library;
    std::string mpi;
    std::string model; ///< table
    int ranks = 1;
    int nodes = 1;
    int machines = 1;
    bool nodes_are_virtual = false;
    bool observes = false;
    std::vector<std::string_view> strategies; ///< names, which outlive their list

    // Known at the end.
    std::string end = "MPI_Finalize"; ///< how the program ended
    int only_rank = -1;               ///< of one rank; -1: of all
    Counted counted;
    std::vector<Report::Note> notes;
    bool has_times = false;
    std::array<Spread, Times::kinds> times{};
    std::vector<CommunicatorRow> communicators; ///< those with most calls first
};

/// What is known from the beginning. Local. Throws MpiError.
Facts facts_of(const World& world);

/// What one rank knows when the program ends otherwise. Calls no function of MPI. `times` is
/// nullptr where there are none.
void add_own(Facts& facts, int rank, Counted counted, const Times* times);
/// What all ranks know, on rank 0. Collective over MPI_COMM_WORLD; `times` is nullptr where this
/// rank has none. Throws MpiError.
void add_all(Facts& facts, const World& world, Counted counted, std::vector<Report::Note> notes,
             const Times* times);

std::string text_of(const Facts& facts);
std::string json_of(const Facts& facts);

/// Adds rows of the same name and size together, those with most calls first, and what is beyond
/// `most` rows to one.
std::vector<CommunicatorRow> merged(const std::vector<CommunicatorRow>& rows, size_t most);
/// Rows as bytes, to be sent to another rank, and back; throws nothing that other ranks wait for.
std::string packed(const std::vector<CommunicatorRow>& rows);
std::vector<CommunicatorRow> unpacked(std::string_view bytes);

} // namespace nodeaware::report
