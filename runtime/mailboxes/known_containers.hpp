#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nodeaware {

/// What containers for another node were like when they were complete, by the sum of the signatures
/// of their messages: then a rank knows that it has put in the last one, whatever batches its
/// node-mates are in. It decides only when a container leaves. In memory that ranks share, zero at
/// first; the last of many are kept.
class KnownContainers {
  public:
    /// It was complete like this at least twice.
    bool knows(uint64_t signature) const {
        const Entry* const found = find(signature);
        return found != nullptr && found->seen.load(std::memory_order_relaxed) >= enough;
    }
    /// A container was complete.
    void complete(uint64_t signature) {
        if (signature == 0) { return; }
        if (const Entry* const found = find(signature)) {
            found->seen.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        Entry& entry = entries_[next_.fetch_add(1, std::memory_order_relaxed) % most];
        entry.seen.store(1, std::memory_order_relaxed);
        entry.signature.store(signature, std::memory_order_relaxed);
    }
    /// One was like this and not complete.
    void mistaken(uint64_t signature) {
        if (const Entry* const found = find(signature)) {
            found->seen.store(0, std::memory_order_relaxed);
        }
    }

  private:
    static constexpr size_t most = 64;
    static constexpr uint32_t enough = 2;
    struct Entry {
        std::atomic<uint64_t> signature{0};
        mutable std::atomic<uint32_t> seen{0};
    };

    const Entry* find(uint64_t signature) const {
        for (const Entry& entry : entries_) {
            if (entry.signature.load(std::memory_order_relaxed) == signature) { return &entry; }
        }
        return nullptr;
    }

    std::atomic<uint32_t> next_{0};
    std::array<Entry, most> entries_;
};

} // namespace nodeaware
