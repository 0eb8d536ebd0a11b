#include "strategies/placement/swaps.hpp"

#include <algorithm>
#include <optional>

namespace nodeaware::place {

namespace {

/// Messages of a rank to and from the ranks of a node.
struct Ties {
    int64_t sent = 0;
    int64_t received = 0;
};

/// Two ranks that change places, and by how much their nodes send more then.
struct Swap {
    int one = 0;
    int other = 0;
    int64_t more_of_one = 0; ///< of the node that `one` leaves
    int64_t more_of_other = 0;

    int64_t more() const { return more_of_one + more_of_other; }
};

class Swaps {
  public:
    Swaps(const RankGraph& graph, Placement& placement, uint64_t most)
        : graph_(graph), placement_(placement), most_(static_cast<int64_t>(most)),
          sent_by_(placement.size()) {
        const int last = *std::max_element(placement.begin(), placement.end());
        ranks_of_.resize(static_cast<size_t>(last) + 1);
        sends_.resize(ranks_of_.size());
        ties_.resize(ranks_of_.size());
        for (int rank = 0; rank < graph.ranks(); ++rank) {
            const size_t node = node_of(rank);
            ranks_of_[node].push_back(rank);
            for (const Peer& peer : graph.peers(rank)) {
                sent_by_[static_cast<size_t>(rank)] += static_cast<int64_t>(peer.sent);
                if (node_of(peer.rank) != node) { sends_[node] += static_cast<int64_t>(peer.sent); }
            }
        }
    }

    void lessen_all() {
        constexpr int most_passes = 20;
        bool is_better = true;
        for (int i = 0; i < most_passes && is_better; ++i) {
            is_better = false;
            for (int rank = 0; rank < graph_.ranks() && work_ <= most_work; ++rank) {
                const auto swap = best_swap(rank, [this](const Swap& one, const Swap* than) {
                    return one.more() < (than != nullptr ? than->more() : 0) && is_allowed(one);
                });
                if (!swap) { continue; }
                apply(*swap);
                is_better = true;
            }
        }
    }

    void lessen_worst() {
        while (work_ <= most_work) {
            const auto worst = std::max_element(sends_.begin(), sends_.end());
            const auto node = static_cast<size_t>(worst - sends_.begin());
            const auto is_better = [&](const Swap& one, const Swap* than) {
                const int64_t after = larger_after(one);
                if (after >= *worst) { return false; }
                if (than == nullptr) { return true; }
                const int64_t other = larger_after(*than);
                return after != other ? after < other : one.more() < than->more();
            };
            std::optional<Swap> best;
            for (const int rank : ranks_of_[node]) {
                const auto swap = best_swap(rank, is_better);
                if (swap && is_better(*swap, best ? &*best : nullptr)) { best = swap; }
            }
            if (!best) { return; }
            apply(*best);
        }
    }

  private:
    size_t node_of(int rank) const {
        return static_cast<size_t>(placement_[static_cast<size_t>(rank)]);
    }

    int64_t larger_after(const Swap& swap) const {
        return std::max(sends_[node_of(swap.one)] + swap.more_of_one,
                        sends_[node_of(swap.other)] + swap.more_of_other);
    }

    bool is_allowed(const Swap& swap) const {
        return larger_after(swap) <=
               std::max({most_, sends_[node_of(swap.one)], sends_[node_of(swap.other)]});
    }

    /// The best one with a rank of a node that this rank has to do with.
    template <typename IsBetter>
    std::optional<Swap> best_swap(int rank, const IsBetter& is_better) {
        const size_t home = node_of(rank);
        std::vector<size_t> nodes;
        for (const Peer& peer : peers(rank)) {
            Ties& ties = ties_[node_of(peer.rank)];
            if (ties.sent + ties.received == 0 && node_of(peer.rank) != home) {
                nodes.push_back(node_of(peer.rank));
            }
            ties.sent += static_cast<int64_t>(peer.sent);
            ties.received += static_cast<int64_t>(peer.received);
        }
        std::optional<Swap> best;
        for (const size_t node : nodes) {
            for (const int other : ranks_of_[node]) {
                if (work_ > most_work) { break; }
                const Swap swap = swap_of(rank, other, ties_[home], ties_[node]);
                if (is_better(swap, best ? &*best : nullptr)) { best = swap; }
            }
            ties_[node] = {};
        }
        ties_[home] = {};
        return best;
    }

