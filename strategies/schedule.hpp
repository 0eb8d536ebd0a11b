#pragma once

#include "strategies/carrier.hpp"
#include "strategies/strategy.hpp"
#include "strategies/traffic.hpp"

#include <cstdint>
#include <vector>

namespace nodeaware {

/// What one rank does in one step. "Item" is a position in the rank's own list of outgoing or
/// incoming messages.
enum class Action : uint8_t {
    copy,       ///< from outgoing `item` to incoming `other_item`: a message of the rank to itself
    pack,       ///< bytes of outgoing `item` into the arena
    unpack,     ///< bytes of the arena into incoming `item`
    send_piece, ///< a packed piece from the arena to rank `peer`
    receive_piece,  ///< a piece from rank `peer` into the arena
    send_direct,    ///< outgoing `item` to rank `peer`
    receive_direct, ///< incoming `item` from rank `peer`
    stage,          ///< bytes of outgoing `item` into the rank's slab
    fetch,          ///< bytes of rank `peer`'s slab into the arena
    hold,           ///< nothing, but when the step may start: so long is a slab in use, for example
    open,           ///< begins a carrier, with the table of what the node itself has for others
    pass_on,        ///< bundles of a carrier that has come into one that leaves
    send_carrier,   ///< part `segment` of a carrier to rank `peer`, if there is one
    receive_carrier, ///< likewise from rank `peer`
    unpack_carried,  ///< bytes of a bundle that has come into incoming `item`
    check_carried,   ///< bundles of nodes from which nobody here expects anything
};

struct Step {
    static constexpr int32_t none = -1;
    static constexpr uint64_t no_piece = ~uint64_t{0};
    static constexpr uint32_t not_listed = ~uint32_t{0}; ///< position of a step of the prologue
    static constexpr uint32_t wakes_nobody = ~uint32_t{0};

    Action action = Action::copy;
    int32_t peer = none; ///< the rank at the other end; unpack: that sent the piece; fetch: owner
    uint32_t item = 0;
    uint32_t other_item = 0; ///< copy: the incoming item
    uint64_t offset = 0;     ///< pack, unpack: where within the message
    /// Payload; receive_piece: what is expected; open: of the carrier; pass_on, receive_carrier:
    /// what there is room for.
    uint64_t bytes = 0;
    /// Offset in the arena: of the payload for pack, of the header for pieces and carriers;
    /// pass_on: of the carrier that leaves.
    uint64_t arena = 0;
    uint64_t slab = 0; ///< stage, fetch: offset in the slab
    /// unpack: offset of the piece's header, or no_piece for on-node messages; pass_on,
    /// unpack_carried, check_carried: of the carrier that has come.
    uint64_t piece = no_piece;
    uint64_t within = 0;      ///< unpack_carried: offset in the bundle
    uint64_t fingerprint = 0; ///< pieces, bundles and their unpacking: of the pair's traffic
    /// unpack, unpack_carried: position in the piece or carrier, where it has a table;
    /// send_carrier, receive_carrier: number of the part.
    uint32_t segment = 0;
    /// send_piece: table to send along, see PieceHeader; open: in Schedule::opened; pass_on and
    /// check_carried (whose ranks stand for the nodes): in Schedule::passed; send_carrier,
    /// receive_carrier: how many bundles it has.
    uint32_t first_table_entry = 0;
    uint32_t table_entries = 0;
    int32_t wait = none; ///< counter that must have reached `needed` before the step may start
    uint32_t needed = 0;
    int32_t signal = none; ///< counter to increment when the step is done
    /// Others need not be woken before that counter is there; 0: every time.
    uint32_t wakes_at = 0;
    int32_t after = none; ///< a step of the list that must have begun before
};

/// Bytes of a piece: MPI counts are int.
inline constexpr uint64_t largest_piece = uint64_t{1} << 30;

/// First bytes of every piece.
struct PieceHeader {
    uint64_t fingerprint = 0; ///< PairTraffic::fingerprint(): both ends must mean the same traffic
    uint32_t call = 0;        ///< number of the operation on its communicator
    /// If not 0, a table of this many uint64_t follows: where each segment begins, counted from the
    /// header. It is sent when segments that carry the same bytes were packed once.
    uint32_t table_entries = 0;
};

/// What one rank does in one operation. The ranks of a node share an arena (memory) and counters,
/// all zero at the beginning. Every rank executes its prologue in any order; when all ranks of the
/// node have done so, the steps follow, each when its counter allows, in any order but for one
/// rule: pieces to the same peer leave in the order of the list (`after`), as do direct messages,
/// and receives are posted likewise.
struct Schedule {
    /// Pack and open only, without waiting. Where a rank has to wait for what it packs, what leaves
    /// the node is packed by steps, so that what is there first leaves first.
    std::vector<Step> prologue;
    std::vector<Step> steps;
    std::vector<uint64_t> tables;
    std::vector<CarrierEntry> opened;
    std::vector<PassedEntry> passed;
    carriers::Cut cut;        ///< of carriers; at least their table is in the first part
    uint64_t arena_bytes = 0; ///< used by this node, the same number on all its ranks
    uint32_t counters = 0;    ///< likewise
    bool truncated = false;   ///< an on-node message to this rank does not match what it expects

    /// Of this rank, for reports: messages that cross nodes.
    uint64_t node_messages_sent = 0;
    uint64_t node_bytes_sent = 0;
};

/// Most counters that a schedule on this topology can need.
uint32_t counter_limit(const Topology& topology);

/// Arena bytes of one operation for what leaves the node, and as many for what enters it; the rest
/// is for messages that stay on the node.
constexpr uint64_t wire_share(uint64_t arena_bytes) { return arena_bytes / 8 * 3; }

/// Smallest Parameters::arena_bytes with which every exchange on this topology can run.
uint64_t smallest_arena(const Topology& topology);

/// The part of rank `rank` in moving the traffic of its node by `strategy`. The ranks of the node
/// must pass the same traffic; then their schedules fit together, and with those of the other
/// nodes.
Schedule compile_schedule(const Topology& topology, const NodeTraffic& traffic,
                          const Strategy& strategy, const Parameters& parameters, int rank);

} // namespace nodeaware
