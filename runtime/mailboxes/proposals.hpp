#pragma once

#include "strategies/traffic.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace nodeaware {

/// What has become of the connections that the ranks of a node proposed to hand over, of each
/// communicator (those few of which the names have the same hash count as one). Layout over memory
/// that is given, zero at first.
///
/// Programs that are driven by messages have receives with wildcards in MPI most of the time, so
/// that most is declined, by two messages each time that are in the way of theirs; and of the few
/// that are handed over little can be gathered.
class Proposals {
  public:
    explicit Proposals(int ranks) : few_(2 * static_cast<uint64_t>(ranks)) {}
    static constexpr uint64_t memory_bytes() { return sizeof(Table); }
    void attach(std::byte* memory) { memory_ = memory; }

    void asked(uint64_t name) { add(of(name).asked); }
    void accepted(uint64_t name) { add(of(name).accepted); }
    void declined(uint64_t name) { add(of(name).declined); }
    /// A message by MPI to another node.
    void sent(uint64_t name) { add(of(name).sent); }

    /// One more may be asked. A node asks a few at first, as many more as have accepted, and beside
    /// these for no more than a hundredth of what it sends, ever more seldom; a rank of which it is
    /// `likely` that it is declined begins with a thousandth. What is not answered yet may be
    /// declined, too.
    bool may_ask(uint64_t name, bool likely) const {
        const Ledger& ledger = of(name);
        const uint64_t spent = read(ledger.asked);
        const uint64_t free = 2 * read(ledger.accepted) + (likely ? 0 : few_);
        if (spent < free) { return true; }
        constexpr uint64_t messages_each = 2;
        const uint64_t share = likely ? 1000 : 100;
        const uint64_t sent = read(ledger.sent) / share;
        const auto doublings = static_cast<uint64_t>(std::bit_width(sent / few_));
        return spent - free < std::min(sent / messages_each, doublings * few_);
    }

    /// So few are handed over that it is not worth while.
    bool are_mostly_declined(uint64_t name) const {
        const Ledger& ledger = of(name);
        const uint64_t declined = read(ledger.declined);
        return declined >= few_ && declined > 2 * read(ledger.accepted);
    }

  private:
    using Counter = std::atomic<uint64_t>;
    struct alignas(64) Ledger {
        Counter asked{0};
        Counter accepted{0};
        Counter declined{0};
        Counter sent{0};
    };
    using Table = std::array<Ledger, 16>;

    static void add(Counter& counter) { counter.fetch_add(1, std::memory_order_relaxed); }
    static uint64_t read(const Counter& counter) { return counter.load(std::memory_order_relaxed); }
    Ledger& of(uint64_t name) const {
        Table& table = *std::launder(reinterpret_cast<Table*>(memory_));
        return table[mix(0, name) % table.size()];
    }

    uint64_t few_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
