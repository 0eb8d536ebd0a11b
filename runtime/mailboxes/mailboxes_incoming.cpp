#include "runtime/mailboxes/mailboxes.hpp"
#include "runtime/mailboxes/tags.hpp"
#include "runtime/progress/clock.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

/// What comes to this node.
namespace nodeaware {

using namespace mailbox_messages;

namespace {

/// Calls `take(item, its message)` with each of them. If that throws, others must not be lost.
template <class Take>
void take_each(std::span<const std::byte> items, Take take, bool framed = false) {
    std::exception_ptr failed;
    const auto take_one = [&](const auto& item, std::span<const std::byte> bytes) {
        try {
            take(item, bytes);
        } catch (...) { failed = std::current_exception(); }
    };
    container::for_each_item(items, take_one, framed);
    if (failed) { std::rethrow_exception(failed); }
}

} // namespace

void Mailboxes::deliver(Name name, std::shared_ptr<const std::byte> bytes, uint64_t size) {
    const auto found = addressees_.find(name);
    if (found != addressees_.end()) { return found->second->take(bytes, size); }
    early_.keep(name, {std::move(bytes), size});
}

void Mailboxes::take_message(const IncomingMessages::Message& message) {
    ++received_apart_;
    const std::span<const std::byte> all(message.bytes.get(), message.size);
    const auto take = [&](const container::Item& item, std::span<const std::byte> bytes) {
        if (item.name == control_name) {
            return take_control(message.source, item.destination, bytes);
        }
        deliver(item.name, {message.bytes, bytes.data()}, bytes.size());
    };
    take_each(all, take, true);
}

void Mailboxes::take_items(const IncomingCells::Place& place) {
    const uint64_t bytes = incoming_cells_.items(place, local_).size();
    const auto kept = std::make_shared_for_overwrite<std::byte[]>(bytes);
    const auto items = incoming_cells_.claim(place, local_, bytes);
    if (items.empty()) { return; } // they were moved a moment ago
    std::memcpy(kept.get(), items.data(), bytes);
    incoming_cells_.taken(place, local_);
    take_own(kept, bytes);
}

void Mailboxes::take_moved(uint64_t bytes) {
    const auto kept = std::make_shared_for_overwrite<std::byte[]>(bytes);
    rings_.take(local_, {kept.get(), bytes});
    incoming_cells_.took_moved(local_);
    take_own(kept, bytes);
}

void Mailboxes::take_own(std::shared_ptr<const std::byte[]> items, uint64_t bytes) {
    mates_.has_taken(local_, now());
    take_each({items.get(), bytes},
              [&](const container::Item& item, std::span<const std::byte> message) {
                  deliver(item.name, {items, message.data()}, message.size());
              });
}

/// Of ranks that have left it there for long: others need the cell. What has no room where they
/// find it stays, and its sender does without the cell.
void Mailboxes::move_late(const IncomingCells::Place& place, double since) {
    if (longest_hold() == 0) { return; } // not known what is long
    incoming_cells_.for_each_late(place, since, [&](int rank, uint64_t bytes) {
        if (rank == local_) { return; }
        const auto claim = [&] { return incoming_cells_.claim(place, rank, bytes); };
        if (!rings_.move(rank, bytes, claim)) { return; }
        incoming_cells_.moved(place);
        ++counts_.moved;
    });
}

/// Nobody else looks at what this rank has begun to sort: nothing may fail meanwhile.
void Mailboxes::look() {
    const int granted = incoming_cells_.granted();
    const double time = granted == 0 ? 0 : now();
    for (int i = 0; i < granted; ++i) {
        for (uint32_t cell = 0; cell < IncomingCells::cells; ++cell) {
            const IncomingCells::Place place{i, cell};
            if (incoming_cells_.begin_sorting(place)) {
                const int other = other_of_slot(i);
                for (const auto& credit : container::credits_of(incoming_cells_.memory(place))) {
                    give(other, static_cast<int>(credit.rank), credit.cells);
                }
                incoming_cells_.sorted(place, time);
            }
            if (!incoming_cells_.items(place, local_).empty()) { take_items(place); }
            move_late(place, time - longest_hold());
        }
    }
    while (const uint64_t bytes = rings_.first_bytes(local_)) { take_moved(bytes); }
}

void Mailboxes::give(int other, int local, uint32_t cells) {
    for (uint32_t cell = 0; cell < Grants::cells; ++cell) {
        if ((cells >> cell & 1U) == 0) { continue; }
        grants_.give(other, local, cell, [&](uint32_t travelled) {
            const double sent_at = outgoing_cells_.kept_at(other, travelled);
            note_round_trip(now() - sent_at);
            if (is_overtaken(other, sent_at)) { avoid_keeper(other, local, sent_at); }
            grants_.came_back(other, sent_at);
            outgoing_cells_.returned(other, travelled);
        });
    }
}

void Mailboxes::send_control(int destination, Control what,
                             const std::vector<container::Credit>& credits) {
    send(as_items(what, credits), destination);
}

/// Each of the credits in an item of its own.
std::vector<std::byte> Mailboxes::as_items(Control what,
                                           const std::vector<container::Credit>& credits) {
    std::vector<std::byte> bytes;
    bytes.reserve(credits.size() * container::size_of_item(sizeof(ControlMessage)));
    const auto append = [&](const auto& value) {
        const auto* const first = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), first, first + sizeof value);
    };
    for (const container::Credit& credit : credits) {
        append(container::Item{control_name, credit.rank, sizeof(ControlMessage)});
        append(ControlMessage{static_cast<uint32_t>(what), credit.cells});
    }
    return bytes;
}

