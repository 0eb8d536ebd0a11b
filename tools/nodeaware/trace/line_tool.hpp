#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// Asks addr2line (of binutils or LLVM, found on PATH) for the functions and lines of addresses in
/// a file. Returns as many as there are addresses, each with the innermost place first, or with
/// none where nothing is known or the time is over.
std::vector<std::vector<SourcePlace>> ask_line_tool(const std::string& file,
                                                    const std::vector<uint64_t>& addresses,
                                                    std::chrono::steady_clock::time_point until);

/// What addr2line -a -f -i prints, read back for `count` addresses.
std::vector<std::vector<SourcePlace>> read_line_tool(const std::string& said, size_t count);

} // namespace nodeaware::tool
