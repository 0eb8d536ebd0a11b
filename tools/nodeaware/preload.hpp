#pragma once

#include "tools/nodeaware/launch.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// The preloaded library, in the folder that has the core for this MPI, too: where this program was
/// built or installed, or the build for the other MPI beside it. Where the MPI is not known, with
/// the core for any: the library takes the one for the MPI that it finds in the process. Throws
/// LaunchError.
std::filesystem::path find_library(std::optional<MpiFlavor> flavor);

/// A program of this installation that is started in a job, as it was built for this MPI: beside
/// this one, or in the build for the other MPI. Throws LaunchError.
std::filesystem::path find_own_program(const std::string& name, MpiFlavor flavor);

/// Settings for the ranks, as NAME=VALUE: those that are `wanted` (by option name, as in
/// NODEAWARE_NAME; empty ones are not), and those of this environment, which a launcher need not
/// hand on to other nodes. Throws LaunchError where one is wrong.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& wanted);

} // namespace nodeaware::tool
