#pragma once

#include "runtime/job/world.hpp"

#include <string>

namespace nodeaware::trace {

/// What is known when the job has come to its end (seconds).
struct Ended {
    bool is_complete = false;
    double wall = 0;
    double in_calls = 0;      ///< of all ranks
    double most_in_calls = 0; ///< of one rank
};

/// Writes manifest.json into the folder of the trace. Returns errno, or 0.
int write_manifest(const World& world, const std::string& job, const Ended& ended);

} // namespace nodeaware::trace
