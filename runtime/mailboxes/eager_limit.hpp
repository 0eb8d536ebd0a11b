#pragma once

#include "strategies/containers.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <optional>

namespace nodeaware {

/// Up to how many bytes MPI sends at once. What is larger waits for an answer of its receiver
/// (rendezvous), and is several messages on the network, so that two containers may be better than
/// one. No MPI tells, and it differs from one run to the next, so it is learned from how long the
/// containers of a node take to be sent: halfway between what was and what was not, until it is
/// known well enough. Layout over memory that ranks share, zero at first.
class EagerLimit {
  public:
    static constexpr uint64_t memory_bytes() { return sizeof(State); }
    void attach(std::byte* memory) { memory_ = memory; }

    /// A message took that long, until MPI let go of its bytes: seconds, as far as they are known.
    /// `round_trip`: that of a small message and its answer; 0: not known.
    void note(uint32_t bytes, double at_least, double at_most, double round_trip) {
        State& state = this->state();
        if (at_most < round_trip / 2) {
            raise(state.at_once, bytes);
            if (bytes >= state.asked.load(std::memory_order_relaxed)) { state.asked.store(0); }
            if (bytes >= state.row_bytes.load(std::memory_order_relaxed)) { begin_row(state); }
        } else if (round_trip > 0 && at_least > round_trip &&
                   bytes > state.at_once.load(std::memory_order_relaxed)) {
            lower(state.row_bytes, bytes);
            if (state.row.fetch_add(1, std::memory_order_relaxed) + 1 < enough) { return; }
            lower(state.asked, state.row_bytes.load(std::memory_order_relaxed));
            begin_row(state);
        }
    }

    /// What a container of so many bytes had better be cut to; nothing: it may be sent as it is,
    /// also now and then to see whether that is still so.
    std::optional<uint32_t> limit_for(uint32_t bytes) {
        State& state = this->state();
        const uint32_t asked = state.asked.load(std::memory_order_relaxed);
        if (asked <= least) { return std::nullopt; } // none, or their parts are asked for, too
        const uint32_t at_once = state.at_once.load(std::memory_order_relaxed);
        const bool is_known = asked <= at_once + asked / 8;
        const uint32_t limit =
            std::max(is_known ? at_once : at_once + (asked - at_once) / 2, least);
        if (bytes <= limit) { return std::nullopt; }
        if (state.cut.fetch_add(1, std::memory_order_relaxed) % seldom == seldom - 1) {
            return std::nullopt;
        }
        return limit;
    }

    /// To cut what is smaller would not pay.
    static constexpr uint32_t least = containers::least_cut;

  private:
    static constexpr uint32_t enough = 4; ///< in a row, since any may be held up
    static constexpr uint32_t seldom = 256;
    struct State {
        std::atomic<uint32_t> at_once{0};   ///< the largest
        std::atomic<uint32_t> asked{0};     ///< the smallest that was not; 0: none
        std::atomic<uint32_t> row{0};       ///< so many have not been of late
        std::atomic<uint32_t> row_bytes{0}; ///< the smallest of these; 0: none
        std::atomic<uint32_t> cut{0};       ///< how many
    };

    static void raise(std::atomic<uint32_t>& kept, uint32_t bytes) {
        uint32_t known = kept.load(std::memory_order_relaxed);
        while (known < bytes && !kept.compare_exchange_weak(known, bytes)) {}
    }
    static void lower(std::atomic<uint32_t>& kept, uint32_t bytes) {
        uint32_t known = kept.load(std::memory_order_relaxed);
        while ((known == 0 || bytes < known) && !kept.compare_exchange_weak(known, bytes)) {}
    }
    static void begin_row(State& state) {
        state.row.store(0, std::memory_order_relaxed);
        state.row_bytes.store(0, std::memory_order_relaxed);
    }
    State& state() const { return *std::launder(reinterpret_cast<State*>(memory_)); }

    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
