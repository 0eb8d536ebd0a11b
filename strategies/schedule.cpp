#include "strategies/schedule.hpp"

#include "strategies/device_copies.hpp"
#include "strategies/piece_layout.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace nodeaware {

namespace {

constexpr uint64_t largest_piece = uint64_t{1} << 30; // MPI counts are int
constexpr uint64_t smallest_pair_share = 4 * slot_alignment;

/// Arena of one operation: 3/8 for what leaves, 3/8 for what enters, the rest for messages that
/// stay on the node.
uint64_t wire_share(uint64_t arena_bytes) { return arena_bytes / 8 * 3; }

/// Arena bytes that one node pair may use in one direction. Both nodes compute the same number, for
/// it bounds the pieces that pass between them.
uint64_t pair_share(const Topology& topology, uint64_t arena_bytes) {
    const auto others = static_cast<uint64_t>(std::max(1, topology.nodes() - 1));
    return wire_share(arena_bytes) / others / slot_alignment * slot_alignment;
}

uint32_t window_limit(const Topology& topology) {
    return static_cast<uint32_t>(std::max(16, 2 * topology.most_ranks_on_a_node()));
}

class Compiler {
  public:
    Compiler(const Topology& topology, const Strategy& strategy, const Parameters& parameters,
             int rank)
        : topology_(topology), strategy_(strategy), parameters_(parameters), rank_(rank),
          pair_share_(pair_share(topology, parameters.arena_bytes)),
          piece_limit_(std::min(largest_piece, pair_share_ - sizeof(PieceHeader))) {}

    Schedule compile(const NodeTraffic& traffic) {
        packs_late_ = traffic.packs_late;
        copies_ = DeviceCopies(traffic, parameters_);
        for (const PairTraffic& pair : traffic.outgoing) { add_outgoing(pair); }
        for (const PairTraffic& pair : traffic.incoming) { add_incoming(pair); }
        local_end_ = next_slot_ + parameters_.arena_bytes - 2 * wire_share(parameters_.arena_bytes);
        for (const LocalMessage& message : traffic.local) { add_local(message); }
        schedule_.truncated = std::find(traffic.truncated.begin(), traffic.truncated.end(),
                                        rank_) != traffic.truncated.end();
        schedule_.arena_bytes = next_slot_;
        // Receives first, so that what arrives finds them; then what others wait for.
        for (auto* part : {&receives_, &sends_, &stages_, &rest_}) {
            schedule_.steps.insert(schedule_.steps.end(), part->begin(), part->end());
        }
        return std::move(schedule_);
    }

  private:
    Plan plan_of(const PairTraffic& pair) const {
        return strategy_.plan(pair, parameters_).with_pieces_up_to(piece_limit_);
    }

    int32_t new_counter() { return static_cast<int32_t>(schedule_.counters++); }

    /// Takes arena memory for the largest window of a pair.
    uint64_t reserve(const std::vector<Window>& windows) {
        uint64_t most = 0;
        for (const Window& window : windows) { most = std::max(most, window.bytes); }
        const uint64_t start = next_slot_;
        next_slot_ += most;
        return start;
    }

    void add_outgoing(const PairTraffic& pair) {
        const Plan plan = plan_of(pair);
        for (const uint32_t i : plan.direct()) {
            const Message& message = pair.messages[i];
            if (message.source == rank_) {
                send_direct(message.destination, message.item, message.bytes, true);
            }
        }
        const auto windows = windows_of(plan, pair_share_, window_limit(topology_));
        const uint64_t memory = reserve(windows);
        const bool several = windows.size() > 1;
        OutgoingState state{pair,
                            plan,
                            pair.fingerprint(),
                            several || packs_late_ ? new_counter() : Step::none,
                            several ? new_counter() : Step::none,
                            copies_.are_shared() ? new_counter() : Step::none,
                            std::any_of(pair.messages.begin(), pair.messages.end(),
                                        [](const Message& m) { return m.memory != m.item; }),
                            0,
                            0,
                            0,
                            false};
        copies_.begin_pair();
        for (size_t w = 0; w < windows.size(); ++w) {
            pack_and_send(state, windows[w], memory, w > 0, w + 1 < windows.size());
        }
        if (!state.stages) { return; }
        rest_.push_back(
            {.action = Action::hold, .wait = state.packed, .needed = state.packed_so_far});
    }

