#include "layout.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr int gap = 16;      // around every block, to notice writes beyond its ends
constexpr int alignment = 8; // Alltoallw sends whole 8-byte elements where it can
constexpr unsigned char canary = 0xA5;
constexpr int any_destination = -1; // of a block that goes to several ranks

std::uint64_t mix(std::uint64_t x) { // the finalizer of splitmix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

// The bytes of one message: a linear congruence of which the top byte is taken, so that a
// message that is shifted, swapped with another or left over from an earlier call is noticed.
class Content {
  public:
    Content(int source, int destination, std::int64_t call) {
        const auto pair = static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 |
                          static_cast<std::uint32_t>(destination);
        start_ = mix(mix(pair + 1) + static_cast<std::uint64_t>(call));
    }
    unsigned char operator[](int byte) const {
        const std::uint64_t x = start_ + static_cast<std::uint64_t>(byte) * 0x9E3779B97F4A7C15U;
        return static_cast<unsigned char>(x >> 56);
    }

  private:
    std::uint64_t start_;
};

int add_block(std::vector<Block>& blocks, int peer, std::int64_t bytes, int end, bool contiguous) {
    if (!contiguous) end = (end + alignment - 1) / alignment * alignment;
    blocks.push_back({peer, static_cast<int>(bytes), end});
    return end + static_cast<int>(bytes) + (contiguous ? 0 : gap);
}

// `found` is one byte where it does not say of how many it is the first.
void note(WrongData& wrong, const WrongData& found) {
    const std::int64_t bytes = wrong.bytes + std::max<std::int64_t>(1, found.bytes);
    if (wrong.bytes == 0) wrong = found;
    wrong.bytes = bytes;
}

} // namespace

std::vector<Message> apply_rule(std::vector<Message> messages, BlockRule rule) {
    if (rule == BlockRule::per_message) return messages;
    const bool equal = rule == BlockRule::equal_messages || rule == BlockRule::one_size;
    const auto smaller = [](const Message& a, const Message& b) { return a.bytes < b.bytes; };
    for (auto begin = messages.begin(); begin != messages.end();) {
        const auto end =
            equal ? messages.end() : std::find_if(begin, messages.end(), [&](const Message& m) {
                return m.source != begin->source;
            });
        const std::int64_t bytes = std::max_element(begin, end, smaller)->bytes;
        for (; begin != end; ++begin) begin->bytes = bytes;
    }
    return messages;
}

LargestBuffer largest_buffer(const std::vector<Message>& messages, int ranks) {
    std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), gap);
    std::vector<std::int64_t> received = sent;
    for (const Message& message : messages) {
        // Not the sum of 64-bit sizes without a bound: it must not wrap around.
        const std::int64_t bytes = std::min(message.bytes, std::int64_t{1} << 40);
        sent[static_cast<std::size_t>(message.source)] += bytes + gap + alignment;
        received[static_cast<std::size_t>(message.destination)] += bytes + gap + alignment;
    }
    LargestBuffer largest;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const std::int64_t bytes = std::max(sent[r], received[r]);
        if (bytes > largest.bytes) largest = {rank, bytes};
    }
    return largest;
}

Buffers::Buffers(const std::vector<Message>& messages, int rank, const Placement& placement,
                 Memory& memory)
    : rank_(rank),
      one_block_(placement.rule == BlockRule::per_source || placement.rule == BlockRule::one_size),
      ends_(place(messages, placement)), send_(memory, memory.of_sends(), ends_.send),
      receive_(memory, memory.of_receives(), ends_.receive) {}

Buffers::Ends Buffers::place(const std::vector<Message>& messages, const Placement& placement) {
    int send_end = gap;
    int receive_end = gap;
    for (const Message& message : messages) {
        if (message.source == rank_) {
            if (one_block_ && !sends_.empty()) {
                sends_.push_back({message.destination, sends_[0].bytes, sends_[0].offset});
            } else {
                send_end = add_block(sends_, message.destination, message.bytes, send_end,
                                     placement.contiguous);
            }
        }
        if (message.destination == rank_) {
            receive_end = add_block(receives_, message.source, message.bytes, receive_end,
                                    placement.contiguous);
        }
    }
    return {static_cast<std::size_t>(send_end) + gap, static_cast<std::size_t>(receive_end) + gap};
}

void Buffers::stay_on_host(bool stay) {
    send_.stay_on_host(stay);
    receive_.stay_on_host(stay);
}

void Buffers::copy_sends_off_device() {
    for (const Block& block : sends_) {
        send_.copy_off_device(block.offset, block.bytes);
        if (one_block_) break;
    }
}

void Buffers::copy_receives_to_device() {
    for (const Block& block : receives_) receive_.copy_to_device(block.offset, block.bytes);
}

void Buffers::fill(std::int64_t call) {
    for (const Block& block : sends_) {
        const Content content(rank_, one_block_ ? any_destination : block.peer, call);
        unsigned char* data = send_.host().data() + block.offset;
        for (int i = 0; i < block.bytes; ++i) data[i] = content[i];
        if (one_block_) break;
    }
    std::fill(receive_.host().begin(), receive_.host().end(), canary);
    send_.write();
    receive_.write();
    out_of_place_.clear();
}

void Buffers::take(const std::vector<Arrived>& messages) {
    std::vector<bool> is_taken(receives_.size(), false);
    for (const Arrived& message : messages) {
        std::size_t at = 0;
        while (at < receives_.size() && (receives_[at].peer != message.source || is_taken[at]))
            ++at;
        const bool is_expected = at < receives_.size();
        int room = 0;
        if (is_expected) {
            is_taken[at] = true;
            room = std::min(receives_[at].bytes, message.bytes);
            std::copy_n(message.data, room, receive_.host().data() + receives_[at].offset);
        }
        if (is_expected && message.bytes == room) continue;
        const int found = message.bytes > room ? message.data[room] : canary;
        out_of_place_.push_back(
            {message.bytes - room, 0, rank_, message.source, room, canary, found});
    }
}

void Buffers::verify(std::int64_t call, WrongData& wrong) {
    receive_.read();
    int end = 0; // of what has been looked at
    for (const Block& block : receives_) {
        verify_gap(end, block.offset, call, wrong);
        const Content content(block.peer, one_block_ ? any_destination : rank_, call);
        const unsigned char* data = receive_.host().data() + block.offset;
        for (int i = 0; i < block.bytes; ++i) {
            if (data[i] != content[i])
                note(wrong, {0, call, rank_, block.peer, i, content[i], data[i]});
        }
        end = block.offset + block.bytes;
    }
    verify_gap(end, static_cast<int>(receive_.host().size()), call, wrong);
    for (WrongData& message : out_of_place_) {
        message.call = call;
        note(wrong, message);
    }
}

void Buffers::verify_gap(int begin, int end, std::int64_t call, WrongData& wrong) {
    for (int i = begin; i < end; ++i) {
        const unsigned char found = receive_.host()[static_cast<std::size_t>(i)];
        if (found != canary) note(wrong, {0, call, rank_, no_source, i, canary, found});
    }
}

} // namespace bench
