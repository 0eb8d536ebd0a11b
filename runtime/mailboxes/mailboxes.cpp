#include "runtime/mailboxes/mailboxes.hpp"

#include "runtime/communicators/communicator.hpp"
#include "runtime/mailboxes/tags.hpp"
#include "runtime/memory/local_group.hpp"
#include "runtime/progress/clock.hpp"
#include "strategies/containers.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <set>
#include <utility>

namespace nodeaware {

using namespace mailbox_messages;

namespace {

/// Ranks on other nodes for which this node has cells, where these are not of more nodes: each poll
/// looks at all of their cells.
constexpr int most_slots = 128;

constexpr uint64_t aligned(uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

} // namespace

double a_few_messages(const World& world) {
    return a_few * world.options.parameters.costs.protocols[0].latency;
}

double automatic_batch_timeout(const World& world) {
    return std::max(a_few_messages(world), world.oversubscribed ? 20e-3 : 100e-6);
}

bool Mailboxes::are_wanted(const World& world) {
    bool all_native = true;
    for (size_t i = 0; i < operation_count; ++i) {
        const auto operation = static_cast<Operation>(i);
        const bool is_native = world.leaves_to_mpi(operation);
        // Threads begin nonblocking operations at the same time, which is why they do without.
        const bool is_of_use = operation == Operation::point_to_point ||
                               (is_nonblocking(operation) && !world.threads_at_once);
        all_native = all_native && (is_native || !is_of_use);
    }
    const size_t nodes = world.nodes();
    return !all_native && nodes > 1 && nodes < world.node_of.size();
}

std::shared_ptr<Mailboxes> Mailboxes::create(const World& world) {
    Communicator& communicator = Communicator::of(MPI_COMM_WORLD, world);
    if (communicator.obstacle(Operation::point_to_point) != Reason::none) { return nullptr; }
    std::shared_ptr<Mailboxes> made(new Mailboxes(communicator.shared_inner(), world));
    const int mine = made->create_memory(world.options.parameters.arena_bytes) ? 1 : 0;
    int all = 0;
    MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, made->comm_);
    if (all == 0) { return nullptr; }
    made->measure();
    return made;
}

/// Some questions from each node to the next, all at once. What is answered has come.
void Mailboxes::measure() {
    if (local_ != 0) { return; }
    const int nodes = topology_.nodes();
    const int next = topology_.ranks_of((node_ + 1) % nodes).front();
    const int before = topology_.ranks_of((node_ + nodes - 1) % nodes).front();
    const auto send = [&](int destination, int source) {
        return try_twice([&] {
            return mpi.Sendrecv(nullptr, 0, MPI_BYTE, destination, end_tag, nullptr, 0, MPI_BYTE,
                                source, end_tag, comm_, MPI_STATUS_IGNORE);
        });
    };
    constexpr int times = 10;
    for (int i = 0; i < times; ++i) {
        const double start = now();
        const bool is_asked = send(next, before);
        const bool is_answered = send(before, next);
        if (is_asked && is_answered) { note_round_trip(now() - start); }
    }
}

Mailboxes::Mailboxes(std::shared_ptr<InnerCommunicator> inner, const World& world)
    : inner_(std::move(inner)), comm_(inner_->comm()), rank_(world.rank), topology_(world.node_of),
      node_(topology_.node_of(rank_)), local_(topology_.local_of(rank_)),
      senders_(static_cast<size_t>(topology_.ranks()), -1), mates_(topology_.ranks_on(node_)),
      proposals_(topology_.ranks_on(node_)), outgoing_cells_(0, 0), grants_(0, 0), expected_(0, 0),
      incoming_cells_(0, 0, 0, 0), rings_(0, 0), incoming_(comm_, tags::of_mailboxes),
      outgoing_(comm_) {
    for (int rank = 0; rank < topology_.ranks(); ++rank) {
        if (topology_.node_of(rank) == node_) { continue; }
        senders_[static_cast<size_t>(rank)] = static_cast<int>(rank_of_sender_.size());
        rank_of_sender_.push_back(rank);
    }
    const auto others = static_cast<size_t>(topology_.nodes() - 1);
    keepers_.assign(others, -1);
    asked_.assign(others, false);
    uses_.assign(others * Grants::cells, 0);
    sent_.assign(kinds * static_cast<size_t>(topology_.ranks()), 0);
    sent_by_all_ = sent_;
    few_messages_ = automatic_batch_timeout(world);
    note_eager_ = [this](const OutgoingMessages::Sent& sent) {
        eager_limit_.note(sent.bytes, sent.at_least, sent.at_most, round_trip());
    };
}

/// All nodes have cells of the same size, whatever the number of ranks on them. `limit`: bytes.
bool Mailboxes::create_memory(uint64_t limit) {
    const int others = topology_.nodes() - 1;
    const uint64_t most_ranks = static_cast<uint64_t>(topology_.most_ranks_on_a_node());
    const auto cells = containers::cells_of(limit, others, container::overhead(most_ranks));
    if (cells.bytes == 0) { return false; }
    cell_bytes_ = static_cast<uint32_t>(cells.bytes);
    most_bytes_ = cells.most_bytes();
    const int here = topology_.ranks_on(node_);
    outgoing_cells_ = OutgoingCells(others, static_cast<uint32_t>(cells.collected));
    grants_ = Grants(others, here);
    const auto senders = static_cast<int>(rank_of_sender_.size());
    const uint64_t room = limit / 8 / static_cast<uint64_t>(here); // in a ring
    rings_ = Rings(here, std::min(uint64_t{Grants::cells} * cell_bytes_, room / 64 * 64));
    const auto fitting = static_cast<int>((limit / 2 - std::min(limit / 8, rings_.memory_bytes())) /
                                          Grants::cells / cell_bytes_);
    const int slots = std::min({senders, std::max(others, most_slots), fitting});
    most_slots_of_a_node_ = std::max(1, slots / others);
    incoming_cells_ = IncomingCells(senders, slots, here, cell_bytes_);
    const uint64_t outgoing_at = aligned(mates_.memory_bytes());
    const uint64_t grants_at = outgoing_at + aligned(outgoing_cells_.memory_bytes());
    expected_ = ExpectedTraffic(others, here);
    const uint64_t expected_at = grants_at + aligned(grants_.memory_bytes());
    const uint64_t limit_at = expected_at + aligned(expected_.memory_bytes());
    const uint64_t proposals_at = limit_at + aligned(EagerLimit::memory_bytes());
    const uint64_t incoming_at = proposals_at + aligned(Proposals::memory_bytes());
    const uint64_t rings_at = incoming_at + aligned(incoming_cells_.memory_bytes());
    const uint64_t bytes = rings_at + aligned(rings_.memory_bytes());
    const LocalGroup group(comm_, topology_.ranks_of(node_), local_);
    memory_ = SharedMemory::create(group, bytes);
    if (memory_.data() == nullptr) { return false; }
    mates_.attach(memory_.data());
    outgoing_cells_.attach(memory_.data() + outgoing_at);
    grants_.attach(memory_.data() + grants_at);
    expected_.attach(memory_.data() + expected_at);
    eager_limit_.attach(memory_.data() + limit_at);
    proposals_.attach(memory_.data() + proposals_at);
    incoming_cells_.attach(memory_.data() + incoming_at);
    rings_.attach(memory_.data() + rings_at);
    if (local_ == 0) { outgoing_cells_.initialize(); }
    return true; // others use it after a call that all ranks take part in
}

Mailboxes::~Mailboxes() = default;

void Mailboxes::add(Name name, Addressee& addressee) {
    const std::vector<EarlyMessages::Message> early = early_.comes(name);
    addressees_[name] = &addressee;
    try {
        for (const auto& [bytes, size] : early) { addressee.take(bytes, size); }
    } catch (...) {
        remove(name);
        throw;
    }
}

void Mailboxes::remove(Name name) { addressees_.erase(name); }

/// Cells that were granted are looked after as long as anybody here may find something in them:
/// where all has been given back, waiting is MPI's again.
bool Mailboxes::is_busy() const {
    return is_closing_ || failed_look_ != nullptr || looks_after_unsent_ || expecting_ > 0 ||
           mates_.anybody_takes_part() || !outgoing_.empty() ||
           (incoming_cells_.granted() > 0 && mates_.anybody_expects());
}

void Mailboxes::receive_some() {
    tell_of_failed_look();
    look();
    look_at_mpi();
}

/// Whatever fails concerns messages of others: the next look that may fail tells of it.
void Mailboxes::look_for_cells() noexcept {
    if (lacks_cells_at_ != looks_ || is_closed_) { return; }
    try {
        receive_some();
    } catch (...) { failed_look_ = std::current_exception(); }
}

void Mailboxes::tell_of_failed_look() {
    if (failed_look_ != nullptr) { std::rethrow_exception(std::exchange(failed_look_, nullptr)); }
}

void Mailboxes::look_at_mpi() {
    ++looks_;
    incoming_.advance([this](const auto& message) { take_message(message); });
}

/// What is complete leaves before a look at MPI, which may take long.
void Mailboxes::advance() {
    tell_of_failed_look();
    look();
    close_ready();
    forget_sent();
    look_at_mpi();
    look_after_cells();
    send_again();
    outgoing_.advance();
}

void Mailboxes::set_waiting(bool waits) {
    is_back();
    if (waits && is_busy()) {
        waiting_since_ = now();
        mates_.begin_waiting(local_, waiting_since_);
    } else if (!waits && waiting_since_ != 0) {
        waiting_since_ = 0;
        has_looked_in_vain_ = false;
        mates_.end_waiting(local_, now());
        if (mates_.is_collecting() && !mates_.anybody_looks()) { close_what_may_leave(); }
    }
}

/// What waits for more, and could have left, is not to wait until somebody looks again.
void Mailboxes::close_what_may_leave() {
    try {
        close_ready();
    } catch (const MpiError&) { // left to the next look
    } catch (const std::bad_alloc&) {}
}

/// It may be the last for whom the others have waited, and they may be away: so it closes itself.
void Mailboxes::need_not_wait() {
    looks_no_more();
    if (unsent_.empty() && !mates_.is_collecting()) { return; }
    mates_.need_not_wait(local_, now());
    close_ready();
    forget_sent();
}

void Mailboxes::has_looked(bool in_vain) {
    is_back();
    if (waiting_since_ != 0) { return; }
    if (!in_vain) {
        need_not_wait();
    } else if (has_looked_in_vain_) {
        mates_.looks_again(local_);
    } else if (is_busy()) {
        has_looked_in_vain_ = true;
        mates_.begin_waiting(local_, now(), false);
    }
}

void Mailboxes::looks_no_more() {
    if (!has_looked_in_vain_) { return; }
    has_looked_in_vain_ = false;
    mates_.end_waiting(local_, now());
}

void Mailboxes::before_blocking() {
    if (is_closed_) { return; }
    for (const Unsent& unsent : unsent_) { try_to_send(unsent.node, unsent.generation); }
    for (int other = 0; other < topology_.nodes() - 1; ++other) { send_put_back(other); }
    forget_sent();
    if (mates_.anybody_takes_part() && mates_.round_trip() != 0) {
        is_away_ = true;
        mates_.goes_away(local_, now());
    }
}

void Mailboxes::is_back() {
    if (!is_away_) { return; }
    is_away_ = false;
    mates_.is_back(local_);
}

} // namespace nodeaware
