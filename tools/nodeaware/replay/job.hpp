#pragma once

#include "tools/nodeaware/replay/outcome.hpp"

#include <map>
#include <string>
#include <vector>

namespace nodeaware::tool::replay {

/// How patterns are replayed, whatever the strategy.
struct Job {
    std::vector<std::string> launcher;           ///< "mpirun -n 4", without a program
    std::vector<std::string> arguments;          ///< of nodeaware_replay
    std::map<std::string, std::string> settings; ///< of the library, as in NODEAWARE_NAME
    bool preloads = true;                        ///< false: the launcher's command line does it
};

/// Runs the patterns by a strategy, to the end; what was measured, by their numbers. What else the
/// job prints goes to stderr. Throws LaunchError, or std::runtime_error where the job fails.
std::map<int, Measured> run_by(const std::string& strategy, const std::vector<int>& patterns,
                               const Job& job);

} // namespace nodeaware::tool::replay