    /// `home`, `away`: what `one` has to do with its own node and with that of `other`.
    Swap swap_of(int one, int other, Ties home, Ties away) {
        Ties to_home; // of `other`, to the node of `one`, but not to `one` itself
        Ties to_away; // of `other`, to its own node
        for (const Peer& peer : peers(other)) {
            if (peer.rank == one) {
                away.sent -= static_cast<int64_t>(peer.received);
                away.received -= static_cast<int64_t>(peer.sent);
                continue;
            }
            const size_t node = node_of(peer.rank);
            if (node == node_of(one)) {
                add(to_home, peer);
            } else if (node == node_of(other)) {
                add(to_away, peer);
            }
        }
        const int64_t sent_by_one = sent_by_[static_cast<size_t>(one)];
        const int64_t sent = sent_by_[static_cast<size_t>(other)];
        // What leaves takes what it sends to others along, and the rest sends to it from now on;
        // what comes does the reverse.
        return {
            one, other,
            (sent - to_home.sent - to_home.received) - (sent_by_one - home.sent - home.received),
            (sent_by_one - away.sent - away.received) - (sent - to_away.sent - to_away.received)};
    }

    static void add(Ties& ties, const Peer& peer) {
        ties.sent += static_cast<int64_t>(peer.sent);
        ties.received += static_cast<int64_t>(peer.received);
    }

    void apply(const Swap& swap) {
        const size_t one = node_of(swap.one);
        const size_t other = node_of(swap.other);
        sends_[one] += swap.more_of_one;
        sends_[other] += swap.more_of_other;
        *std::find(ranks_of_[one].begin(), ranks_of_[one].end(), swap.one) = swap.other;
        *std::find(ranks_of_[other].begin(), ranks_of_[other].end(), swap.other) = swap.one;
        std::swap(placement_[static_cast<size_t>(swap.one)],
                  placement_[static_cast<size_t>(swap.other)]);
    }

    /// These are looked at now.
    std::span<const Peer> peers(int rank) {
        work_ += graph_.peers(rank).size();
        return graph_.peers(rank);
    }

    static constexpr size_t most_work = 100'000'000; // ends of messages that are looked at

    const RankGraph& graph_;
    Placement& placement_;
    int64_t most_;
    std::vector<int64_t> sent_by_;           ///< each rank, wherever to
    std::vector<std::vector<int>> ranks_of_; ///< of each node
    std::vector<int64_t> sends_;             ///< each node to others
    std::vector<Ties> ties_;                 ///< of one rank to each node; zero between uses
    size_t work_ = 0;
};

} // namespace

double badness(const Carried& placed, const Carried& start) {
    const auto part = [](uint64_t of, uint64_t all) {
        return static_cast<double>(of) / static_cast<double>(std::max<uint64_t>(all, 1));
    };
    return 2 * part(placed.worst_messages, start.worst_messages) +
           part(placed.messages, start.messages);
}

void improve_by_swaps(const RankGraph& graph, Placement& placement, uint64_t most) {
    if (placement.empty()) { return; }
    const Carried before = off_node(graph, placement);
    Swaps(graph, placement, most).lessen_all();
    Placement evened = placement;
    Swaps(graph, evened, most).lessen_worst();
    if (badness(off_node(graph, evened), before) < badness(off_node(graph, placement), before)) {
        placement = std::move(evened);
    }
}

} // namespace nodeaware::place
