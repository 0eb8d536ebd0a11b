#pragma once

#include "runtime/shared_memory.hpp"
#include "runtime/tags.hpp"
#include "runtime/team.hpp"
#include "strategies/gathered.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace nodeaware {

/// What the nonblocking operations of one communicator use: tags of their own, and memory that the
/// ranks of a node share. Operations on one communicator begin in the same order on all ranks, so
/// their numbers tell them apart; those of different communicators do not, so each has a lane.
class Lane {
  public:
    /// Operations that may have begun on some ranks of a node and not yet on others.
    static constexpr uint32_t sets = 8;

    /// Collective over the team. nullptr, on all ranks, if there is no shared memory or no tag
    /// left. `number`: the lanes of a team count from 0. Throws MpiError.
    static std::shared_ptr<Lane> create(std::shared_ptr<Team> team, int number);

    Team& team() { return *team_; }
    const Parameters& parameters() const { return parameters_; }
    uint32_t next_operation() { return operations_++; }
    tags::Tags tags_of(uint32_t operation) const;

    /// True if this rank may contribute to `operation`: it has contributed to the one before, and
    /// the memory has been read that the operation will use.
    bool is_open(uint32_t operation) const;

    /// Where this rank packs `part`, whose contributions it lists.
    std::byte* contribute(uint32_t operation, const gathered::OwnPart& part);
    /// The contributions to `operation` are complete. True for the rank that is the last of its
    /// node: it has to send for all.
    bool arrive(uint32_t operation);

    /// For that rank: what a rank of the node has contributed, and where the bytes are.
    struct Contributed {
        std::vector<gathered::Contribution> list;
        std::byte* bytes = nullptr;
    };
    Contributed contributed(uint32_t operation, int local) const;
    /// It has read them: others may use the memory.
    void release(uint32_t operation);

  private:
    struct Set {
        alignas(64) std::atomic<uint64_t> arrivals{0};
        alignas(64) std::atomic<uint64_t> released{0};
    };

    explicit Lane(std::shared_ptr<Team> team);
    Set& set_of(uint32_t operation) const { return sets_[operation % sets]; }
    std::byte* region(uint32_t operation, int local) const;

    std::shared_ptr<Team> team_;
    Parameters parameters_;
    int node_ = 0;
    int local_ = 0;
    int first_tag_ = 0;
    uint64_t region_bytes_ = 0;
    SharedMemory memory_;
    Set* sets_ = nullptr;
    std::byte* data_ = nullptr;
    uint32_t operations_ = 0;
    uint32_t arrived_ = 0; ///< operations that this rank has contributed to
};

} // namespace nodeaware
