#include "strategies/placement/bisection.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <span>

namespace nodeaware::place {

namespace {

enum Side : signed char { left = 0, right = 1, outside = 2 };

/// Ranks by what is gained when they change sides. Entries that no longer hold are left in it.
using Queue = std::priority_queue<std::pair<int64_t, int>>;

class Bisection {
  public:
    Bisection(const RankGraph& graph, const std::vector<int>& sizes)
        : graph_(graph), sizes_(sizes), placement_(static_cast<size_t>(graph.ranks())),
          side_(placement_.size(), outside), gain_(placement_.size()), is_held_(placement_.size()) {
    }

    /// Places these ranks on the nodes from `first` to before `last`.
    void divide(std::span<int> ranks, size_t first, size_t last) {
        if (last - first == 1) {
            for (const int rank : ranks) { at(placement_, rank) = static_cast<int>(first); }
            return;
        }
        const size_t middle = first + (last - first) / 2;
        size_t count = 0;
        for (size_t node = first; node < middle; ++node) {
            count += static_cast<size_t>(sizes_[node]);
        }
        split(ranks, count);
        divide(ranks.first(count), first, middle);
        divide(ranks.subspan(count), middle, last);
    }

    Placement take() { return std::move(placement_); }

  private:
    template <typename T> static T& at(std::vector<T>& values, int rank) {
        return values[static_cast<size_t>(rank)];
    }

    /// Puts `count` ranks in front.
    void split(std::span<int> ranks, size_t count) {
        std::vector<int> best(ranks.begin(), ranks.end());
        for (const int rank : best) { at(side_, rank) = right; }
        uint64_t least = improved(best, count);
        const int far = farthest(ranks.front(), ranks);
        for (const int seed : {ranks.front(), far}) {
            // Dense graphs would take for ever, and there is little to gain.
            if (work_ > most_work) { break; }
            std::vector<int> grown = grown_from(seed, ranks, count);
            const uint64_t cut = improved(grown, count);
            if (cut < least) {
                least = cut;
                best = std::move(grown);
            }
        }
        for (const int rank : ranks) { at(side_, rank) = outside; }
        std::copy(best.begin(), best.end(), ranks.begin());
    }

    /// The last rank that is reached from this one, over others that are not outside.
    int farthest(int from, std::span<const int> ranks) {
        std::vector<int> reached = {from};
        at(is_held_, from) = true;
        for (size_t i = 0; i < reached.size() && work_ <= most_work; ++i) {
            for (const Peer& peer : peers(reached[i])) {
                if (at(side_, peer.rank) == outside || at(is_held_, peer.rank)) { continue; }
                at(is_held_, peer.rank) = true;
                reached.push_back(peer.rank);
            }
        }
        for (const int rank : ranks) { at(is_held_, rank) = false; }
        return reached.back();
    }

    /// The ranks, in front those that are taken one by one for what they have to do with those
    /// before them.
    std::vector<int> grown_from(int seed, std::span<const int> ranks, size_t count) {
        for (const int rank : ranks) { at(gain_, rank) = 0; }
        std::vector<int> grown;
        Queue queue;
        queue.emplace(0, seed);
        auto next = ranks.begin(); // of those that have nothing to do with them
        while (grown.size() < count) {
            int rank = 0;
            if (queue.empty()) {
                rank = *next++;
            } else {
                rank = queue.top().second;
                const bool holds = queue.top().first == at(gain_, rank);
                queue.pop();
                if (!holds) { continue; }
            }
            if (at(is_held_, rank)) { continue; }
            at(is_held_, rank) = true;
            grown.push_back(rank);
            for (const Peer& peer : peers(rank)) {
                if (at(side_, peer.rank) == outside || at(is_held_, peer.rank)) { continue; }
                at(gain_, peer.rank) += static_cast<int64_t>(peer.messages());
                queue.emplace(at(gain_, peer.rank), peer.rank);
            }
        }
        for (const int rank : ranks) {
            if (!at(is_held_, rank)) { grown.push_back(rank); }
            at(is_held_, rank) = false;
        }
        return grown;
    }