void Mailboxes::take_control(int source, uint32_t local, std::span<const std::byte> bytes) {
    ControlMessage message{};
    std::memcpy(&message, bytes.data(), sizeof message);
    const auto what = static_cast<Control>(message.what);
    if (what == Control::want) { return keep(source); }
    const int other = other_of(topology_.node_of(source));
    if (what == Control::granted) { keepers_[static_cast<size_t>(other)] = source; }
    give(other, static_cast<int>(local), message.cells);
}

int Mailboxes::other_of_slot(int slot) const {
    const int sender = incoming_cells_.granted(slot);
    return other_of(topology_.node_of(rank_of_sender_[static_cast<size_t>(sender)]));
}

/// Each node gets some, though several keepers may give one more than its share.
std::optional<int> Mailboxes::slot_for(int sender) {
    const int other = other_of(topology_.node_of(sender));
    int of_node = 0;
    for (int i = 0; i < incoming_cells_.granted(); ++i) {
        of_node += other_of_slot(i) == other ? 1 : 0;
    }
    if (of_node >= most_slots_of_a_node_) { return std::nullopt; }
    return incoming_cells_.grant(sender_of(sender));
}

/// From now on this rank has receives posted for containers of the sender, if there is room. They
/// are posted before the sender learns of it; what others see there until then is not whole.
void Mailboxes::keep(int sender) {
    if (is_closing_) { return; }
    kept_.reserve(kept_.size() + IncomingCells::cells);
    const auto slot = slot_for(sender);
    if (!slot) { return; }
    const size_t first = kept_.size();
    for (uint32_t cell = 0; cell < IncomingCells::cells; ++cell) {
        kept_.push_back({sender, {*slot, cell}, MPI_REQUEST_NULL});
    }
    for (size_t i = first; i < kept_.size(); ++i) { post(kept_[i]); }
    send_control(sender, Control::granted,
                 {{static_cast<uint32_t>(topology_.local_of(sender)), all_cells}});
}

void Mailboxes::post(Kept& kept) {
    const auto memory = incoming_cells_.memory(kept.place);
    MPI_CALL(Irecv, memory.data(), static_cast<int>(memory.size()), MPI_BYTE, kept.sender,
             first_cell_tag + static_cast<int>(kept.place.cell), comm_, &kept.request);
}

/// True also if nothing is to come there.
bool Mailboxes::has_landed(Kept& kept) {
    if (kept.request == MPI_REQUEST_NULL) { return true; }
    int flag = 0;
    MPI_CALL(Test, &kept.request, &flag, MPI_STATUS_IGNORE);
    if (flag != 0) { ++landed_; }
    return flag != 0;
}

/// Makes cells ready again that all have taken theirs from. Their senders are told by the next
/// container that goes there; if none does, or they soon have none left, by a message.
void Mailboxes::look_after_cells() {
    for (Kept& kept : kept_) {
        if (incoming_cells_.is_empty(kept.place)) {
            if (!has_landed(kept)) { continue; }
            incoming_cells_.next(kept.place);
            kept.is_to_be_posted = true;
        }
        if (kept.is_to_be_posted) {
            post(kept);
            kept.is_to_be_posted = false;
            incoming_cells_.owe(sender_of(kept.sender), kept.place.cell);
        }
        // Whoever has wanted to tell it may not have been able to.
        const bool is_last = kept.place.cell + 1 == IncomingCells::cells;
        if (is_last && incoming_cells_.owed(sender_of(kept.sender)) != 0) {
            owed_since_.try_emplace(kept.sender, now());
        }
    }
    tell_of_cells();
}

int Mailboxes::owed_to(int other) const {
    int cells = 0;
    for (const int rank : topology_.ranks_of(node_of_other(other))) {
        cells += std::popcount(incoming_cells_.owed(sender_of(rank)));
    }
    return cells;
}

/// The ranks there have so many cells together for what they send here.
void Mailboxes::tell_of_cells() {
    // At the end their rank may be gone; who has no cells left sends to each receiver.
    if (owed_since_.empty() || is_closing_) { return; }
    const double time = now();
    std::erase_if(owed_since_, [&](const auto& owed) {
        if (incoming_cells_.owed(sender_of(owed.first)) == 0) { return true; }
        const int other = other_of(topology_.node_of(owed.first));
        const bool is_urgent = owed_to(other) + 1 >= static_cast<int>(OutgoingCells::cells);
        if (!is_urgent && time - owed.second < again_after_ / 4) { return false; }
        const std::vector<container::Credit> credits = take_credits(other);
        if (credits.empty()) { return true; }
        try {
            send_control(owed.first, Control::ready, credits);
        } catch (...) {
            owe(other, credits);
            throw;
        }
        return true;
    });
}

std::vector<container::Credit> Mailboxes::take_credits(int other) {
    const auto& ranks = topology_.ranks_of(node_of_other(other));
    std::vector<container::Credit> credits;
    credits.reserve(ranks.size()); // what was taken must not be lost
    for (const int rank : ranks) {
        const uint32_t cells = incoming_cells_.take_owed(sender_of(rank));
        if (cells == 0) { continue; }
        credits.push_back({static_cast<uint32_t>(topology_.local_of(rank)), cells});
    }
    return credits;
}

/// They could not be told.
void Mailboxes::owe(int other, const std::vector<container::Credit>& credits) {
    const auto& ranks = topology_.ranks_of(node_of_other(other));
    for (const container::Credit& credit : credits) {
        for (uint32_t cell = 0; cell < IncomingCells::cells; ++cell) {
            if ((credit.cells >> cell & 1U) == 0) { continue; }
            incoming_cells_.owe(sender_of(ranks[credit.rank]), cell);
        }
    }
}

} // namespace nodeaware
