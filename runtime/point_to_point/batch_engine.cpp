#include "runtime/point_to_point/batch_engine.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

namespace {

uint64_t number_of(int destination, uint32_t sequence) {
    return uint64_t{static_cast<uint32_t>(destination)} << 32 | sequence;
}

/// One thing more for the application to wait for.
std::shared_ptr<PendingSend> await_one(std::shared_ptr<PendingSend>& pending) {
    if (pending == nullptr) { pending = std::make_shared<PendingSend>(); }
    ++pending->awaited;
    return pending;
}

} // namespace

BatchEngine::BatchEngine(std::shared_ptr<InnerCommunicator> inner,
                         std::shared_ptr<Mailboxes> mailboxes, Payloads payloads, Settings settings)
    : inner_(std::move(inner)), topology_(inner_->topology()), mailboxes_(std::move(mailboxes)),
      settings_(std::move(settings)), comm_(inner_->comm()), rank_(inner_->rank()),
      node_(topology_.node_of(rank_)),
      receives_(settings_.self, topology_.ranks(), std::move(payloads)),
      incoming_(comm_, settings_.tag), outgoing_(comm_),
      credits_({.window = receives_.payloads().window()}),
      sequences_(static_cast<size_t>(topology_.ranks()), 0) {
    mailboxes_->add(settings_.name, *this);
}

BatchEngine::~BatchEngine() { mailboxes_->remove(settings_.name); }

void BatchEngine::write(const UserMemory& memory, const wire::Entry& entry, std::byte* to) {
    std::memcpy(to, &entry, sizeof entry);
    pack_user_memory(memory, to + sizeof entry, comm_);
}

BatchEngine::Way BatchEngine::way_of(uint64_t bytes, const Channel& channel) const {
    const bool is_worth_a_copy = bytes <= surely_eager || (bytes <= settings_.bytes_worth_a_copy &&
                                                           credits_.may_copy(channel, bytes));
    if (is_worth_a_copy) { return Way::copied; }
    const Payloads& payloads = receives_.payloads();
    const bool may_go_straight = payloads.window() > 0 && credits_.may_go_straight(channel) &&
                                 payloads.tag(channel.second, credits_.next(channel));
    return may_go_straight ? Way::straight : Way::copied_without_credit;
}

bool BatchEngine::may_send(uint64_t bytes, int destination, int tag) const {
    const Channel channel{destination, tag};
    if (way_of(bytes, channel) != Way::copied_without_credit || credits_.must_fit(bytes)) {
        return true;
    }
    const auto announced = announced_.find(channel);
    return announced != announced_.end() && credits_.next(channel) < announced->second;
}

std::shared_ptr<PendingSend> BatchEngine::send(const UserMemory& memory, int destination, int tag,
                                               Mode mode, bool is_blocking) {
    const Channel channel{destination, tag};
    const Way way = way_of(memory.bytes, channel);
    const bool is_straight = way == Way::straight;
    const bool is_synchronous = mode == Mode::synchronous;
    const bool takes_credit = !is_straight && memory.bytes > surely_eager;
    const Credits::Mark mark = credits_.mark(channel, takes_credit ? memory.bytes : 0);
    uint32_t& sequence = sequences_[static_cast<size_t>(destination)];
    wire::Entry entry{rank_, tag, sequence, 0, memory.bytes};
    if (is_straight) { entry.flags |= wire::straight; }
    if (mark.is_wanted || is_synchronous) { entry.flags |= wire::tells_match; }
    std::shared_ptr<PendingSend> pending;
    if (is_straight) { send_payload(memory, channel, mode, pending); }
    if (is_straight || is_synchronous || !contribute(memory, entry, destination)) {
        send_alone(memory, entry, destination, is_blocking, pending);
    }
    if ((entry.flags & wire::tells_match) != 0) {
        await_match(mark, sequence, is_synchronous, pending);
    }
    credits_.note_sent(mark);
    ++sequence;
    return pending;
}

/// Before anything else of the message, for MPI may refuse it.
void BatchEngine::send_payload(const UserMemory& memory, const Channel& channel, Mode mode,
                               std::shared_ptr<PendingSend>& pending) {
    const Payloads& payloads = receives_.payloads();
    const int tag = payloads.tag(channel.second, credits_.next(channel)).value_or(0);
    std::vector<std::byte> copy;
    UserMemory sent = memory;
    const bool is_buffered = mode == Mode::buffered;
    if (is_buffered) {
        copy.resize(memory.bytes);
        pack_user_memory(memory, copy.data(), comm_);
        sent = {copy.data(), static_cast<MPI_Count>(copy.size()), MPI_BYTE, copy.size(),
                copy.data()};
    }
    const MPI_Request request = payloads->send(sent, channel.first, tag);
    detached_.add(request, std::move(copy), is_buffered ? nullptr : await_one(pending));
    ++counts_.straight;
}

void BatchEngine::await_match(const Credits::Mark& mark, uint32_t sequence, bool is_synchronous,
                              std::shared_ptr<PendingSend>& pending) {
    Untold& untold = untold_[number_of(mark.channel.first, sequence)];
    untold.mark = mark;
    const auto announced = announced_.find(mark.channel);
    const bool will_match = announced != announced_.end() && mark.number < announced->second;
    if (is_synchronous && !will_match) { untold.pending = await_one(pending); }
}

