#pragma once

#include "runtime/progress/waiter.hpp"
#include "strategies/schedule.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace nodeaware {

/// How the ranks of a node come to execute the same schedule, without a message. Each rank numbers
/// the different traffics that it has seen; a schedule belongs to the numbers of all ranks of the
/// node. Ranks expect the operation that followed last time, pack for it, and announce whether they
/// were right: when all were, the barrier that all need before they send is all it costs.
class Agreement {
  public:
    Agreement(const Topology& topology, int rank, NodeArena& arena, Waiter& waiter)
        : topology_(topology), rank_(rank), node_(topology.node_of(rank)),
          local_(static_cast<size_t>(topology.local_of(rank))), arena_(arena), waiter_(waiter) {}

    struct CandidateWay {
        const Strategy* strategy; ///< nullptr: native
        const Parameters* parameters;
        bool is_possible;
    };
    /// Seconds by each, 0 for what is not possible.
    static std::vector<double> predictions(const NodeTraffic& traffic,
                                           std::span<const CandidateWay> candidates);

    /// What this rank brings to an operation.
    struct Part {
        const RankTraffic& traffic;
        const Strategy& strategy;
        const Parameters& parameters; ///< must outlive this: others make another schedule
        Sharing sharing;
        /// Of which the times are to be predicted when a schedule is built.
        std::span<const CandidateWay> candidates;
    };
    using Slabs = std::vector<uint64_t>; ///< ids, by local rank

    struct Result {
        const Schedule* schedule;            ///< valid until the next call
        bool built;                          ///< it is new
        std::span<const double> predictions; ///< for the candidates; empty: not predicted
        /// The others of this node sleep until this rank rings the bell. It may begin its sends
        /// first, which are what everybody waits for.
        bool owes_bell;
        const Slabs* slabs; ///< that the schedule was made for; valid as long
    };

    /// Collective over the ranks of the node. `pack` executes the prologue of a schedule, possibly
    /// more than once; when agree() returns, all ranks of the node have executed that of the
    /// schedule returned.
    Result agree(uint32_t operation, const Part& part,
                 const std::function<void(const Schedule&)>& pack);

  private:
    struct KnownTraffic {
        uint64_t number;
        const Strategy* strategy;
        const Parameters* parameters;
        Sharing sharing;
        RankTraffic traffic;
        uint64_t last_use;
    };
    struct Entry {
        uint64_t number;
        std::vector<uint64_t> traffic; ///< numbers of the traffics of the ranks of the node
        Schedule schedule;
        std::vector<double> predictions;
        Slabs slabs;
        uint64_t successor; ///< number of the entry that came after this one the last time
        uint64_t last_use;
    };

    /// True if this rank was the last to arrive, and has not rung the bell.
    bool arrive_and_wait();
    void barrier();
    Entry* find(uint64_t number);
    const KnownTraffic* find_known(uint64_t number) const;
    static bool same(const KnownTraffic& known, const Part& part);
    uint64_t number_of(const Part& part, const Entry* guess);
    Entry& recall_or_build(uint32_t operation, const Part& part, bool& built);
    using Bytes = std::vector<std::byte>;
    std::vector<Bytes> share(uint32_t operation, const Bytes& mine, std::vector<Bytes> all);
    std::vector<RankTraffic> share_lists(uint32_t operation, const RankTraffic& own);
    Slabs share_slabs(uint32_t operation, const RankTraffic& own, NodeTraffic& traffic);
    void note_use(Entry& entry);

    const Topology& topology_;
    const int rank_;
    const int node_;
    const size_t local_;
    NodeArena& arena_;
    Waiter& waiter_;
    std::vector<KnownTraffic> known_;
    std::vector<std::unique_ptr<Entry>> entries_;
    uint64_t next_traffic_ = 1;
    uint64_t next_entry_ = 1;
    uint64_t last_entry_ = 0;
    uint64_t expected_entry_ = 0;
    uint64_t clock_ = 0;
};

} // namespace nodeaware
