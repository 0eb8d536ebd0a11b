#include "tools/nodeaware/trace/analysis.hpp"

#include <algorithm>
#include <map>

namespace nodeaware::tool {

namespace {

/// What goes to one rank.
struct Sent {
    int peer; ///< in the communicator
    uint64_t bytes;
    size_t data;   ///< the block whose memory it is sent from
    size_t values; ///< the same, or another one that had equal values
};

std::vector<Sent> sent_by(const TracedPattern& pattern, size_t ranks) {
    std::vector<Sent> list;
    const auto first = [](const std::vector<int>& firsts, size_t i) {
        return firsts.empty() ? i : static_cast<size_t>(firsts[i]);
    };
    // To all neighbours an allgather sends the same.
    const bool gathers = pattern.function.find("allgather") != std::string::npos;
    for (size_t i = 0; i < pattern.to.size(); ++i) {
        const auto& [peer, bytes] = pattern.to[i];
        if (peer < 0) { continue; }
        const size_t data = gathers ? 0 : first(pattern.data, i);
        list.push_back({peer, bytes, data, first(pattern.values, data)});
    }
    const bool is_to_all = pattern.to.size() == 1 && pattern.to.front().first < 0;
    for (size_t i = 0; is_to_all && i < ranks; ++i) {
        list.push_back(
            {static_cast<int>(i), pattern.to.front().second, i, first(pattern.values, i)});
    }
    return list;
}

/// Bytes that come to a node more than once.
class Repeats {
  public:
    void add(int node, size_t what, uint64_t bytes) {
        uint64_t& most = largest_[{node, what}];
        repeated_ += std::min(most, bytes);
        most = std::max(most, bytes);
    }
    uint64_t bytes() const { return repeated_; }

  private:
    std::map<std::pair<int, size_t>, uint64_t> largest_;
    uint64_t repeated_ = 0;
};

} // namespace

RepeatedBytes repeated_bytes(const RankTrace& rank, const TracedPattern& pattern,
                             const std::vector<int>& nodes) {
    const bool can_be = !pattern.data.empty() || !pattern.values.empty() ||
                        pattern.function.find("allgather") != std::string::npos;
    if (pattern.communicator < 0 || !can_be) { return {}; }
    const auto& members = rank.communicators[static_cast<size_t>(pattern.communicator)].members;
    const int own = nodes[static_cast<size_t>(rank.rank)];
    Repeats memory;
    Repeats values;
    for (const Sent& sent : sent_by(pattern, members.size())) {
        const int to = members[static_cast<size_t>(sent.peer)];
        if (to < 0 || nodes[static_cast<size_t>(to)] == own) { continue; }
        memory.add(nodes[static_cast<size_t>(to)], sent.data, sent.bytes);
        values.add(nodes[static_cast<size_t>(to)], sent.values, sent.bytes);
    }
    return {memory.bytes(), values.bytes() - memory.bytes()};
}

} // namespace nodeaware::tool
