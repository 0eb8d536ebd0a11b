#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

/// What the library's own messages for point-to-point traffic look like: entries one after the
/// other, each with its bytes, padded to 8.
namespace nodeaware::wire {

struct Entry {
    int32_t source = 0; ///< rank in the communicator of the application
    int32_t tag = 0;
    uint32_t sequence = 0; ///< of the messages from the source to this destination
    uint32_t flags = 0;
    uint64_t bytes = 0;
};

inline constexpr uint32_t synchronous = 1; ///< the sender waits for an acknowledgement
/// The message `sequence` that this rank sent to `source` has been matched.
inline constexpr uint32_t acknowledgement = 2;
/// The first `sequence` messages with `tag` that this rank sends to `source` are matched, or will
/// be by receives that are posted.
inline constexpr uint32_t announcement = 4;

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }
constexpr uint64_t size_of(uint64_t bytes) { return sizeof(Entry) + padded(bytes); }

/// A message with its bytes, as it came.
struct Arrived {
    Entry entry;
    std::shared_ptr<const std::vector<std::byte>> memory;
    uint64_t offset = 0;
    const std::byte* bytes() const { return memory->data() + offset; }
};

} // namespace nodeaware::wire
