#pragma once

#include "tools/nodeaware/command_tree.hpp"

#include <string>
#include <vector>

/// Manual pages, in the macros of man(7).
namespace nodeaware::tool {

/// nodeaware(1): `commands` with their options; the program itself is the first of them.
std::string command_manual(const std::vector<DescribedCommand>& commands);

/// libnodeaware(7): how the library is preloaded, its options, strategies, and files.
std::string library_manual();

} // namespace nodeaware::tool