/// A message that does not travel in a container, or an envelope.
void BatchEngine::send_alone(const UserMemory& memory, const wire::Entry& entry, int destination,
                             bool is_blocking, std::shared_ptr<PendingSend>& pending) {
    const bool is_envelope = (entry.flags & wire::straight) != 0;
    std::vector<std::byte> bytes(wire::size_of(entry));
    write(is_envelope ? UserMemory{} : memory, entry, bytes.data());
    ++counts_.direct;
    const batches::Stream stream{destination, entry.tag, memory.bytes};
    if (settings_.learned.count(stream) == 0) { ++counts_.unexpected; }
    if (!is_blocking || bytes.size() > surely_eager) {
        outgoing_.send(std::move(bytes), destination, settings_.tag);
        return;
    }
    // It has left when the call returns, as one by MPI would have.
    const int size = static_cast<int>(bytes.size());
    if (unsent_ == 0) {
        MPI_CALL(Send, bytes.data(), size, MPI_BYTE, destination, settings_.tag, comm_);
    } else { // which must leave, too, however long this one takes
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_CALL(Isend, bytes.data(), size, MPI_BYTE, destination, settings_.tag, comm_, &request);
        detached_.add(request, std::move(bytes), await_one(pending));
    }
}

bool BatchEngine::contribute(const UserMemory& memory, const wire::Entry& entry, int destination) {
    const bool is_learned = settings_.learned.count({destination, entry.tag, entry.bytes}) > 0;
    if (sends_at_once_ || !is_learned || entry.bytes > settings_.most_gathered) { return false; }
    const uint64_t kind =
        mix(mix(static_cast<uint64_t>(rank_), static_cast<uint64_t>(entry.tag)), entry.bytes);
    const int world_rank = inner_->members()[static_cast<size_t>(destination)];
    const bool is_in = mailboxes_->put(settings_.name, world_rank, kind, wire::size_of(entry),
                                       settings_.timeout_seconds,
                                       [&](std::byte* where) { write(memory, entry, where); });
    if (!is_in) { return false; }
    ++counts_.contributed;
    ++unsent_;
    return true;
}

void BatchEngine::left(bool is_late) {
    --unsent_;
    if (is_late) { ++counts_.late; }
}

void BatchEngine::send_note(const wire::Entry& entry, int destination) {
    std::vector<std::byte> bytes(sizeof entry);
    std::memcpy(bytes.data(), &entry, sizeof entry);
    outgoing_.send(std::move(bytes), destination, settings_.tag);
}

void BatchEngine::receive(const std::shared_ptr<Receive>& receive) {
    receives_.is_back();
    // What is here already is taken without a look at MPI, which may yield the processor.
    if (receives_.find(receive->source, receive->tag) == nullptr) {
        mailboxes_->look();
        receive_some();
    }
    receives_.post(receive);
    acknowledge();
}

void BatchEngine::progress() {
    receives_.is_back();
    receive_some();
    receives_.advance();
    acknowledge();
    outgoing_.advance();
    detached_.advance();
}

void BatchEngine::receive_some() {
    incoming_.advance([this](const IncomingMessages::Message& message) {
        wire::take_apart(message.bytes, message.size,
                         [this](wire::Arrived arrived) { take_one(std::move(arrived)); });
    });
}

void BatchEngine::take(const std::shared_ptr<const std::byte>& bytes, uint64_t size) {
    wire::take_apart(bytes, size, [this](wire::Arrived arrived) { take_one(std::move(arrived)); });
}

void BatchEngine::take_one(wire::Arrived message) {
    if ((message.entry.flags & (wire::acknowledgement | wire::announcement)) == 0) {
        receives_.arrive(std::move(message));
    } else {
        take_note(message.entry);
    }
}

void BatchEngine::take_note(const wire::Entry& entry) {
    if ((entry.flags & wire::acknowledgement) != 0) {
        const auto found = untold_.find(number_of(entry.source, entry.sequence));
        if (found == untold_.end()) { return; }
        const Untold told = std::move(found->second);
        untold_.erase(found);
        credits_.note_matched(told.mark);
        if (told.pending != nullptr) { told.pending->settle(); }
        return;
    }
    const Channel channel{entry.source, entry.tag};
    uint32_t& announced = announced_[channel];
    announced = std::max(announced, entry.sequence);
    std::vector<std::shared_ptr<PendingSend>> over;
    for (auto& [number, untold] : untold_) {
        const bool will_match = untold.mark.channel == channel && untold.mark.number < announced;
        if (will_match && untold.pending != nullptr) { over.push_back(std::move(untold.pending)); }
    }
    for (const auto& pending : over) { pending->settle(); }
}

void BatchEngine::announce() {
    for (wire::Entry entry : receives_.announcements()) {
        const int sender = std::exchange(entry.source, rank_);
        send_note(entry, sender);
    }
}

void BatchEngine::acknowledge() {
    if (receives_.to_acknowledge().empty() || !receives_.knows_payloads()) { return; }
    std::vector<wire::Entry> list;
    list.swap(receives_.to_acknowledge());
    for (const wire::Entry& matched : list) {
        send_note({rank_, 0, matched.sequence, wire::acknowledgement, 0}, matched.source);
    }
}

void BatchEngine::flush() {
    receives_.is_back();
    receives_.open(surely_eager);
    announce();
    acknowledge();
    if (receives_.has_posted_wildcard()) { has_waiting_wildcard_ = true; }
}

bool BatchEngine::is_idle() const { return has_sent() && untold_.empty() && receives_.is_idle(); }

} // namespace nodeaware