    struct OutgoingState {
        const PairTraffic& pair;
        const Plan& plan;
        uint64_t fingerprint;
        int32_t packed; ///< counts segments packed in all windows, but for those of the prologue
        int32_t sent;   ///< counts pieces sent
        int32_t staged; ///< counts segments that are in slabs
        bool may_share;
        uint32_t packed_so_far;
        uint32_t sent_so_far;
        uint32_t staged_so_far;
        bool stages; ///< this rank does
    };

    void pack_and_send(OutgoingState& state, const Window& window, uint64_t memory, bool reuses,
                       bool is_reused) {
        std::vector<Step> sends, fetches;
        copies_.begin_window();
        const uint32_t sent_before = state.sent_so_far;
        const bool is_in_prologue = !reuses && !packs_late_;
        for (size_t i = 0; i < window.slots.size(); ++i) {
            const Piece& piece = state.plan.pieces()[window.first_piece + i];
            const uint64_t slot = memory + window.slots[i];
            const PieceLayout layout = layout_of(state.pair, state.plan, piece, state.may_share);
            const auto segments = state.plan.segments_of(piece);
            for (size_t s = 0; s < segments.size(); ++s) {
                if (layout.repeated[s]) { continue; }
                state.packed_so_far += is_in_prologue ? 0 : 1;
                const Block& block = state.pair.blocks[segments[s].block];
                const DeviceCopies::Part part = copies_.part_of(block, segments[s].bytes);
                const bool is_staged = part.copier != block.source;
                state.staged_so_far += is_staged ? 1 : 0;
                Step step{.action = is_staged ? Action::stage : Action::pack,
                          .item = state.pair.messages[block.first_message].item,
                          .offset = segments[s].offset,
                          .bytes = segments[s].bytes,
                          .arena = slot + layout.positions[s],
                          .slab = part.slab};
                if (is_staged && part.copier == rank_) {
                    fetches.push_back(fetch(step, block.source, state.packed));
                }
                if (block.source != rank_) { continue; }
                if (is_in_prologue) {
                    schedule_.prologue.push_back(step);
                    continue;
                }
                if (reuses) {
                    step.wait = state.sent;
                    step.needed = sent_before;
                }
                step.signal = is_staged ? state.staged : state.packed;
                state.stages = state.stages || is_staged;
                (is_staged ? stages_ : rest_).push_back(step);
            }
            ++state.sent_so_far;
            if (piece.sender == rank_) {
                sends.push_back(send_piece(piece, slot, layout, state.fingerprint));
            }
        }
        for (Step& step : sends) {
            if (!is_in_prologue) {
                step.wait = state.packed;
                step.needed = state.packed_so_far;
            }
            if (is_reused) { step.signal = state.sent; }
            sends_.push_back(step);
        }
        for (Step& step : fetches) {
            step.wait = state.staged; // which waits for what it takes to use the slot again
            step.needed = state.staged_so_far;
            rest_.push_back(step);
        }
    }

    /// What another rank does with a staged segment.
    static Step fetch(Step staged, int owner, int32_t packed) {
        staged.action = Action::fetch;
        staged.peer = owner;
        staged.signal = packed;
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
            step.first_table_entry = static_cast<uint32_t>(schedule_.tables.size());
            step.table_entries = static_cast<uint32_t>(layout.positions.size());
            schedule_.tables.insert(schedule_.tables.end(), layout.positions.begin(),
                                    layout.positions.end());
        }
        ++schedule_.node_messages_sent;
        schedule_.node_bytes_sent += layout.bytes;
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
        const auto windows = windows_of(plan, pair_share_, window_limit(topology_));
        const uint64_t memory = reserve(windows);
        IncomingState state{
            pair, plan, pair.fingerprint(), windows.size() > 1 ? new_counter() : Step::none, {}, 0};
        for (size_t w = 0; w < windows.size(); ++w) {
            receive_and_unpack(state, windows[w], memory, w > 0, w + 1 < windows.size());
        }
    }

    /// Counts the arrivals of the i-th piece of all windows.
    struct Arrivals {
        int32_t counter;
        uint32_t so_far;
    };

    struct IncomingState {
        const PairTraffic& pair;
        const Plan& plan;
        uint64_t fingerprint;
        int32_t consumed;              ///< counts segments unpacked in all windows so far
        std::vector<Arrivals> arrived; ///< of the i-th piece of every window
        uint32_t consumed_so_far;
    };

