#include "strategies/strategy.hpp"

#include <numeric>

namespace nodeaware {

/// Section 2.3.3, Algorithm 1 of the node-aware strategies paper, of which one thing is different:
/// there, a node raises the cap by all that enters it, and deals all of these messages out to its
/// ranks by size. The sending node does not know what others send there, so both ends would have to
/// be told first. Here a pair's cap depends on the pair alone, and its ranks on where the two nodes
/// stand (sender_of, receiver_of).
///
/// What that costs, by (4.3) with the default costs and a cap of 60 KiB, for 2 to 16 nodes of 4 to
/// 40 ranks and 1 KB to 10 MB between two nodes (tests/unit/split_test.cpp; time of this over that
/// of algorithm 1):
///   all pairs alike                mean 1.01, 0.94 to 1.16 (equal, if a rank has a piece at most)
///   neighbours, one large pair     mean 1.01, 0.94 to 1.15
///   one node gets most             mean 1.02, 1.00 to 1.19
///   half the pairs, 1 : 900        mean 1.02, 0.83 to 1.69 (pieces of two pairs on one rank)
///   fewer ranks than other nodes   mean 1.00 to 1.12, at most 1.35 alike, 1.97 half the pairs
///   products with can_1072         mean 1.08, 1.00 to 1.46
/// What is lost is mostly latency: a rank has a piece for each other node where what enters a node
/// is more than the cap for each rank, and algorithm 1 gives it two. In an MPI_Alltoall both ends
/// do hold the numbers; strategy `model` takes all pairs for alike and is no worse there.
///
/// From devices, "split + MD" is what schedules are in any case: the owner of a message copies each
/// of its bytes once, to the memory of the piece that it travels in, and the sender of the piece,
/// which may have no device, takes it from there; no bytes move on the node beside. For "split +
/// DD" see DeviceCopies: what is gained there is not messages on the node, of which there are none,
/// but only what several processes get of the link to the device.
Plan plan_split(const PairTraffic& pair, const Parameters& parameters) {
    std::vector<uint32_t> all(pair.blocks.size());
    std::iota(all.begin(), all.end(), 0U);
    Plan plan;
    deal_pieces(pair, all, pieces_under_cap(pair, pair.bytes(), parameters.message_cap), plan);
    return plan;
}

} // namespace nodeaware
