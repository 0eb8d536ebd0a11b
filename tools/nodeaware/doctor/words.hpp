#pragma once

#include "tools/nodeaware/elf.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nodeaware::tool::doctor {

/// "rank 3", "ranks 0-3, 7". They are in order.
std::string ranks_in_words(const std::vector<int>& ranks);
/// "1 rank", "4 ranks".
std::string counted(std::int64_t count, const std::string& thing);
/// "128 MiB", rounded down.
std::string bytes_in_words(std::uint64_t bytes);
std::string joined(const std::vector<std::string>& parts, const std::string& separator = ", ");
/// The name of a file without its folder.
std::string name_in(const std::string& path);

} // namespace nodeaware::tool::doctor