    void receive_and_unpack(IncomingState& state, const Window& window, uint64_t memory,
                            bool reuses, bool is_reused) {
        const uint32_t consumed_before = state.consumed_so_far;
        for (size_t i = 0; i < window.slots.size(); ++i) {
            if (i == state.arrived.size()) { state.arrived.push_back({new_counter(), 0}); }
            Arrivals& arrivals = state.arrived[i];
            ++arrivals.so_far;
            const Piece& piece = state.plan.pieces()[window.first_piece + i];
            const uint64_t slot = memory + window.slots[i];
            if (piece.receiver == rank_) {
                Step step{.action = Action::receive_piece,
                          .peer = piece.sender,
                          .bytes = piece.bytes,
                          .arena = slot,
                          .fingerprint = state.fingerprint,
                          .signal = arrivals.counter};
                if (reuses) {
                    step.wait = state.consumed;
                    step.needed = consumed_before;
                }
                receives_.push_back(step);
            }
            unpack_piece(state, piece, slot, arrivals, is_reused);
        }
    }

    void unpack_piece(IncomingState& state, const Piece& piece, uint64_t slot,
                      const Arrivals& arrivals, bool is_reused) {
        uint64_t position = slot + sizeof(PieceHeader);
        uint32_t number = 0;
        for (const Segment& segment : state.plan.segments_of(piece)) {
            const Block& block = state.pair.blocks[segment.block];
            for (uint32_t m = 0; m < block.messages; ++m) {
                const Message& message = state.pair.messages[block.first_message + m];
                ++state.consumed_so_far;
                if (message.destination != rank_) { continue; }
                rest_.push_back({.action = Action::unpack,
                                 .peer = piece.sender,
                                 .item = message.item,
                                 .offset = segment.offset,
                                 .bytes = segment.bytes,
                                 .arena = position,
                                 .piece = slot,
                                 .fingerprint = state.fingerprint,
                                 .segment = number,
                                 .wait = arrivals.counter,
                                 .needed = arrivals.so_far,
                                 .signal = is_reused ? state.consumed : Step::none});
            }
            position += segment.bytes;
            ++number;
        }
    }

    void add_local(const LocalMessage& message) {
        if (message.source == message.destination) {
            if (message.source != rank_) { return; }
            rest_.push_back({.action = Action::copy,
                             .item = message.source_item,
                             .other_item = message.destination_item,
                             .bytes = message.bytes});
            return;
        }
        const auto key = std::tuple(message.source, message.memory, message.bytes);
        auto slot = local_slots_.find(key);
        if (slot == local_slots_.end()) {
            if (message.bytes > parameters_.local_direct_bytes ||
                next_slot_ + aligned_slot(message.bytes) > local_end_) {
                add_local_direct(message);
                return;
            }
            slot = local_slots_.emplace(key, next_slot_).first;
            next_slot_ += aligned_slot(message.bytes);
            if (message.source == rank_) {
                schedule_.prologue.push_back({.action = Action::pack,
                                              .item = message.source_item,
                                              .bytes = message.bytes,
                                              .arena = slot->second});
            }
        }
        if (message.destination == rank_) {
            rest_.push_back({.action = Action::unpack,
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
        sends_.push_back(
            {.action = Action::send_direct, .peer = destination, .item = item, .bytes = bytes});
        if (crosses_nodes) {
            ++schedule_.node_messages_sent;
            schedule_.node_bytes_sent += bytes;
        }
    }

    void receive_direct(int source, uint32_t item, uint64_t bytes) {
        receives_.push_back(
            {.action = Action::receive_direct, .peer = source, .item = item, .bytes = bytes});
    }

    const Topology& topology_;
    const Strategy& strategy_;
    const Parameters& parameters_;
    const int rank_;
    const uint64_t pair_share_;
    const uint64_t piece_limit_;
    bool packs_late_ = false;
    DeviceCopies copies_;
    Schedule schedule_;
    std::vector<Step> receives_;
    std::vector<Step> sends_;
    std::vector<Step> stages_; ///< others wait for them
    std::vector<Step> rest_;
    uint64_t next_slot_ = 0;
    uint64_t local_end_ = 0;
    std::map<std::tuple<int, uint32_t, uint64_t>, uint64_t> local_slots_;
};

} // namespace

uint32_t counter_limit(const Topology& topology) {
    const auto others = static_cast<uint32_t>(std::max(1, topology.nodes() - 1));
    return others * (4 + window_limit(topology));
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
