#include "tools/nodeaware/trace/analysis.hpp"

#include <algorithm>
#include <map>

namespace nodeaware::tool {

namespace {

/// The block whose memory block i is sent from. To all neighbours an allgather sends the same.
size_t data_of(const TracedPattern& pattern, size_t i) {
    if (pattern.function.find("allgather") != std::string::npos) { return 0; }
    return pattern.data.empty() ? i : static_cast<size_t>(pattern.data[i]);
}

} // namespace

uint64_t repeated_bytes(const RankTrace& rank, const TracedPattern& pattern,
                        const std::vector<int>& nodes) {
    const bool can_be =
        !pattern.data.empty() || pattern.function.find("allgather") != std::string::npos;
    if (pattern.communicator < 0 || !can_be) { return 0; }
    const auto& members = rank.communicators[static_cast<size_t>(pattern.communicator)].members;
    const int own = nodes[static_cast<size_t>(rank.rank)];
    std::map<std::pair<int, size_t>, uint64_t> largest; // by node and memory
    uint64_t all = 0;
    for (size_t i = 0; i < pattern.to.size(); ++i) {
        const auto& [peer, bytes] = pattern.to[i];
        const int to = peer < 0 ? -1 : members[static_cast<size_t>(peer)];
        if (to < 0 || nodes[static_cast<size_t>(to)] == own) { continue; }
        uint64_t& most = largest[{nodes[static_cast<size_t>(to)], data_of(pattern, i)}];
        most = std::max(most, bytes);
        all += bytes;
    }
    for (const auto& [where, bytes] : largest) { all -= bytes; }
    return all;
}

} // namespace nodeaware::tool
