#pragma once

#include "strategies/costs.hpp"
#include "strategies/topology.hpp"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

/// Batches of point-to-point messages that were learned: which of them travel together, and what
/// that is thought to cost. Pure.
namespace nodeaware::batches {

/// A message that a rank sends to another node again and again.
struct Stream {
    int32_t destination = 0;
    int32_t tag = 0;
    uint64_t bytes = 0;
    bool operator==(const Stream&) const = default;
    bool operator<(const Stream& other) const {
        return std::tie(destination, tag, bytes) <
               std::tie(other.destination, other.tag, other.bytes);
    }
};

/// What a rank posts together, and how often it did of late.
struct Batch {
    std::vector<Stream> streams; ///< ascending
    uint64_t repetitions = 0;
    uint64_t times = 0; ///< that it has been seen at all
};

/// `[local][k]`: batch k of each rank of a node.
using NodeBatches = std::vector<std::vector<Batch>>;

/// Messages of one batch from ranks of a node to ranks of another one, which travel as one.
struct Container {
    struct Member {
        int local = 0; ///< the rank that sends it, as numbered on its node
        Stream stream;
    };
    size_t batch = 0;
    int node = 0;
    std::vector<Member> members; ///< two or more
};

/// What is expected of a node: for each batch and other node a container of all messages of up to
/// `most_bytes`. The same on all ranks of the node.
std::vector<Container> containers_of(const NodeBatches& batches, const Topology& topology,
                                     uint64_t most_bytes);

/// Messages that the containers save in one repetition of all batches.
uint64_t saved_messages(const std::vector<Container>& containers);

/// Messages that travel by themselves are copied up to so many bytes. Larger ones go from memory to
/// memory, announced by an envelope: what is larger than messages that MPI buffers, and than what
/// is copied in and out in the time that an envelope takes. However slow the network, receivers
/// hold no more than that of each for others.
uint64_t bytes_worth_a_copy(const Costs& costs);
inline constexpr uint64_t envelope_bytes = 24;

/// Seconds that a node is thought to spend on its batches, all of their repetitions.
struct Forecast {
    double by_mpi = 0;   ///< each message by itself
    double gathered = 0; ///< in containers, the others copied and by themselves
};

/// T = alpha m + max(s_node / R_N, s beta) of the busiest rank (equation 4.3 of the node-aware
/// strategies paper), where the node's message rate bounds alpha m from below. Any member of a
/// container may be the one that sends it, so each bears its share. Gathering copies every message
/// three times: into the container, out of it, and out of what has come to its receiver; others
/// that are copied twice.
Forecast forecast(const NodeBatches& batches, const std::vector<Container>& containers,
                  const Costs& costs);

} // namespace nodeaware::batches