    /// Improves which ranks are in front. What passes between those and the others then.
    uint64_t improved(std::vector<int>& ranks, size_t count) {
        constexpr int most_passes = 8;
        for (size_t i = 0; i < ranks.size(); ++i) {
            at(side_, ranks[i]) = i < count ? left : right;
        }
        for (int i = 0; i < most_passes && work_ <= most_work && pass(ranks) > 0; ++i) {}
        std::stable_partition(ranks.begin(), ranks.end(),
                              [&](int rank) { return at(side_, rank) == left; });
        uint64_t cut = 0;
        for (size_t i = 0; i < count; ++i) {
            for (const Peer& peer : peers(ranks[i])) {
                if (at(side_, peer.rank) == right) { cut += peer.messages(); }
            }
        }
        return cut;
    }

    /// Moves each rank at most once, the best one first, the sides in turn, and takes back what has
    /// not paid. What is gained.
    int64_t pass(const std::vector<int>& ranks) {
        const size_t patience = 50 + ranks.size() / 10; // moves without gain
        std::array<Queue, 2> queues;
        for (const int rank : ranks) {
            at(gain_, rank) = gain_of(rank);
            queues[at(side_, rank)].emplace(at(gain_, rank), rank);
        }
        std::vector<int> moved;
        size_t kept = 0;
        int64_t gained = 0;
        int64_t most = 0;
        while (moved.size() < kept + patience) {
            // One to the right, then one to the left: sizes are exact after each two.
            const Side from = moved.size() % 2 == 0 ? left : right;
            const int rank = best_of(queues[from], from);
            if (rank < 0) { break; }
            gained += at(gain_, rank);
            move(rank, queues);
            moved.push_back(rank);
            if (moved.size() % 2 == 0 && gained > most) {
                most = gained;
                kept = moved.size();
            }
        }
        for (size_t i = 0; i < moved.size(); ++i) {
            at(is_held_, moved[i]) = false;
            if (i >= kept) { turn(moved[i]); }
        }
        return most;
    }

    int64_t gain_of(int rank) {
        int64_t gain = 0;
        for (const Peer& peer : peers(rank)) {
            if (at(side_, peer.rank) == outside) { continue; }
            const auto messages = static_cast<int64_t>(peer.messages());
            gain += at(side_, peer.rank) == at(side_, rank) ? -messages : messages;
        }
        return gain;
    }

    /// -1: none is left.
    int best_of(Queue& queue, Side side) {
        while (!queue.empty()) {
            const auto [gain, rank] = queue.top();
            queue.pop();
            if (!at(is_held_, rank) && at(side_, rank) == side && gain == at(gain_, rank)) {
                return rank;
            }
        }
        return -1;
    }

    void turn(int rank) { at(side_, rank) = at(side_, rank) == left ? right : left; }

    void move(int rank, std::array<Queue, 2>& queues) {
        turn(rank);
        at(is_held_, rank) = true;
        for (const Peer& peer : peers(rank)) {
            const Side side = at(side_, peer.rank);
            if (side == outside || at(is_held_, peer.rank)) { continue; }
            const auto messages = static_cast<int64_t>(peer.messages());
            at(gain_, peer.rank) += side == at(side_, rank) ? -2 * messages : 2 * messages;
            queues[side].emplace(at(gain_, peer.rank), peer.rank);
        }
    }

    /// These are looked at now.
    std::span<const Peer> peers(int rank) {
        work_ += graph_.peers(rank).size();
        return graph_.peers(rank);
    }

    static constexpr size_t most_work = 100'000'000; // ends of messages that are looked at

    const RankGraph& graph_;
    const std::vector<int>& sizes_;
    Placement placement_;
    std::vector<Side> side_;
    std::vector<int64_t> gain_;
    std::vector<char> is_held_; ///< moved, or taken
    size_t work_ = 0;
};

} // namespace

Placement bisected(const RankGraph& graph, const std::vector<int>& sizes, const Placement& start) {
    std::vector<int> ranks(start.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::stable_sort(ranks.begin(), ranks.end(), [&](int one, int other) {
        return start[static_cast<size_t>(one)] < start[static_cast<size_t>(other)];
    });
    Bisection bisection(graph, sizes);
    bisection.divide(ranks, 0, sizes.size());
    return bisection.take();
}

} // namespace nodeaware::place
