#include "runtime/mailboxes/mailboxes.hpp"
#include "runtime/mailboxes/tags.hpp"
#include "runtime/memory/elements.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/progress/clock.hpp"

#include <algorithm>
#include <new>
#include <utility>

/// What this node sends.
namespace nodeaware {

using namespace mailbox_messages;

std::optional<OutgoingCells::Place> Mailboxes::reserve(int destination, uint64_t bytes,
                                                       double patience) {
    // Callbacks of the application run inside a function of MPI, which blocks afterwards.
    const bool is_inside = activity.blocking_calls.load(std::memory_order_relaxed) > 0;
    if (is_inside || sends_at_once_) { return std::nullopt; }
    // Blocking sends wait then, as by MPI, and nothing piles up here.
    if (outgoing_.is_crowded(destination)) { return std::nullopt; }
    is_back();
    looks_no_more();
    if (unsent_.size() == unsent_.capacity()) { unsent_.reserve(2 * unsent_.size() + 64); }
    const int other = other_of(topology_.node_of(destination));
    const auto size = static_cast<uint32_t>(container::size_of_item(bytes));
    const double time = now();
    std::optional<uint32_t> full;
    while (true) {
        const auto place = outgoing_cells_.reserve(other, size, {time, time + patience}, &full);
        if (place && place->offset == 0) { mates_.collects(1); }
        if (place || !full) { return place; }
        try_to_send(other, *full);
    }
}

/// Whoever puts the last of it in need not wait for the others. The message is in: nothing may fail
/// any more.
void Mailboxes::note_put(Name name, const OutgoingCells::Place& place, double patience) {
    if (unsent_.size() >= next_forget_) {
        forget_sent();
        next_forget_ = std::max<size_t>(64, 2 * unsent_.size());
    }
    unsent_.push_back({name, place.node, place.generation, now() + patience});
    const auto before = outgoing_cells_.left_since(place.node, now() - longest_hold());
    const bool was_late = before && !expected_.has_put(place.node, local_, *before);
    if (expected_.put(place.node, local_, place.generation) && was_late) {
        outgoing_cells_.missed(place.node);
    }
    const auto [begun, leaves_at] = outgoing_cells_.times(place.node, place.generation);
    const bool is_overdue = leaves_at != 0 && now() > leaves_at;
    if (!is_overdue) {
        if (!outgoing_cells_.is_known(place.node, place.generation)) { return; }
        if (gains_by_waiting(place.node, place.generation)) { return; }
        if (others_can_send(place.node, begun)) { return; }
    }
    if (try_to_send(place.node, place.generation)) { mates_.closed(std::nullopt); }
}

void Mailboxes::look_after_unsent() {
    if (looks_after_unsent_ || is_closed_) { return; }
    looks_after_unsent_ = true;
    activity.pending_work.fetch_add(1, std::memory_order_relaxed);
    activity.requests.fetch_add(1, std::memory_order_relaxed);
}

void Mailboxes::forget_sent() {
    if (unsent_.empty()) { return; }
    const double time = now();
    std::erase_if(unsent_, [&](const Unsent& unsent) {
        if (outgoing_cells_.has_to_leave(unsent.node, unsent.generation)) { return false; }
        const auto found = addressees_.find(unsent.name);
        if (found != addressees_.end()) { found->second->left(time > unsent.leaves_at); }
        return true;
    });
    if (!looks_after_unsent_ || !unsent_.empty()) { return; }
    looks_after_unsent_ = false;
    activity.pending_work.fetch_sub(1, std::memory_order_relaxed);
    activity.requests.fetch_sub(1, std::memory_order_relaxed);
}

bool Mailboxes::close_and_send(int other, uint32_t generation, Known known) {
    if (!outgoing_cells_.close(other, generation, now())) { return false; }
    mates_.collects(-1);
    if (known != Known::no) {
        outgoing_cells_.learn(other, generation, known == Known::held_in_vain);
    }
    try {
        send_closed(other, generation);
    } catch (...) { // it has messages of others
        mates_.collects(1);
        outgoing_cells_.put_back(other, generation);
        throw;
    }
    return true;
}

/// Who cannot be told of a failure leaves it to the next look.
bool Mailboxes::try_to_send(int other, uint32_t generation) {
    try {
        return close_and_send(other, generation);
    } catch (const MpiError&) { return false; } catch (const std::bad_alloc&) {
        return false;
    }
}

/// What ranks of this node could not send.
void Mailboxes::send_put_back(int other) {
    while (const auto generation = outgoing_cells_.not_sent(other)) {
        close_and_send(other, *generation);
    }
}

/// If that fails, it may have left in part; then it does so once more.
void Mailboxes::send_closed(int other, uint32_t generation) {
    if (is_last_sent_) { return outgoing_cells_.release(other, generation); }
    const auto content = outgoing_cells_.content(other, generation);
    const container::Sorted sorted = container::sort(content);
    uint64_t messages = 0;
    container::for_each_item(content, [&](const auto&, const auto&) { ++messages; });
    outgoing_cells_.note_messages(other, generation, messages);
    const bool is_for_several = sorted.parts.size() > 1;
    if (is_for_several && send_containers(other, generation, sorted)) { return; }
    send_apart(other, sorted);
    if (is_for_several) {
        ask_for_cells(other,
                      sorted.parts[static_cast<size_t>(local_) % sorted.parts.size()].destination);
    }
    outgoing_cells_.release(other, generation);
}

/// As one, or as several where MPI would ask the receiver before it sends one that large. False if
/// there is no cell for it.
bool Mailboxes::send_containers(int other, uint32_t generation, const container::Sorted& sorted) {
    const auto limit = eager_limit_.limit_for(static_cast<uint32_t>(sorted.items.size()));
    auto lists = container::cut(sorted.parts, limit.value_or(cell_bytes_));
    const bool is_avoided = grants_.is_avoided(other, local_, now());
    std::vector<uint32_t> granted(is_avoided ? 0 : lists.size());
    granted.resize(
        grants_.take(other, local_, OutgoingCells::cell_of(generation), std::span(granted)));
    if (!grants_.has(other, local_, now())) { lacks_cells_at_ = looks_; }
    if (granted.empty()) { return false; }
    if (granted.size() < lists.size()) {
        for (; granted.size() > 1; granted.pop_back()) {
            grants_.give(other, local_, granted.back());
        }
        lists.assign(1, sorted.parts);
    }
    send_lists(other, generation, sorted, lists, granted);
    return true;
}

/// One list to each cell.
void Mailboxes::send_lists(int other, uint32_t generation, const container::Sorted& sorted,
                           std::span<const std::span<const container::Part>> lists,
                           std::span<const uint32_t> granted) {
    const auto uses = [&](size_t i) -> uint64_t& {
        return uses_[static_cast<size_t>(other) * Grants::cells + granted[i]];
    };
    std::vector<container::Credit> credits;
    size_t sent = 0;
    try {
        credits = take_credits(other);
        std::vector<std::vector<std::byte>> messages;
        for (size_t i = 0; i < lists.size(); ++i) {
            messages.push_back(container::assemble(
                lists[i], sorted.items, i == 0 ? credits : decltype(credits)(), uses(i) + 1));
        }
        outgoing_cells_.keep(other, generation, now(), // before a credit can come back
                             static_cast<uint32_t>(lists.size()));
        for (; sent < lists.size(); ++sent) {
            counts_.bytes += messages[sent].size();
            outgoing_.send(std::move(messages[sent]), keepers_[static_cast<size_t>(other)],
                           first_cell_tag + static_cast<int>(granted[sent]), &note_eager_);
            count_sent(keepers_[static_cast<size_t>(other)], sent_to_cells);
            ++uses(sent);
            ++counts_.containers;
            mates_.note_sent(now());
        }
    } catch (...) { // all of it will be sent again
        if (sent == 0) { owe(other, credits); }
        for (size_t i = 0; i < sent; ++i) { grants_.forget(other, local_, granted[i]); }
        for (size_t i = sent; i < granted.size(); ++i) { grants_.give(other, local_, granted[i]); }
        throw;
    }
}

std::vector<std::byte> Mailboxes::framed(Name name, uint64_t bytes, std::span<std::byte>* at) {
    container::Item item{name, 0, container::all_that_follows};
    std::vector<std::byte> framed(sizeof item + bytes);
    std::memcpy(framed.data(), &item, sizeof item);
    *at = std::span(framed).subspan(sizeof item);
    return framed;
}

void Mailboxes::send(std::vector<std::byte> framed, int destination) {
    if (is_last_sent_) { return; } // nobody would look
    outgoing_.send(std::move(framed), destination, apart_tag);
    count_sent(destination, sent_apart);
    mates_.note_sent(now());
}

void Mailboxes::send_at_once(const std::vector<std::byte>& framed, int destination) {
    MPI_CALL(Send, framed.data(), static_cast<int>(framed.size()), MPI_BYTE, destination, apart_tag,
             comm_);
    count_sent(destination, sent_apart);
    mates_.note_sent(now());
}

MPI_Request Mailboxes::begin_send(const std::vector<std::byte>& framed, int destination) {
    const Elements elements(framed.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_CALL(Isend, framed.data(), elements.count(), elements.type(), destination, apart_tag, comm_,
             &request);
    count_sent(destination, sent_apart);
    mates_.note_sent(now());
    return request;
}

/// To each receiver its own, and to the first what the other node may be told of its cells.
void Mailboxes::send_apart(int other, const container::Sorted& sorted) {
    if (sorted.parts.empty()) { return; } // none could be written, and credits would be lost
    const auto& ranks = topology_.ranks_of(node_of_other(other));
    auto credits = take_credits(other);
    try {
        for (const container::Part& part : sorted.parts) {
            std::vector<std::byte> items = as_items(Control::ready, credits);
            const auto first = sorted.items.begin() + part.offset;
            items.insert(items.end(), first, first + part.bytes);
            counts_.bytes += items.size();
            send(std::move(items), ranks[part.destination]);
            credits.clear();
            ++counts_.apart;
        }
    } catch (...) {
        owe(other, credits);
        throw;
    }
}

/// For the next time, and of a rank that takes part.
void Mailboxes::ask_for_cells(int other, uint32_t destination) {
    if (asked_[static_cast<size_t>(other)]) { return; }
    send_control(topology_.ranks_of(node_of_other(other))[destination], Control::want, {{0, 0}});
    asked_[static_cast<size_t>(other)] = true;
}

void Mailboxes::close_ready() {
    const int others = topology_.nodes() - 1;
    bool has_closed = false;
    std::optional<double> late; // when the last container was begun that was overdue
    for (int i = 0; i < others; ++i) {
        const int other = (i + local_) % others; // the work is shared
        send_put_back(other);
        const auto generation = outgoing_cells_.collecting(other);
        if (!generation) { continue; }
        const OutgoingCells::Times times = outgoing_cells_.times(other, *generation);
        const bool is_overdue = times.leaves_at != 0 && now() > times.leaves_at;
        const bool all_wait = times.now != 0 && mates_.all_wait(times.now, now() - longest_hold());
        const bool are_others_in = outgoing_cells_.are_others_in(other, *generation);
        const bool awaits_others = outgoing_cells_.awaits_others(other, *generation);
        const auto is_missing = [&](int rank) {
            return expected_.is_missing(other, rank, *generation);
        };
        const bool is_held_up = all_wait && (awaits_others || mates_.is_held_up(is_missing));
        const bool is_held = is_held_up && outgoing_cells_.hold(other, *generation);
        const bool is_too_late = !awaits_others && now() > times.now + longest_hold();
        const bool is_held_in_vain = is_held && (is_overdue || is_too_late);
        const bool is_complete = are_others_in || (all_wait && (!is_held || is_held_in_vain));
        if (!is_complete && !is_overdue && !outgoing_cells_.is_known(other, *generation)) {
            continue;
        }
        if (!is_overdue && !are_others_in && gains_by_waiting(other, *generation)) { continue; }
        if (!is_overdue && others_can_send(other, times.now)) { continue; }
        const bool is_all = are_others_in || (is_complete && !is_held_up);
        const Known known = is_all            ? Known::complete
                            : is_held_in_vain ? Known::held_in_vain
                                              : Known::no;
        if (!close_and_send(other, *generation, known)) { continue; }
        has_closed = true;
        if (is_overdue && !is_complete) {
            ++counts_.overdue;
            late = std::max(late.value_or(0), times.now);
        }
    }
    if (has_closed) { mates_.closed(late); }
}

/// It could leave, but would leave no room: a node that is ahead of the other then sends its
/// messages one by one. Or it lacks messages of some rank. While messages of this node queue up,
/// one more gains nothing: ranks that drift apart would send ever smaller containers, which keep
/// the network busy, so that they drift apart.
bool Mailboxes::gains_by_waiting(int other, uint32_t generation) const {
    const double time = now();
    if (!mates_.anybody_looks()) { return false; }
    if (outgoing_cells_.is_last(other, generation, time - soon())) { return true; }
    if (mates_.sends(time)) { return expected_.is_anybody_missing(other, generation); }
    const bool is_late = time > outgoing_cells_.times(other, generation).now + mates_.round_trip();
    for (int mate = 0; mate < topology_.ranks_on(node_) && !is_late; ++mate) {
        if (expected_.is_missing(other, mate, generation) && is_about_to_send(mate)) {
            return true;
        }
    }
    return false;
}

bool Mailboxes::is_ahead() const {
    const double since = now() - soon();
    for (int other = 0; other < topology_.nodes() - 1; ++other) {
        if (outgoing_cells_.is_full_since(other, since)) { return true; }
    }
    return false;
}

/// It has what it may have waited for, or will as soon as it gets the processor.
bool Mailboxes::is_about_to_send(int mate) const {
    const bool will_go_on = mates_.waits(mate) && incoming_cells_.has_items(mate);
    return mates_.goes_on(mate, now()) || (will_go_on && mate != local_);
}

void Mailboxes::others_are_in() {
    for (int i = 0; i < topology_.nodes() - 1; ++i) {
        const int other = (i + local_) % (topology_.nodes() - 1);
        const auto generation = outgoing_cells_.collecting(other);
        if (!generation || !outgoing_cells_.awaits_others(other, *generation)) { continue; }
        outgoing_cells_.others_are_in(other, *generation);
        const double begun = outgoing_cells_.times(other, *generation).now;
        if (others_can_send(other, begun)) { continue; } // and are about to look
        try {
            close_and_send(other, *generation, Known::complete);
        } catch (const MpiError&) { // left to the next look
        } catch (const std::bad_alloc&) {}
    }
    forget_sent();
}

/// Another rank that waits may send a container there, and this one may not; or should not, for its
/// keeper is slow, and some other rank may look soon.
bool Mailboxes::others_can_send(int other, double begun) const {
    const double time = now();
    if (grants_.has(other, local_, time)) { return false; }
    const bool is_early = grants_.is_avoided(other, local_, time) && time < begun + longest_hold();
    for (int mate = 0; mate < topology_.ranks_on(node_); ++mate) {
        const bool looks = mates_.waits(mate) || is_early;
        if (mate != local_ && looks && grants_.has(other, mate, time)) { return true; }
    }
    return false;
}

/// What was sent to that node long after it has come back: longer than messages queue up. Credits
/// travel together, so that is the fault of the keeper.
bool Mailboxes::is_overtaken(int other, double sent_at) const {
    return grants_.latest_back(other) > sent_at + 2 * soon();
}

/// A keeper that is seldom in MPI, as who computes for long or writes files, while others of its
/// node are. False where all ranks are such: there is nothing to choose.
bool Mailboxes::avoid_keeper(int other, int local, double sent_at) {
    const double time = now();
    for (int mate = 0; mate < topology_.ranks_on(node_); ++mate) {
        if (mate == local || !grants_.is_of_use(other, mate, time)) { continue; }
        constexpr double times = 16; // as long as it was late: what it costs to try is 6 %
        grants_.avoid(other, local, time + times * (time - sent_at));
        return true;
    }
    return false;
}

/// A container that the other node has not had for long: its keeper may be outside of MPI.
void Mailboxes::send_again() {
    if (waiting_since_ == 0 || is_last_sent_) { return; }
    const double time = now();
    const double waited = time - waiting_since_;
    const double patience = std::min(again_after_, batch_timeout());
    if (waited < patience) { return; }
    for (int other = 0; other < topology_.nodes() - 1; ++other) {
        auto generation = outgoing_cells_.kept_since(other, time - patience);
        if (!generation) { continue; }
        const double sent_at = outgoing_cells_.kept_at(other, OutgoingCells::cell_of(*generation));
        const bool is_late = waited >= again_after_ && time - sent_at > again_after_;
        const bool is_passed = is_overtaken(other, sent_at);
        if (!is_late && !is_passed) { continue; }
        const auto user = grants_.user(other, OutgoingCells::cell_of(*generation));
        const bool is_avoided = user && avoid_keeper(other, *user, sent_at);
        if (!outgoing_cells_.send_again(other, *generation)) { continue; }
        try {
            send_apart(other, container::sort(outgoing_cells_.content(other, *generation)));
        } catch (...) {
            outgoing_cells_.sent_again(other, *generation, false);
            throw;
        }
        outgoing_cells_.sent_again(other, *generation);
        ++counts_.again;
        if (!is_avoided) { again_after_ = std::min(2 * again_after_, 1.0); } // it may be in vain
    }
}

} // namespace nodeaware
