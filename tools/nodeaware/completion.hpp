#pragma once

#include "tools/nodeaware/command_tree.hpp"

#include <string>
#include <vector>

/// What shells complete of `commands`, of which the first is the program itself.
namespace nodeaware::tool {

/// A script for the folder of bash-completion, which works without bash-completion, too.
std::string bash_completion(const std::vector<DescribedCommand>& commands);

/// The function `_nodeaware` for a folder of zsh's $fpath.
std::string zsh_completion(const std::vector<DescribedCommand>& commands);

} // namespace nodeaware::tool
