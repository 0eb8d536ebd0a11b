#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nodeaware {

/// What containers for another node were like when they were complete, by the sum of the signatures
/// of their messages: then a rank knows that it has put in the last one, whatever batches its
/// node-mates are in. What is complete at one time may be a part at another, of one size as
/// messages of multigrid's levels often are. So whoever comes too late says so, and what has been
/// held for more is given that chance again after twice as many of these as before. It decides only
/// when a container leaves. In memory that ranks share, zero at first; the last of many are kept.
class KnownContainers {
  public:
    /// It was complete like this at least twice, or nothing came while it was held.
    bool knows(uint64_t signature) const {
        const Entry* const found = find(signature);
        return found != nullptr && found->seen.load(std::memory_order_relaxed) >= enough;
    }
    /// A container was complete.
    void complete(uint64_t signature) {
        if (signature != 0) { entry(signature).seen.fetch_add(1, std::memory_order_relaxed); }
    }
    /// It was held for more in vain.
    void in_vain(uint64_t signature) {
        if (signature == 0) { return; }
        const Entry& kept = entry(signature);
        const uint32_t times = kept.in_vain.load(std::memory_order_relaxed);
        kept.in_vain.store(std::min(times + 1, most_in_vain), std::memory_order_relaxed);
        kept.missed.store(0, std::memory_order_relaxed);
        kept.seen.store(enough, std::memory_order_relaxed);
    }
    /// It was held for more, which came.
    void grown(uint64_t signature) {
        const Entry* const found = find(signature);
        if (found == nullptr) { return; }
        found->in_vain.store(0, std::memory_order_relaxed);
        found->seen.store(0, std::memory_order_relaxed);
    }
    /// One has left, and right after it came what could have travelled in it.
    void missed(uint64_t signature) {
        const Entry* const found = find(signature);
        if (found == nullptr) { return; }
        const uint32_t times = found->missed.fetch_add(1, std::memory_order_relaxed) + 1;
        if (times < uint32_t{1} << found->in_vain.load(std::memory_order_relaxed)) { return; }
        found->missed.store(0, std::memory_order_relaxed);
        found->seen.store(0, std::memory_order_relaxed);
    }

  private:
    static constexpr size_t most = 64;
    static constexpr uint32_t enough = 2;
    static constexpr uint32_t most_in_vain = 12;
    struct Entry {
        std::atomic<uint64_t> signature{0};
        mutable std::atomic<uint32_t> seen{0};
        mutable std::atomic<uint32_t> in_vain{0};
        mutable std::atomic<uint32_t> missed{0};
    };

    const Entry& entry(uint64_t signature) {
        if (const Entry* const found = find(signature)) { return *found; }
        Entry& entry = entries_[next_.fetch_add(1, std::memory_order_relaxed) % most];
        entry.seen.store(0, std::memory_order_relaxed);
        entry.in_vain.store(0, std::memory_order_relaxed);
        entry.missed.store(0, std::memory_order_relaxed);
        entry.signature.store(signature, std::memory_order_relaxed);
        return entry;
    }
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
