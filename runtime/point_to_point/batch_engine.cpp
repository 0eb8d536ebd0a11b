#include "runtime/point_to_point/batch_engine.hpp"

#include "runtime/point_to_point/message_counts.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

namespace {

constexpr size_t most_channels = 65536;

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

BatchEngine::BatchEngine(Owner& owner, std::shared_ptr<Mailboxes> mailboxes,
                         std::shared_ptr<StraightMessages> payloads, Settings settings)
    : owner_(&owner), mailboxes_(std::move(mailboxes)), payloads_(std::move(payloads)),
      settings_(std::move(settings)), proposals_(mailboxes_->proposals(), settings_.name),
      receives_(settings_.self, settings_.members, payloads_,
                [this](const wire::Arrived& note) { take_numbered(note); }),
      credits_({.tags = payloads_ == nullptr ? PayloadTags() : payloads_->tags()}),
      connections_(settings_.members.size()) {}

void BatchEngine::open() { mailboxes_->add(settings_.name, *this); }

BatchEngine::~BatchEngine() {
    report();
    mailboxes_->remove(settings_.name);
    for (int i = 0; i < size(); ++i) {
        if (sends_to(i)) { mailboxes_->takes_part(world(i), -1); }
    }
}

void BatchEngine::report() {
    if (!std::exchange(is_reported_, true)) { message_counts::add(counts_); }
}

BatchEngine::Connection& BatchEngine::connection(int destination) {
    auto& connection = connections_[static_cast<size_t>(destination)];
    if (connection == nullptr) { connection = std::make_unique<Connection>(); }
    return *connection;
}

void BatchEngine::write(const UserMemory& memory, const wire::Entry& entry, std::byte* to) {
    std::memcpy(to, &entry, sizeof entry);
    pack_user_memory(memory, to + sizeof entry, settings_.self);
}

/// Of the next message on the channel, if it may go straight.
std::optional<int> BatchEngine::payload_tag(const Channel& channel) const {
    const auto& connection = connections_[static_cast<size_t>(channel.first)];
    if (payloads_ == nullptr || connection == nullptr) { return std::nullopt; }
    return payloads_->tag(connection->part, channel.second, credits_.next(channel));
}

BatchEngine::Way BatchEngine::way_of(uint64_t bytes, const Channel& channel) const {
    const bool is_worth_a_copy = bytes <= surely_eager || (bytes <= settings_.bytes_worth_a_copy &&
                                                           credits_.may_copy(channel, bytes));
    if (is_worth_a_copy) { return Way::copied; }
    const bool may_go_straight = credits_.may_go_straight(channel) && payload_tag(channel);
    return may_go_straight ? Way::straight : Way::copied_without_credit;
}

bool BatchEngine::may_send(uint64_t bytes, int destination, int tag) const {
    const Channel channel{destination, tag};
    if (way_of(bytes, channel) != Way::copied_without_credit || credits_.must_fit(bytes)) {
        return true;
    }
    return is_announced(channel, credits_.next(channel));
}

bool BatchEngine::is_announced(const Channel& channel, uint32_t number) const {
    const auto announced = announced_.find(channel);
    return announced != announced_.end() && number < announced->second;
}

void BatchEngine::ask_for_receive(int destination) {
    send_note({0, 0, 0, wire::asks, 0}, destination);
}

std::shared_ptr<PendingSend> BatchEngine::send(const UserMemory& memory, int destination, int tag,
                                               Mode mode, bool is_blocking) {
    send_owed(destination);
    const Channel channel{destination, tag};
    const Way way = way_of(memory.bytes, channel);
    const bool is_straight = way == Way::straight;
    const bool is_synchronous = mode == Mode::synchronous;
    const bool takes_credit = !is_straight && memory.bytes > surely_eager;
    const Credits::Mark mark = credits_.mark(channel, takes_credit ? memory.bytes : 0);
    uint32_t& sequence = connection(destination).sequence;
    wire::Entry entry{settings_.rank, tag, sequence, 0, memory.bytes};
    if (is_straight) { entry.flags |= wire::straight; }
    if (mark.is_wanted || is_synchronous) { entry.flags |= wire::tells_match; }
    std::shared_ptr<PendingSend> pending;
    if (is_straight) { send_payload(memory, channel, mode, pending); }
    const UserMemory written = is_straight ? UserMemory{} : memory;
    if (is_synchronous || !contribute(written, entry, destination)) {
        send_alone(written, entry, destination, is_blocking, mode == Mode::buffered, pending);
    }
    if ((entry.flags & wire::tells_match) != 0) {
        await_match(mark, sequence, is_synchronous, pending);
    }
    credits_.note_sent(mark);
    ++sequence;
    // Programs that count their tags up would be remembered for ever.
    if (credits_.channels() > most_channels && !connection(destination).wants_back) { leave(); }
    return pending;
}

/// Before anything else of the message, for MPI may refuse it.
void BatchEngine::send_payload(const UserMemory& memory, const Channel& channel, Mode mode,
                               std::shared_ptr<PendingSend>& pending) {
    const int tag = payload_tag(channel).value_or(0);
    std::vector<std::byte> copy;
    UserMemory sent = memory;
    const bool is_buffered = mode == Mode::buffered;
    if (is_buffered) {
        copy.resize(memory.bytes);
        pack_user_memory(memory, copy.data(), settings_.self);
        sent = {copy.data(), static_cast<MPI_Count>(copy.size()), MPI_BYTE, copy.size(),
                copy.data()};
    }
    const MPI_Request request = payloads_->send(sent, world(channel.first), tag);
    detached_.add(request, std::move(copy), await_one(pending));
    ++counts_.straight;
}

void BatchEngine::await_match(const Credits::Mark& mark, uint32_t sequence, bool is_synchronous,
                              std::shared_ptr<PendingSend>& pending) {
    const uint64_t key = number_of(mark.channel.first, sequence);
    Untold& untold = untold_[key];
    untold.mark = mark;
    if (!is_synchronous || is_announced(mark.channel, mark.number)) { return; }
    awaited_[mark.channel][mark.number] = key;
    untold.pending = await_one(pending);
}

/// A message that does not travel in a container, or an envelope.
void BatchEngine::send_alone(const UserMemory& memory, const wire::Entry& entry, int destination,
                             bool is_blocking, bool is_buffered,
                             std::shared_ptr<PendingSend>& pending) {
    std::span<std::byte> at;
    std::vector<std::byte> bytes = Mailboxes::framed(settings_.name, wire::size_of(entry), &at);
    write(memory, entry, at.data());
    ++counts_.direct;
    if (owner_ != nullptr && !owner_->is_learned(destination)) { ++counts_.unexpected; }
    const bool is_large = bytes.size() > surely_eager;
    const bool is_awaited = is_large ? is_buffered : is_blocking;
    if (!is_awaited) {
        mailboxes_->send(std::move(bytes), world(destination));
    } else if (!is_large && unsent_ == 0) { // it has left when the call returns, as one by MPI
        mailboxes_->send_at_once(bytes, world(destination));
    } else { // what has not been sent must leave, too, however long this one takes
        const MPI_Request request = mailboxes_->begin_send(bytes, world(destination));
        detached_.add(request, std::move(bytes), await_one(pending));
    }
}

bool BatchEngine::contribute(const UserMemory& memory, const wire::Entry& entry, int destination) {
    const uint64_t bytes = wire::size_of(entry) - sizeof entry;
    if (owner_ == nullptr || bytes > settings_.most_gathered) { return false; }
    if (!owner_->is_learned(destination)) { return false; }
    // While it is being written, the container of the node cannot leave: not for a device.
    std::vector<std::byte> packed;
    UserMemory written = memory;
    if (memory.place.is_on_device) {
        packed.resize(memory.bytes);
        pack_user_memory(memory, packed.data(), settings_.self);
        written = {packed.data(), static_cast<MPI_Count>(packed.size()), MPI_BYTE, packed.size(),
                   packed.data()};
    }
    const auto from = static_cast<uint64_t>(settings_.rank);
    const uint64_t kind = mix(from, entry.bytes); // tags may be new each time
    const bool is_in = mailboxes_->put(settings_.name, world(destination), kind,
                                       wire::size_of(entry), owner_->patience(),
                                       [&](std::byte* where) { write(written, entry, where); });
    if (!is_in) { return false; }
    ++counts_.contributed;
    ++unsent_;
    return true;
}

void BatchEngine::left(bool is_late) {
    --unsent_;
    if (is_late) { ++counts_.late; }
}

void BatchEngine::send_note(wire::Entry entry, int destination, std::span<const std::byte> bytes) {
    entry.source = settings_.rank;
    entry.bytes = bytes.size();
    std::span<std::byte> at;
    std::vector<std::byte> framed = Mailboxes::framed(settings_.name, wire::size_of(entry), &at);
    std::memcpy(at.data(), &entry, sizeof entry);
    if (!bytes.empty()) { std::memcpy(at.data() + sizeof entry, bytes.data(), bytes.size()); }
    mailboxes_->send(std::move(framed), world(destination));
}

void BatchEngine::receive(const std::shared_ptr<Receive>& receive) {
    receives_.is_back();
    receives_.post(receive);
    acknowledge();
}

void BatchEngine::progress() {
    receives_.is_back();
    receives_.advance();
    acknowledge();
    detached_.advance();
    if (asks_back()) { ask_back(false); }
}

void BatchEngine::take(const std::shared_ptr<const std::byte>& bytes, uint64_t size) {
    wire::take_apart(bytes, size, [this](wire::Arrived arrived) { take_one(std::move(arrived)); });
}

void BatchEngine::take_one(wire::Arrived message) {
    const wire::Entry& entry = message.entry;
    if ((entry.flags & wire::acknowledgement) != 0) { return take_acknowledgement(entry); }
    if ((entry.flags & wire::announcement) != 0) { return take_announcement(entry); }
    if (wire::is_message(entry) || wire::is_note(entry)) {
        return receives_.arrive(std::move(message));
    }
    take_control(message);
}

void BatchEngine::take_acknowledgement(const wire::Entry& entry) {
    const auto found = untold_.find(number_of(entry.source, entry.sequence));
    if (found == untold_.end()) { return; }
    const Untold told = std::move(found->second);
    untold_.erase(found);
    if (told.counts) {
        forget_awaited(told.mark.channel, told.mark.number);
        credits_.note_matched(told.mark);
    }
    if (told.pending != nullptr) { told.pending->settle(); }
}

void BatchEngine::take_announcement(const wire::Entry& entry) {
    const Channel channel{entry.source, entry.tag};
    uint32_t& announced = announced_[channel];
    announced = std::max(announced, entry.sequence);
    const auto awaited = awaited_.find(channel);
    if (awaited == awaited_.end()) { return; }
    std::vector<std::shared_ptr<PendingSend>> over;
    const auto end = awaited->second.lower_bound(announced);
    for (auto at = awaited->second.begin(); at != end; ++at) {
        over.push_back(std::move(untold_.at(at->second).pending));
    }
    awaited->second.erase(awaited->second.begin(), end);
    if (awaited->second.empty()) { awaited_.erase(awaited); }
    for (const auto& pending : over) { pending->settle(); }
}

void BatchEngine::forget_awaited(const Channel& channel, uint32_t number) {
    const auto awaited = awaited_.find(channel);
    if (awaited == awaited_.end()) { return; }
    awaited->second.erase(number);
    if (awaited->second.empty()) { awaited_.erase(awaited); }
}

void BatchEngine::announce() {
    for (const wire::Entry& entry : receives_.announcements()) { send_note(entry, entry.source); }
}

void BatchEngine::acknowledge() {
    if (receives_.to_acknowledge().empty() || !receives_.knows_payloads()) { return; }
    std::vector<wire::Entry> list;
    list.swap(receives_.to_acknowledge());
    for (const wire::Entry& matched : list) {
        send_note({0, 0, matched.sequence, wire::acknowledgement, 0}, matched.source);
    }
}

void BatchEngine::catch_up() {
    receives_.is_back();
    receives_.advance(); // what MPI has matched is not announced
    acknowledge();
}

void BatchEngine::flush() {
    if (receives_.is_flushed()) { return; }
    if (receives_.has_posted_wildcard()) {
        if (owner_ != nullptr) { owner_->note_waiting_wildcard(); }
        refuse_synchronous();
    }
    receives_.open(surely_eager);
    announce();
    receives_.note_flushed();
}

void BatchEngine::communicator_freed() {
    owner_ = nullptr;
    receives_.communicator_freed();
}

bool BatchEngine::is_idle() const { return has_sent() && untold_.empty() && receives_.is_idle(); }

} // namespace nodeaware
