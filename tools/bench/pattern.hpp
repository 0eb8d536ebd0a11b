// Who sends how many bytes to whom.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Message {
    int source;
    int destination;
    std::int64_t bytes;
};

struct Pattern {
    std::string spec;  // as on the command line, lists expanded
    std::string label; // short, for the table
    bool uniform = false;
    std::vector<Message> messages; // sorted, one per pair of ranks
};

struct PatternOptions {
    bool periodic = false;
    bool fixed_sizes = false;
    std::array<int, 3> grid{}; // of the halo patterns; zeroes: as MPI_Dims_create makes it
};

// All patterns of one specification: numbers may be lists, "uniform:8/4K" is two patterns.
// No MPI communication; throws InputError.
std::vector<Pattern> make_patterns(const std::string& spec, int ranks,
                                   const PatternOptions& options);

// Collective: rank 0 makes the patterns (and reads the files), the others get them from it.
std::vector<Pattern> share_patterns(const std::vector<std::string>& specs,
                                    const PatternOptions& options, MPI_Comm comm);

// Collective: all ranks get the pattern that rank 0 has.
void share_pattern(Pattern& pattern, MPI_Comm comm);

std::string pattern_help();

// Sorted, and messages between the same two ranks made one.
std::vector<Message> merged(std::vector<Message> messages);

} // namespace bench
