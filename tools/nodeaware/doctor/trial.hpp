#pragma once

#include <string>
#include <vector>

namespace nodeaware::tool::doctor {

/// What became of a command that was run.
struct Trial {
    bool is_out_of_time = false;
    int status = 0;              ///< exit status, or 128 and the signal
    double seconds = 0;          ///< that it took
    bool wants_terminal = false; ///< it was ended as it wanted to read from there
    std::string output;          ///< of its stdout, the lines with the mark
    std::string errors;          ///< beginning and end of its stderr
};

/// Runs the command, and ends it with all that it has started in its process group when its time is
/// over. Where a signal is to end this process (SIGINT, SIGTERM, SIGHUP) it ends the command
/// before. Throws LaunchError where it cannot be run.
Trial try_out(const std::vector<std::string>& command, const std::string& mark,
              double most_seconds);

} // namespace nodeaware::tool::doctor
