#pragma once

#include "tuning/model_table.hpp"

#include <cstdint>
#include <string>

namespace nodeaware::tool {

/// Every process of `nodes` nodes with `ppn` processes each sends `messages` messages of `bytes`
/// to other nodes.
struct ExplainedPattern {
    int nodes = 2;
    int ppn = 4;
    int64_t messages = 0; ///< dealt out evenly over the other nodes' processes; 0: one to each
    uint64_t bytes = 1024;
    std::string memory = "host"; ///< of explained_memories
};

/// Where the messages begin and end: devices that the MPI does not know, or does.
inline constexpr const char* explained_memories[] = {"host", "device", "device-aware"};

/// Prints what the forecast, by which strategy `auto` begins, says of the candidates for one node
/// pair, cheapest first, and by how much each other one is worse. Throws TableError.
void explain(const tuning::ModelTable& table, const ExplainedPattern& pattern, bool as_json);

} // namespace nodeaware::tool
