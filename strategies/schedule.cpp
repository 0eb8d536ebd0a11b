#include "strategies/schedule.hpp"

#include "strategies/device_copies.hpp"
#include "strategies/piece_layout.hpp"
#include "strategies/relay.hpp"
#include "strategies/step_lists.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace nodeaware {

namespace {

constexpr uint64_t smallest_pair_share = 4 * slot_alignment;

/// Arena bytes that one node pair may use in one direction. Both nodes compute the same number, for
/// it bounds the pieces that pass between them.
uint64_t pair_share(const Topology& topology, uint64_t arena_bytes, const Relay& relay) {
    const auto others = static_cast<uint64_t>(std::max(1, topology.nodes() - 1));
    const uint64_t all = wire_share(arena_bytes);
    const uint64_t share = relay.is_used() ? all - Relay::share(all) : all;
    return share / others / slot_alignment * slot_alignment;
}

/// Most pieces of a pair, in one direction, that are under way at a time.
uint32_t slot_limit(const Topology& topology) {
    return static_cast<uint32_t>(std::max(16, topology.most_ranks_on_a_node()));
}

class Compiler {
  public:
    Compiler(const Topology& topology, const Strategy& strategy, const Parameters& parameters,
             int rank)
        : topology_(topology), strategy_(strategy), parameters_(parameters), rank_(rank),
          relay_(strategy.relays() ? Relay(topology, parameters) : Relay()),
          pair_share_(pair_share(topology, parameters.arena_bytes, relay_)) {}

    Schedule compile(const NodeTraffic& traffic) {
        packs_late_ = traffic.packs_late;
        copies_ = DeviceCopies(traffic, parameters_);
        if (relay_.is_used()) { add_carriers(topology_, traffic, relay_, rank_, lists_); }
        for (const PairTraffic& pair : traffic.outgoing) { add_outgoing(pair); }
        for (const PairTraffic& pair : traffic.incoming) { add_incoming(pair); }
        local_end_ =
            lists_.next_slot + parameters_.arena_bytes - 2 * wire_share(parameters_.arena_bytes);
        for (const LocalMessage& message : traffic.local) { add_local(message); }
        lists_.schedule.truncated = std::find(traffic.truncated.begin(), traffic.truncated.end(),
                                              rank_) != traffic.truncated.end();
        lists_.schedule.arena_bytes = lists_.next_slot;
        // Receives first, so that what arrives finds them; then what others wait for.
        for (auto* part :
             {&lists_.receives, &lists_.passes, &lists_.sends, &lists_.stages, &lists_.rest}) {
            lists_.schedule.steps.insert(lists_.schedule.steps.end(), part->begin(), part->end());
        }
        keep_in_order();
        return std::move(lists_.schedule);
    }

  private:
    Plan plan_of(const PairTraffic& pair) const {
        return cut_for_slots(strategy_.plan(pair, parameters_), pair_share_, parameters_.costs);
    }

    /// What has happened in a slot so far, in an order that its counter enforces: bytes come (or
    /// are staged, then come), the piece leaves; or it comes, and its bytes leave.
    struct SlotState {
        uint64_t begin = 0; ///< offset in the arena
        int32_t counter = Step::none;
        uint32_t so_far = 0;
        uint32_t staged_until = 0; ///< when the last that this rank has staged has been fetched
    };

    /// `is_counted`: also what nothing comes behind.
    std::vector<SlotState> begin_slots(const Plan& plan, bool is_counted) {
        const Slots slots = slots_of(plan, pair_share_, slot_limit(topology_));
        const uint64_t memory = std::exchange(lists_.next_slot, lists_.next_slot + slots.bytes);
        std::vector<SlotState> states(slots.count());
        for (size_t i = 0; i < states.size(); ++i) {
            states[i].begin = memory + slots.offsets[i];
            const bool is_used_again = i + states.size() < plan.pieces().size();
            if (is_counted || is_used_again) { states[i].counter = lists_.new_counter(); }
        }
        return states;
    }

    void add_outgoing(const PairTraffic& pair) {
        const Plan plan = plan_of(pair);
        for (const uint32_t i : plan.direct()) {
            const Message& message = pair.messages[i];
            if (message.source == rank_) {
                send_direct(message.destination, message.item, message.bytes, true);
            }
        }
        const OutgoingPair outgoing{
            pair, plan, pair.fingerprint(),
            std::any_of(pair.messages.begin(), pair.messages.end(),
                        [](const Message& m) { return m.memory != m.item; })};
        auto slots = begin_slots(plan, packs_late_);
        for (size_t i = 0; i < plan.pieces().size(); ++i) {
            pack_and_send(outgoing, plan.pieces()[i], slots[i % slots.size()], i < slots.size());
        }
        for (const SlotState& slot : slots) {
            if (slot.staged_until == 0) { continue; }
            lists_.rest.push_back(
                {.action = Action::hold, .wait = slot.counter, .needed = slot.staged_until});
        }
    }

    struct OutgoingPair {
        const PairTraffic& pair;
        const Plan& plan;
        uint64_t fingerprint;
        bool may_share;
    };

