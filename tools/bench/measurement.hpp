// Measures one operation on one pattern, native and rerouted side by side.
#pragma once

#include "operations.hpp"
#include "pattern.hpp"
#include "start_line.hpp"
#include "statistics.hpp"

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

enum class Only { both, native, mpi };

struct Settings {
    int iterations = 20;
    int warmup = 5;
    int repeats = 5;
    int calls = 0;      // not 0: only so many calls, nothing timed
    double rest_ms = 0; // after each of them
    Only only = Only::both;
    bool alternate_repeats = false; // a whole repeat of one form, then one of the other
    StartLine::Mode start = StartLine::Mode::barrier;
    double pause = 0; // seconds, of StartLine
    Memory* memory = nullptr;
    bool native_by_copies = false;     // of each message by itself: this MPI takes none of devices
    bool has_sparse_functions = false; // see has_sparse_functions()
};

// All times in microseconds, all of them the maximum over the ranks.
struct FormResult {
    std::string form;
    double create = 0; // the communicator
    double first = 0;  // the first call on it
    std::vector<Summary> repeats;
    Summary medians; // over the repeats' medians
    std::int64_t late = 0;
    WrongData wrong; // bytes: of all ranks
};

struct CaseResult {
    std::string spec;
    std::string label;
    std::string operation;
    int ranks = 0;
    Summary messages; // per rank, sent to others
    Summary bytes;
    std::vector<FormResult> forms;
    std::vector<double> ratios; // native : rerouted of each repeat
    Summary ratio;

    const FormResult* find(const Form& form) const;
    std::int64_t wrong_bytes() const;
};

// Throws InputError (on all ranks) if a buffer would be larger than int displacements reach.
void check_sizes(const Pattern& pattern, const Operation& operation, int ranks);

// Collective; complete on rank 0, the number of wrong bytes on all.
CaseResult measure(const Pattern& pattern, const Operation& operation, const Settings& settings,
                   MPI_Comm control);

} // namespace bench
