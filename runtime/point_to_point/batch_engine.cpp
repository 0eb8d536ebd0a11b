#include "runtime/point_to_point/batch_engine.hpp"

#include "runtime/job/log.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

namespace {

/// Larger messages count in blocks, for MPI counts are int. Each has one entry.
constexpr uint64_t largest_plain = uint64_t{1} << 30;
constexpr int block_bytes = 1 << 20;

class BlockType {
  public:
    BlockType() {
        MPI_CALL(Type_contiguous, block_bytes, MPI_BYTE, &handle_);
        MPI_CALL(Type_commit, &handle_);
    }
    ~BlockType() { mpi.Type_free(&handle_); }
    BlockType(const BlockType&) = delete;
    BlockType& operator=(const BlockType&) = delete;
    MPI_Datatype handle() const { return handle_; }

  private:
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

uint64_t number_of(int destination, uint32_t sequence) {
    return uint64_t{static_cast<uint32_t>(destination)} << 32 | sequence;
}

} // namespace

BatchEngine::BatchEngine(std::shared_ptr<InnerCommunicator> inner, Containers containers,
                         SharedMemory memory, Settings settings)
    : inner_(std::move(inner)), topology_(inner_->topology()), containers_(std::move(containers)),
      memory_(std::move(memory)), settings_(std::move(settings)), comm_(inner_->comm()),
      rank_(inner_->rank()), node_(topology_.node_of(rank_)), receives_(settings_.self),
      sequences_(static_cast<size_t>(topology_.ranks()), 0) {
    containers_.attach(memory_.data());
    receives_.count_sources(topology_.ranks());
}

BatchEngine::~BatchEngine() {
    for (Outgoing& message : outgoing_) { mpi.Wait(&message.request, MPI_STATUS_IGNORE); }
}

void BatchEngine::write(const UserMemory& memory, const wire::Entry& entry, std::byte* to) {
    std::memcpy(to, &entry, sizeof entry);
    pack_user_memory(memory, to + sizeof entry, comm_);
}

std::optional<uint64_t> BatchEngine::send(const UserMemory& memory, int destination, int tag,
                                          bool synchronous) {
    wire::Entry entry{rank_, tag, sequences_[static_cast<size_t>(destination)], 0, memory.bytes};
    if (synchronous) { entry.flags = wire::synchronous; }
    if (synchronous || !contribute(memory, entry, destination)) {
        std::vector<std::byte> bytes(wire::size_of(memory.bytes));
        write(memory, entry, bytes.data());
        ++counts_.direct;
        const batches::Stream stream{destination, tag, memory.bytes};
        const bool is_expected = settings_.learned.count(stream) > 0 && !containers_.has(stream);
        if (!is_expected) { ++counts_.unexpected; }
        send_bytes(std::move(bytes), destination);
    }
    ++sequences_[static_cast<size_t>(destination)];
    const Channel channel{destination, tag};
    const uint32_t index = sent_on_[channel]++;
    if (!synchronous) { return std::nullopt; }
    const uint64_t number = number_of(destination, entry.sequence);
    if (index >= expected_on_[channel]) { unacknowledged_[number] = {channel, index, nullptr}; }
    return number;
}

bool BatchEngine::is_acknowledged(uint64_t number) const {
    return unacknowledged_.count(number) == 0;
}

void BatchEngine::when_acknowledged(uint64_t number, std::function<void()> then) {
    const auto waiting = unacknowledged_.find(number);
    if (waiting == unacknowledged_.end()) {
        then();
    } else {
        waiting->second.then = std::move(then);
    }
}

bool BatchEngine::contribute(const UserMemory& memory, const wire::Entry& entry, int destination) {
    const auto place = containers_.next_reservation({destination, entry.tag, entry.bytes});
    if (!place) { return false; }
    std::byte* const slot = containers_.reserve(*place);
    if (slot == nullptr) { return false; }
    try {
        write(memory, entry, slot);
    } catch (...) {
        containers_.withdraw(*place);
        if (containers_.commit(*place)) { send_cell(*place); }
        throw;
    }
    ++counts_.contributed;
    if (containers_.commit(*place)) {
        ++counts_.containers;
        send_cell(*place);
    } else {
        unsent_.push_back({*place, now()});
    }
    return true;
}

void BatchEngine::send_cell(const Containers::Reservation& place) {
    send_bytes(containers_.take(place), containers_.destination(place.container));
}

void BatchEngine::send_bytes(std::vector<std::byte> bytes, int destination) {
    if (bytes.empty()) { return; }
    const bool in_blocks = bytes.size() > largest_plain;
    if (in_blocks) { bytes.resize((bytes.size() + block_bytes - 1) / block_bytes * block_bytes); }
    Outgoing message{MPI_REQUEST_NULL, std::make_unique<std::vector<std::byte>>(std::move(bytes))};
    if (in_blocks) {
        const BlockType type;
        MPI_CALL(Isend, message.bytes->data(),
                 static_cast<int>(message.bytes->size() / block_bytes), type.handle(), destination,
                 settings_.tag, comm_, &message.request);
        outgoing_.push_back(std::move(message));
        return;
    }
    MPI_CALL(Isend, message.bytes->data(), static_cast<int>(message.bytes->size()), MPI_BYTE,
             destination, settings_.tag, comm_, &message.request);
    outgoing_.push_back(std::move(message));
}

void BatchEngine::receive(const std::shared_ptr<Receive>& receive) {
    receive_some();
    receives_.post(receive);
    if (!receive->is_done && receive->source == MPI_ANY_SOURCE) {
        const int code = begin_receive(receive->memory, MPI_ANY_SOURCE, receive->tag,
                                       settings_.comm, &receive->shadow);
        if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Irecv"); }
    }
    acknowledge();
}

void BatchEngine::progress() {
    receive_some();
    receives_.check_shadows();
    acknowledge();
    look_after_unsent();
    size_t kept = 0;
    for (Outgoing& message : outgoing_) {
        int flag = 0;
        MPI_CALL(Test, &message.request, &flag, MPI_STATUS_IGNORE);
        if (flag == 0) { outgoing_[kept++] = std::move(message); }
    }
    outgoing_.resize(kept);
}

void BatchEngine::receive_some() {
    constexpr int most = 64;
    for (int i = 0; i < most; ++i) {
        int found = 0;
        MPI_Status status;
        MPI_CALL(Iprobe, MPI_ANY_SOURCE, settings_.tag, comm_, &found, &status);
        if (found == 0) { return; }
        MPI_Count count = 0;
        MPI_CALL(Get_elements_x, &status, MPI_BYTE, &count);
        std::vector<std::byte> bytes(static_cast<size_t>(count));
        if (bytes.size() > largest_plain) {
            const BlockType type;
            MPI_CALL(Recv, bytes.data(), static_cast<int>(count / block_bytes), type.handle(),
                     status.MPI_SOURCE, settings_.tag, comm_, MPI_STATUS_IGNORE);
        } else {
            MPI_CALL(Recv, bytes.data(), static_cast<int>(count), MPI_BYTE, status.MPI_SOURCE,
                     settings_.tag, comm_, MPI_STATUS_IGNORE);
        }
        take_apart(std::move(bytes));
    }
}

void BatchEngine::take_apart(std::vector<std::byte> bytes) {
    const auto memory = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    for (uint64_t at = 0; at + sizeof(wire::Entry) <= memory->size();) {
        wire::Arrived message{{}, memory, at + sizeof(wire::Entry)};
        std::memcpy(&message.entry, memory->data() + at, sizeof message.entry);
        at += wire::size_of(message.entry.bytes);
        if (memory->size() > largest_plain) { at = memory->size(); } // the rest fills a block
        if ((message.entry.flags & (wire::acknowledgement | wire::announcement)) == 0) {
            receives_.arrive(std::move(message));
        } else {
            take_note(message.entry);
        }
    }
}

void BatchEngine::take_note(const wire::Entry& entry) {
    if ((entry.flags & wire::acknowledgement) != 0) {
        settle(number_of(entry.source, entry.sequence));
        return;
    }
    const Channel channel{entry.source, entry.tag};
    uint32_t& expected = expected_on_[channel];
    expected = std::max(expected, entry.sequence);
    std::vector<uint64_t> numbers;
    for (const auto& [number, waiting] : unacknowledged_) {
        if (waiting.channel == channel && waiting.index < expected) { numbers.push_back(number); }
    }
    for (const uint64_t number : numbers) { settle(number); }
}

void BatchEngine::settle(uint64_t number) {
    const auto waiting = unacknowledged_.find(number);
    if (waiting == unacknowledged_.end()) { return; }
    const std::function<void()> then = std::move(waiting->second.then);
    unacknowledged_.erase(waiting);
    if (then) { then(); }
}

void BatchEngine::announce() {
    for (wire::Entry entry : receives_.announcements()) {
        const int sender = std::exchange(entry.source, rank_);
        std::vector<std::byte> bytes(sizeof entry);
        std::memcpy(bytes.data(), &entry, sizeof entry);
        send_bytes(std::move(bytes), sender);
    }
}

void BatchEngine::acknowledge() {
    std::vector<wire::Entry> list;
    list.swap(receives_.to_acknowledge());
    for (const wire::Entry& matched : list) {
        const wire::Entry entry{rank_, 0, matched.sequence, wire::acknowledgement, 0};
        std::vector<std::byte> bytes(sizeof entry);
        std::memcpy(bytes.data(), &entry, sizeof entry);
        send_bytes(std::move(bytes), matched.source);
    }
}

void BatchEngine::look_after_unsent() {
    if (unsent_.empty()) { return; }
    const double time = now();
    size_t kept = 0;
    for (const Unsent& unsent : unsent_) {
        if (containers_.is_closed(unsent.place)) {
            containers_.note_in_time(unsent.place);
            continue;
        }
        if (time - unsent.since < settings_.timeout_seconds) {
            unsent_[kept++] = unsent;
            continue;
        }
        containers_.note_overdue(unsent.place);
        if (containers_.close(unsent.place)) {
            ++counts_.flushed;
            ++counts_.overdue;
            send_cell(unsent.place);
        }
    }
    unsent_.resize(kept);
}

void BatchEngine::flush() {
    for (const Unsent& unsent : unsent_) {
        if (containers_.close(unsent.place)) {
            ++counts_.flushed;
            send_cell(unsent.place);
        }
    }
    unsent_.clear();
    announce();
    if (receives_.has_posted_wildcard()) { has_waiting_wildcard_ = true; }
}

bool BatchEngine::is_idle() const {
    return has_sent() && unacknowledged_.empty() && !receives_.has_posted() &&
           !receives_.has_arrived();
}

} // namespace nodeaware
