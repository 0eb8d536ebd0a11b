#pragma once

#include "runtime/device/pinned_memory.hpp"
#include "runtime/memory/node_arena.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware {

/// What the steps of a schedule use beside the memory of the application: memory for pieces, and
/// counters.
class StepMemory {
  public:
    StepMemory() = default;
    StepMemory(const StepMemory&) = delete;
    StepMemory& operator=(const StepMemory&) = delete;
    virtual ~StepMemory() = default;

    virtual std::byte* data() = 0;
    /// What of it devices reach; nullptr: it does not last long enough for that.
    virtual device::PinnedMemory* pinned() { return nullptr; }
    virtual uint32_t counter(int32_t number) const = 0;
    virtual void signal(int32_t number, uint32_t wakes_at) = 0; ///< see Step
    /// See NodeArena.
    virtual void give_up(int node) = 0;
    virtual bool given_up(int node) const = 0;
    virtual uint32_t given_up_count() const = 0;
};

/// That of a blocking operation, which the ranks of a node share.
class ArenaMemory : public StepMemory {
  public:
    ArenaMemory(NodeArena& arena, device::PinnedMemory& pinned, uint32_t operation)
        : arena_(arena), pinned_(pinned), operation_(operation) {}

    std::byte* data() override { return arena_.data(operation_); }
    device::PinnedMemory* pinned() override { return &pinned_; }
    uint32_t counter(int32_t number) const override { return arena_.counter(operation_, number); }
    void signal(int32_t number, uint32_t wakes_at) override {
        arena_.signal(operation_, number, wakes_at);
    }
    void give_up(int node) override { arena_.give_up(operation_, node); }
    bool given_up(int node) const override { return arena_.given_up(operation_, node); }
    uint32_t given_up_count() const override { return arena_.given_up_count(operation_); }

  private:
    NodeArena& arena_;
    device::PinnedMemory& pinned_;
    const uint32_t operation_;
};

/// That of one rank alone. Nobody waits for it, so nobody needs to give up.
class OwnMemory : public StepMemory {
  public:
    OwnMemory(uint64_t bytes, uint32_t counters) : bytes_(bytes), counters_(counters) {}

    std::byte* data() override { return bytes_.data(); }
    uint32_t counter(int32_t number) const override {
        return counters_[static_cast<size_t>(number)];
    }
    void signal(int32_t number, uint32_t /*wakes_at*/) override {
        ++counters_[static_cast<size_t>(number)];
    }
    void give_up(int /*node*/) override {}
    bool given_up(int /*node*/) const override { return false; }
    uint32_t given_up_count() const override { return 0; }

  private:
    std::vector<std::byte> bytes_;
    std::vector<uint32_t> counters_;
};

} // namespace nodeaware
