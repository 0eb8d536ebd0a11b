#pragma once

#include <string>
#include <vector>

namespace nodeaware::tool::doctor {

/// What became of a command that was run.
struct Trial {
    bool is_out_of_time = false;
    int status = 0;     ///< exit status, or 128 and the signal
    double seconds = 0; ///< that it took
    std::string output; ///< its stdout
    std::string errors; ///< its stderr
};

/// Runs the command, and ends it with all that it has started in its process group when its time is
/// over. Throws LaunchError where it cannot be run.
Trial try_out(const std::vector<std::string>& command, double most_seconds);

} // namespace nodeaware::tool::doctor