    void pack_and_send(const OutgoingPair& outgoing, const Piece& piece, SlotState& slot,
                       bool is_first) {
        const bool is_in_prologue = is_first && !packs_late_;
        const uint32_t free_at = slot.so_far;
        const PieceLayout layout =
            layout_of(outgoing.pair, outgoing.plan, piece, outgoing.may_share);
        const auto segments = outgoing.plan.segments_of(piece);
        std::vector<Step> fetches;
        uint32_t staged = 0;
        bool stages = false; // this rank does
        for (size_t s = 0; s < segments.size(); ++s) {
            if (layout.repeated[s]) { continue; }
            const Block& block = outgoing.pair.blocks[segments[s].block];
            const uint64_t place = slot.begin + layout.positions[s];
            const int copier = copies_.copier_of(block, segments[s].bytes, place);
            const bool is_staged = copier != block.source;
            staged += is_staged ? 1 : 0;
            slot.so_far += is_in_prologue ? 0 : 1;
            Step step{.action = is_staged ? Action::stage : Action::pack,
                      .item = outgoing.pair.messages[block.first_message].item,
                      .offset = segments[s].offset,
                      .bytes = segments[s].bytes,
                      .arena = place,
                      .slab = place};
            if (is_staged && copier == rank_) { fetches.push_back(fetch(step, block.source)); }
            if (block.source != rank_) { continue; }
            stages = stages || is_staged;
            add_pack(step, slot, free_at, is_in_prologue);
        }
        for (Step& step : fetches) {
            step.wait = slot.counter; // for all that is staged, and what is packed beside
            step.needed = slot.so_far;
            step.signal = slot.counter;
            lists_.rest.push_back(step);
        }
        slot.so_far += staged;
        if (stages) { slot.staged_until = slot.so_far; }
        if (piece.sender == rank_) {
            Step step = send_piece(piece, slot.begin, layout, outgoing.fingerprint);
            if (!is_in_prologue) {
                step.wait = slot.counter;
                step.needed = slot.so_far;
            }
            step.signal = slot.counter;
            lists_.sends.push_back(step);
        }
        ++slot.so_far;
    }

    /// Of what this rank has; in a slot where others may be, up to `free_at`.
    void add_pack(Step step, const SlotState& slot, uint32_t free_at, bool is_in_prologue) {
        if (is_in_prologue) {
            lists_.schedule.prologue.push_back(step);
            return;
        }
        step.signal = slot.counter;
        if (free_at > 0) {
            step.wait = slot.counter;
            step.needed = free_at;
        }
        (step.action == Action::stage ? lists_.stages : lists_.rest).push_back(step);
    }

    /// What another rank does with a staged segment.
    static Step fetch(Step staged, int owner) {
        staged.action = Action::fetch;
        staged.peer = owner;
        return staged;
    }

    Step send_piece(const Piece& piece, uint64_t slot, const PieceLayout& layout,
                    uint64_t fingerprint) {
        Step step{.action = Action::send_piece,
                  .peer = piece.receiver,
                  .bytes = layout.bytes,
                  .arena = slot,
                  .fingerprint = fingerprint};
        if (layout.needs_table) {
            step.first_table_entry = static_cast<uint32_t>(lists_.schedule.tables.size());
            step.table_entries = static_cast<uint32_t>(layout.positions.size());
            lists_.schedule.tables.insert(lists_.schedule.tables.end(), layout.positions.begin(),
                                          layout.positions.end());
        }
        ++lists_.schedule.node_messages_sent;
        lists_.schedule.node_bytes_sent += layout.bytes;
        return step;
    }

    void add_incoming(const PairTraffic& pair) {
        const Plan plan = plan_of(pair);
        for (const uint32_t i : plan.direct()) {
            const Message& message = pair.messages[i];
            if (message.destination == rank_) {
                receive_direct(message.source, message.item, message.bytes);
            }
        }
        const IncomingPair incoming{pair, plan, pair.fingerprint()};
        auto slots = begin_slots(plan, true);
        for (size_t i = 0; i < plan.pieces().size(); ++i) {
            const bool is_used_again = i + slots.size() < plan.pieces().size();
            receive_and_unpack(incoming, plan.pieces()[i], slots[i % slots.size()], is_used_again);
        }
    }

    struct IncomingPair {
        const PairTraffic& pair;
        const Plan& plan;
        uint64_t fingerprint;
    };

    void receive_and_unpack(const IncomingPair& incoming, const Piece& piece, SlotState& slot,
                            bool is_used_again) {
        if (piece.receiver == rank_) {
            Step step{.action = Action::receive_piece,
                      .peer = piece.sender,
                      .bytes = piece.bytes,
                      .arena = slot.begin,
                      .fingerprint = incoming.fingerprint,
                      .signal = slot.counter};
            if (slot.so_far > 0) {
                step.wait = slot.counter;
                step.needed = slot.so_far;
            }
            lists_.receives.push_back(step);
        }
        ++slot.so_far;
        slot.so_far += unpack_piece(incoming, piece, slot, is_used_again);
    }

