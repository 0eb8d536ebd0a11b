#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

/// What the library's own messages for point-to-point traffic look like: entries one after the
/// other, each with its bytes, padded to 8.
namespace nodeaware::wire {

struct Entry {
    int32_t source = 0; ///< rank in the communicator of the application
    int32_t tag = 0;
    uint32_t sequence = 0; ///< of the messages from the source to this destination
    uint32_t flags = 0;
    uint64_t bytes = 0; ///< of the message
};

/// The receiver is to tell when the message is matched.
inline constexpr uint32_t tells_match = 1;
/// The message `sequence` that this rank sent to `source` has been matched.
inline constexpr uint32_t acknowledgement = 2;
/// The first `sequence` messages with `tag` that this rank sends to `source` are matched, or will
/// be by receives that are posted.
inline constexpr uint32_t announcement = 4;
/// An envelope: the bytes come from memory to memory, see StraightMessages.
inline constexpr uint32_t straight = 8;

// What both ends of a connection tell each other, see handover.hpp. The bytes of an answer are an
// Answer. Those of the first kind are numbered with the messages and taken in their order.
inline constexpr uint32_t handed_over = 16; ///< its bytes: tags
inline constexpr uint32_t leaves = 32;      ///< its tag: the comparison that it is for, or 0
inline constexpr uint32_t has_left = 64;
inline constexpr uint32_t proposal = 128;
inline constexpr uint32_t answer = 256;
inline constexpr uint32_t declined = 512;
inline constexpr uint32_t given_up = 1024;
inline constexpr uint32_t confirmed = 2048; ///< of the note `sequence`; tag 0: not now
/// What comes from there is to come by MPI again, see BatchEngine::refuse_synchronous().
inline constexpr uint32_t refused = 4096;
/// A send waits there for its receive: whoever waits in the library is to announce what it has
/// posted, as before it blocks.
inline constexpr uint32_t asks = 8192;

struct Answer {
    uint64_t messages = 0;
    uint64_t hash = 0;
    int64_t part = 0;
};

/// Numbered, and no message.
constexpr bool is_note(const Entry& entry) {
    return (entry.flags & (handed_over | leaves | has_left)) != 0;
}
constexpr bool is_message(const Entry& entry) {
    return entry.flags < handed_over && (entry.flags & (acknowledgement | announcement)) == 0;
}

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }
constexpr uint64_t size_of(uint64_t bytes) { return sizeof(Entry) + padded(bytes); }
constexpr uint64_t size_of(const Entry& entry) {
    return size_of((entry.flags & straight) != 0 ? 0 : entry.bytes);
}

/// Bytes that came; what came together is kept as long as any part of it.
using Bytes = std::shared_ptr<const std::byte>;

/// A message, with its bytes unless they come straight.
struct Arrived {
    Entry entry;
    Bytes bytes;
    bool is_straight() const { return (entry.flags & straight) != 0; }
};

/// Calls `take` with each Arrived of what has come together.
template <class Take>
void take_apart(const std::shared_ptr<const std::byte>& bytes, uint64_t size, Take take) {
    for (uint64_t at = 0; at + sizeof(Entry) <= size;) {
        Arrived arrived;
        std::memcpy(&arrived.entry, bytes.get() + at, sizeof arrived.entry);
        arrived.bytes = Bytes(bytes, bytes.get() + at + sizeof(Entry));
        at += size_of(arrived.entry);
        take(std::move(arrived));
    }
}

} // namespace nodeaware::wire

namespace nodeaware {

/// Messages that do not overtake each other: those between two ranks with one tag.
using Channel = std::pair<int, int>; ///< the other rank, tag

} // namespace nodeaware
