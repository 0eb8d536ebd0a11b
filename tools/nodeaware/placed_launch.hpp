#pragma once

#include "tools/nodeaware/launch.hpp"

#include <string_view>

namespace nodeaware::tool {

/// The command with what its launcher needs so that ranks lie as a file says that `nodeaware place`
/// has written: words of its own, variables, or both. `path`: of the file, for ranks elsewhere,
/// too. Throws LaunchError where the launcher takes no such file.
std::vector<std::string> placed_by(const std::vector<std::string>& command, const Launch& launch,
                                   const std::string& path, std::string_view content);

} // namespace nodeaware::tool
