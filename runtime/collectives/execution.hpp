#pragma once

#include "strategies/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

namespace nodeaware {

/// A step that has ended after it began: for receives, with what came.
struct FinishedStep {
    uint32_t step = 0;
    uint64_t bytes = 0;
    bool failed = false; ///< the transport reported an error (a truncated message, for example)
};

/// Executes the part of one rank in one operation: runs any Schedule, on any Transport. It never
/// blocks: call progress() until it returns true. The Transport moves the bytes:
///
///     std::byte* arena();                           memory shared by the ranks of the node
///     uint32_t counter(int32_t);                    with acquire order
///     void signal(int32_t, wakes_at);               increments with release order; as of Step
///     bool pack(item, offset, bytes, std::byte* to, step);      false: poll() tells the end
///     bool unpack(item, offset, bytes, const std::byte* from, step);
///     bool copy(item, other_item, bytes, step);     outgoing to incoming
///     bool stage(item, offset, bytes, slab_offset, step);       into this rank's slab
///     bool fetch(peer, slab_offset, bytes, std::byte* to, step);  from that of another
///     void settle();                                waits until what was packed is there
///     void send(peer, const std::byte*, bytes, step);     begin; poll() tells the end
///     void receive(peer, std::byte*, capacity, step);
///     void send_carrier(peer, const std::byte*, bytes, step);      among themselves as pieces are
///     void receive_carrier(peer, std::byte*, capacity, step);
///     void send_item(peer, item, step);
///     void receive_item(peer, item, step);
///     std::span<const FinishedStep> poll();
///     void mismatch(peer);    what came from there (or failed to) is not what this rank expects
template <class Transport> class Execution {
  public:
    /// `sends_first`: the first progress() begins sends and nothing else.
    Execution(const Schedule& schedule, Transport& transport, uint32_t call, bool sends_first)
        : schedule_(schedule), transport_(transport), call_(call), sends_first_(sends_first),
          pending_(schedule.steps.size()), has_begun_(schedule.steps.size()) {
        std::iota(pending_.begin(), pending_.end(), 0U);
    }

    /// Packs what the ranks of the node have to offer. All of them must have done so before
    /// progress() is called.
    static void run_prologue(const Schedule& schedule, Transport& transport) {
        for (const Step& step : schedule.prologue) {
            if (step.action == Action::open) {
                carriers::open(
                    transport.arena() + step.arena,
                    std::span(schedule.opened).subspan(step.first_table_entry, step.table_entries),
                    step.bytes);
                continue;
            }
            transport.pack(step.item, step.offset, step.bytes, transport.arena() + step.arena,
                           Step::not_listed);
        }
        transport.settle();
    }

    /// Does what can be done now; true when nothing is left to do.
    bool progress() {
        if (!begun_) {
            begun_ = true;
            if (sends_first_) {
                ++advances_; // even without a send: the rest has not been looked at
                begin_what_can([](const Step& step) {
                    return step.action == Action::send_piece ||
                           step.action == Action::send_direct ||
                           step.action == Action::send_carrier;
                });
                return pending_.empty() && under_way_ == 0;
            }
        }
        begin_what_can([](const Step&) { return true; });
        if (under_way_ > 0) {
            for (const FinishedStep& finished : transport_.poll()) { finish(finished); }
        }
        return pending_.empty() && under_way_ == 0;
    }

    /// Steps begun or finished so far: unchanged after progress() means that there was nothing to
    /// do.
    uint64_t advances() const { return advances_; }
    /// Steps that have begun and not ended.
    uint32_t under_way() const { return under_way_; }
    /// Of carriers that have begun to leave: how long they are only that tells.
    uint64_t carried_messages() const { return carried_messages_; }
    uint64_t carried_bytes() const { return carried_bytes_; }

    /// True if a receive of this kind from that rank has yet to begin.
    bool will_receive(Action kind, int peer) const {
        return std::any_of(pending_.begin(), pending_.end(), [&](uint32_t i) {
            return schedule_.steps[i].action == kind && schedule_.steps[i].peer == peer;
        });
    }

  private:
    /// Begins the pending steps that are `wanted` and need not wait, in their order.
    template <class Wanted> void begin_what_can(Wanted wanted) {
        size_t kept = 0;
        for (const uint32_t index : pending_) {
            const Step& step = schedule_.steps[index];
            if (must_wait(step) || !wanted(step)) {
                pending_[kept++] = index;
                continue;
            }
            ++advances_;
            has_begun_[index] = true;
            begin(step, index);
        }
        pending_.resize(kept);
    }

    bool must_wait(const Step& step) const {
        if (step.after != Step::none && !has_begun_[static_cast<size_t>(step.after)]) {
            return true;
        }
        return step.wait != Step::none && transport_.counter(step.wait) < step.needed;
    }

    void begin(const Step& step, uint32_t index) {
        if (is_over_at_once(step, index)) {
            done(step);
        } else {
            ++under_way_;
        }
    }

    bool is_over_at_once(const Step& step, uint32_t index) {
        std::byte* const memory = transport_.arena() + step.arena;
        switch (step.action) {
        case Action::copy: return transport_.copy(step.item, step.other_item, step.bytes, index);
        case Action::pack:
            return transport_.pack(step.item, step.offset, step.bytes, memory, index);
        case Action::unpack: return unpack(step, index);
        case Action::send_piece:
            write_header(step, memory);
            transport_.send(step.peer, memory, sizeof(PieceHeader) + step.bytes, index);
            break;
        case Action::receive_piece:
            transport_.receive(step.peer, memory, sizeof(PieceHeader) + step.bytes, index);
            break;
        case Action::send_direct: transport_.send_item(step.peer, step.item, index); break;
        case Action::receive_direct: transport_.receive_item(step.peer, step.item, index); break;
        case Action::stage:
            return transport_.stage(step.item, step.offset, step.bytes, step.slab, index);
        case Action::fetch:
            return transport_.fetch(step.peer, step.slab, step.bytes, memory, index);
        case Action::hold:
        case Action::open: return true; // the latter is of the prologue
        case Action::pass_on:
            carriers::pass_on(
                transport_.arena() + step.piece, memory,
                std::span(schedule_.passed).subspan(step.first_table_entry, step.table_entries),
                step.bytes);
            return true;
        case Action::send_carrier: return send_carrier(step, index, memory);
        case Action::receive_carrier: return receive_carrier(step, index, memory);
        case Action::unpack_carried: return unpack_carried(step, index);
        case Action::check_carried: return check_carried(step);
        }
        return false;
    }

    void done(const Step& step) {
        if (step.signal != Step::none) { transport_.signal(step.signal, step.wakes_at); }
    }

    void finish(const FinishedStep& finished) {
        const Step& step = schedule_.steps[finished.step];
        if (finished.failed && step.action == Action::send_carrier &&
            sends_nothing(finished.step)) {
            return;
        }
        --under_way_;
        ++advances_;
        if (step.action == Action::receive_piece) {
            check_piece(step, finished);
        } else if (step.action == Action::receive_carrier) {
            check_carrier(step, finished);
        } else if (finished.failed || is_empty(step, finished)) {
            transport_.mismatch(step.peer);
        }
        done(step);
    }

    /// Of a rank that had no memory for the message.
    static bool is_empty(const Step& step, const FinishedStep& finished) {
        return step.action == Action::receive_direct && finished.bytes == 0;
    }

    /// A carrier that could not be sent: the node that waits for it learns that there is nothing to
    /// wait for, and all that it passes things on to. Tried once.
    bool sends_nothing(uint32_t index) {
        if (std::find(unsent_.begin(), unsent_.end(), index) != unsent_.end()) { return false; }
        unsent_.push_back(index);
        ++advances_;
        const Step& step = schedule_.steps[index];
        transport_.send_carrier(step.peer, transport_.arena() + step.arena, 0, index);
        return true;
    }

    void write_header(const Step& step, std::byte* memory) {
        const PieceHeader header{step.fingerprint, call_, step.table_entries};
        std::memcpy(memory, &header, sizeof header);
        if (step.table_entries > 0) {
            std::memcpy(memory + sizeof header, schedule_.tables.data() + step.first_table_entry,
                        sizeof(uint64_t) * step.table_entries);
        }
    }

    /// A piece that does not carry the traffic which this node expects is marked, for the ranks
    /// that unpack it.
    void check_piece(const Step& step, const FinishedStep& finished) {
        std::byte* const memory = transport_.arena() + step.arena;
        PieceHeader header;
        std::memcpy(&header, memory, sizeof header);
        const bool complete =
            finished.bytes >= sizeof header &&
            (header.table_entries > 0 || finished.bytes == sizeof header + step.bytes);
        if (!finished.failed && complete && header.fingerprint == step.fingerprint &&
            header.call == call_) {
            return;
        }
        header.fingerprint = ~step.fingerprint;
        std::memcpy(memory, &header, sizeof header);
        transport_.mismatch(step.peer);
    }

    bool unpack(const Step& step, uint32_t index) {
        const std::byte* from = transport_.arena() + step.arena;
        if (step.piece != Step::no_piece) {
            const std::byte* const piece = transport_.arena() + step.piece;
            PieceHeader header;
            std::memcpy(&header, piece, sizeof header);
            if (header.fingerprint != step.fingerprint) {
                transport_.mismatch(step.peer);
                return true;
            }
            if (header.table_entries > 0) {
                uint64_t position = 0;
                std::memcpy(&position, piece + sizeof header + sizeof position * step.segment,
                            sizeof position);
                from = piece + position;
            }
        }
        return transport_.unpack(step.item, step.offset, step.bytes, from, index);
    }

    carriers::Part part_of(const Step& step, const std::byte* carrier) const {
        const carriers::Cut cut = schedule_.cut.with_table_of(step.table_entries);
        return cut.part(carriers::header_of(carrier).bytes, step.segment);
    }

    bool send_carrier(const Step& step, uint32_t index, std::byte* carrier) {
        if (step.segment == 0) {
            CarrierHeader header = carriers::header_of(carrier);
            header.call = call_;
            carriers::set_header(carrier, header);
        }
        const carriers::Part part = part_of(step, carrier);
        if (part.is_empty()) { return true; }
        transport_.send_carrier(step.peer, carrier + part.begin, part.bytes(), index);
        ++carried_messages_;
        carried_bytes_ += part.bytes();
        return false;
    }

    bool receive_carrier(const Step& step, uint32_t index, std::byte* carrier) {
        if (step.segment == 0) {
            transport_.receive_carrier(step.peer, carrier, step.bytes, index);
            return false;
        }
        const carriers::Part part = part_of(step, carrier);
        if (part.is_empty()) { return true; }
        transport_.receive_carrier(step.peer, carrier + part.begin, part.bytes(), index);
        return false;
    }

    /// Where a carrier did not come, those that it had something for are told.
    void check_carrier(const Step& step, const FinishedStep& finished) {
        std::byte* const carrier = transport_.arena() + step.arena;
        const bool has_come =
            !finished.failed && (step.segment > 0 || finished.bytes >= sizeof(CarrierHeader));
        if (has_come && carriers::is_sound(carrier, step.table_entries, step.bytes) &&
            carriers::header_of(carrier).call == call_ &&
            finished.bytes == part_of(step, carrier).bytes()) {
            return;
        }
        carriers::spoil(carrier, step.table_entries);
        transport_.mismatch(step.peer);
    }

    bool unpack_carried(const Step& step, uint32_t index) {
        const std::byte* const carrier = transport_.arena() + step.piece;
        const CarrierEntry entry = carriers::entry_of(carrier, step.segment);
        if (entry.fingerprint != step.fingerprint || entry.bytes < step.within + step.bytes) {
            transport_.mismatch(step.peer);
            return true;
        }
        return transport_.unpack(step.item, 0, step.bytes, carrier + entry.offset + step.within,
                                 index);
    }

    /// Something may have come, if counts do not match. What was lost is nobody's loss here.
    bool check_carried(const Step& step) {
        const std::byte* const carrier = transport_.arena() + step.piece;
        for (const PassedEntry& nobodys :
             std::span(schedule_.passed).subspan(step.first_table_entry, step.table_entries)) {
            const uint64_t found = carriers::entry_of(carrier, nobodys.from).fingerprint;
            if (found != 0 && found != carriers::lost) {
                transport_.mismatch(static_cast<int>(nobodys.to));
            }
        }
        return true;
    }

    const Schedule& schedule_;
    Transport& transport_;
    const uint32_t call_;
    const bool sends_first_;
    bool begun_ = false;
    std::vector<uint32_t> pending_;
    std::vector<bool> has_begun_; ///< by step
    uint32_t under_way_ = 0;
    uint64_t advances_ = 0;
    std::vector<uint32_t> unsent_; ///< carriers
    uint64_t carried_messages_ = 0;
    uint64_t carried_bytes_ = 0;
};

} // namespace nodeaware
