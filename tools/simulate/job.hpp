#pragma once

#include "tools/bench/pattern.hpp"
#include "tools/simulate/platform.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nodeaware::simulation {

/// A job that makes the same exchange again and again, and then others likewise.
struct JobSettings {
    tuning::ModelTable table;
    Platform::Shape shape;
    MessageShares shares;
    std::string operation = "alltoallv";
    int calls = 1;        ///< that count, after those
    int calls_before = 1; ///< in which the library may learn
    std::string core;     ///< file; empty: MPI alone
};

struct JobResult {
    double seconds = 0;        ///< of a call: the median, each of its slowest rank
    double first_seconds = 0;  ///< of the first call
    Platform::Traffic traffic; ///< between nodes, of the last call
    int64_t wrong_bytes = 0;
};

/// Is told what a pattern, by its number, has taken: as soon as that is known.
using Tell = std::function<void(size_t pattern, const JobResult& result)>;

/// Runs it with these patterns, one after the other, in this process, which can do so once: what
/// the library takes from the environment is its configuration. Throws TableError and
/// std::runtime_error.
void run_job(std::span<const bench::Pattern* const> patterns, const JobSettings& settings,
             const Tell& tell);

} // namespace nodeaware::simulation