    /// Returns how many times the bytes of the piece are unpacked, by any rank.
    uint32_t unpack_piece(const IncomingPair& incoming, const Piece& piece, const SlotState& slot,
                          bool is_used_again) {
        uint64_t position = slot.begin + sizeof(PieceHeader);
        uint32_t number = 0;
        uint32_t unpacked = 0;
        for (const Segment& segment : incoming.plan.segments_of(piece)) {
            const Block& block = incoming.pair.blocks[segment.block];
            for (uint32_t m = 0; m < block.messages; ++m) {
                const Message& message = incoming.pair.messages[block.first_message + m];
                ++unpacked;
                if (message.destination != rank_) { continue; }
                lists_.rest.push_back({.action = Action::unpack,
                                       .peer = piece.sender,
                                       .item = message.item,
                                       .offset = segment.offset,
                                       .bytes = segment.bytes,
                                       .arena = position,
                                       .piece = slot.begin,
                                       .fingerprint = incoming.fingerprint,
                                       .segment = number,
                                       .wait = slot.counter,
                                       .needed = slot.so_far,
                                       .signal = is_used_again ? slot.counter : Step::none});
            }
            position += segment.bytes;
            ++number;
        }
        return unpacked;
    }

    /// MPI matches pieces of two ranks in the order in which both begin them.
    void keep_in_order() {
        std::map<std::pair<Action, int>, int32_t> last;
        for (size_t i = 0; i < lists_.schedule.steps.size(); ++i) {
            Step& step = lists_.schedule.steps[i];
            switch (step.action) {
            case Action::send_piece:
            case Action::receive_piece:
            case Action::send_carrier:
            case Action::receive_carrier: break;
            default: continue;
            }
            const auto [before, is_first] = last.try_emplace({step.action, step.peer}, Step::none);
            step.after = before->second;
            before->second = static_cast<int32_t>(i);
        }
    }

    void add_local(const LocalMessage& message) {
        if (message.source == message.destination) {
            if (message.source != rank_) { return; }
            lists_.rest.push_back({.action = Action::copy,
                                   .item = message.source_item,
                                   .other_item = message.destination_item,
                                   .bytes = message.bytes});
            return;
        }
        const auto key = std::tuple(message.source, message.memory, message.bytes);
        auto slot = local_slots_.find(key);
        if (slot == local_slots_.end()) {
            if (message.bytes > parameters_.local_direct_bytes ||
                lists_.next_slot + aligned_slot(message.bytes) > local_end_) {
                add_local_direct(message);
                return;
            }
            slot = local_slots_.emplace(key, lists_.next_slot).first;
            lists_.next_slot += aligned_slot(message.bytes);
            if (message.source == rank_) {
                lists_.schedule.prologue.push_back({.action = Action::pack,
                                                    .item = message.source_item,
                                                    .bytes = message.bytes,
                                                    .arena = slot->second});
            }
        }
        if (message.destination == rank_) {
            lists_.rest.push_back({.action = Action::unpack,
                                   .item = message.destination_item,
                                   .bytes = message.bytes,
                                   .arena = slot->second});
        }
    }

    void add_local_direct(const LocalMessage& message) {
        if (message.source == rank_) {
            send_direct(message.destination, message.source_item, message.bytes, false);
        }
        if (message.destination == rank_) {
            receive_direct(message.source, message.destination_item, message.bytes);
        }
    }

    void send_direct(int destination, uint32_t item, uint64_t bytes, bool crosses_nodes) {
        lists_.sends.push_back(
            {.action = Action::send_direct, .peer = destination, .item = item, .bytes = bytes});
        if (crosses_nodes) {
            ++lists_.schedule.node_messages_sent;
            lists_.schedule.node_bytes_sent += bytes;
        }
    }

    void receive_direct(int source, uint32_t item, uint64_t bytes) {
        lists_.receives.push_back(
            {.action = Action::receive_direct, .peer = source, .item = item, .bytes = bytes});
    }

    const Topology& topology_;
    const Strategy& strategy_;
    const Parameters& parameters_;
    const int rank_;
    const Relay relay_;
    const uint64_t pair_share_;
    bool packs_late_ = false;
    DeviceCopies copies_;
    StepLists lists_;
    uint64_t local_end_ = 0;
    std::map<std::tuple<int, uint32_t, uint64_t>, uint64_t> local_slots_;
};

} // namespace

uint32_t counter_limit(const Topology& topology) {
    const auto others = static_cast<uint32_t>(std::max(1, topology.nodes() - 1));
    return others * 2 * (slot_limit(topology) + 1) + 1; // and of carriers
}

uint64_t smallest_arena(const Topology& topology) {
    const auto others = static_cast<uint64_t>(std::max(1, topology.nodes() - 1));
    return (smallest_pair_share * others / 3 + 1) * 8;
}

Schedule compile_schedule(const Topology& topology, const NodeTraffic& traffic,
                          const Strategy& strategy, const Parameters& parameters, int rank) {
    return Compiler(topology, strategy, parameters, rank).compile(traffic);
}

} // namespace nodeaware
