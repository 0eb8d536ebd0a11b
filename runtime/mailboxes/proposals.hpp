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
/// that most is declined, by two messages each time that are in the way of theirs.
class Proposals {
    enum Count : size_t {
        proposed,
        accepted, ///< of these
        messages,
        counts
    };
    struct alignas(64) Ledger : std::array<std::atomic<uint64_t>, counts> {};

  public:
    explicit Proposals(int ranks) : few_(2 * static_cast<uint64_t>(ranks)) {}
    static constexpr uint64_t memory_bytes() { return sizeof(Table); }
    void attach(std::byte* memory) { memory_ = memory; }

    /// Of one rank on one communicator. What it has counted goes with it, for another communicator
    /// may have the same hash.
    class Share {
      public:
        Share(const Proposals& all, uint64_t name) : ledger_(&all.of(name)), few_(all.few_) {}
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;
        ~Share() {
            for (size_t i = 0; i < own_.size(); ++i) {
                (*ledger_)[i].fetch_sub(own_[i], std::memory_order_relaxed);
            }
        }

        void asked() { add(proposed); }
        void was_accepted() { add(accepted); }
        /// A message by MPI to another node.
        void sent() { add(messages); }

        /// One more may be asked. A node asks a few at first, as many more as have accepted, and
        /// beside these for no more than a hundredth of what it sends, ever more seldom; a rank
        /// that `expects_no` begins with a thousandth. What is not answered yet may be declined,
        /// too.
        bool may_ask(bool expects_no) const {
            const uint64_t spent = read(proposed);
            const uint64_t free = 2 * read(accepted) + (expects_no ? 0 : few_);
            if (spent < free) { return true; }
            constexpr uint64_t messages_each = 2;
            const uint64_t sent = read(messages) / (expects_no ? 1000 : 100);
            const auto doublings = static_cast<uint64_t>(std::bit_width(sent / few_));
            return spent - free < std::min(sent / messages_each, doublings * few_);
        }

      private:
        void add(Count count) {
            ++own_[count];
            (*ledger_)[count].fetch_add(1, std::memory_order_relaxed);
        }
        uint64_t read(Count count) const {
            return (*ledger_)[count].load(std::memory_order_relaxed);
        }

        Ledger* ledger_;
        uint64_t few_;
        std::array<uint64_t, counts> own_{};
    };

  private:
    using Table = std::array<Ledger, 16>;

    Ledger& of(uint64_t name) const {
        Table& table = *std::launder(reinterpret_cast<Table*>(memory_));
        return table[mix(0, name) % table.size()];
    }

    uint64_t few_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
