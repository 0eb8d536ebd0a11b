#pragma once

#include "strategies/topology.hpp"

#include <cstdint>
#include <functional>
#include <vector>

/// Split as published (algorithm 1 of the node-aware strategies paper), for which a node has to
/// know what it receives from all others; and what messages between nodes cost by the model.
namespace nodeaware::test {

/// A message between two nodes and the ranks that handle it.
struct NodeMessage {
    int sender = 0;
    int receiver = 0;
    uint64_t bytes = 0;
};

/// What every node sends to every other one (bytes): all that either way of splitting looks at.
class Volumes {
  public:
    Volumes(int nodes, const std::function<uint64_t(int from, int to)>& bytes)
        : nodes_(nodes), bytes_(static_cast<size_t>(nodes) * static_cast<size_t>(nodes)) {
        for (int from = 0; from < nodes; ++from) {
            for (int to = 0; to < nodes; ++to) {
                if (from != to) { bytes_[index(from, to)] = bytes(from, to); }
            }
        }
    }
    int nodes() const { return nodes_; }
    uint64_t operator()(int from, int to) const { return bytes_[index(from, to)]; }

  private:
    size_t index(int from, int to) const {
        return static_cast<size_t>(from) * static_cast<size_t>(nodes_) + static_cast<size_t>(to);
    }
    int nodes_;
    std::vector<uint64_t> bytes_;
};

/// Lines 11 to 18 of algorithm 1: pieces up to the cap, which is raised where they would be more
/// than the ranks of the receiving node, received in descending order of size from the first rank
/// on and sent from the last.
std::vector<NodeMessage> as_published(const Topology& topology, const Volumes& volumes,
                                      uint64_t message_cap);

struct Result {
    uint64_t most_messages = 0; ///< that one rank sends or receives
    uint64_t most_bytes = 0;
    double seconds = 0; ///< (4.3) of the node that takes longest to send or to receive
};

/// With the default costs.
Result result_of(const Topology& topology, const std::vector<NodeMessage>& messages);

} // namespace nodeaware::test
