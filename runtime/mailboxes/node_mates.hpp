#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <optional>

namespace nodeaware {

/// What the ranks of a node know of each other: who may still have something to send. Layout over
/// memory that is given, zero at first.
///
/// A rank that makes the others wait in vain is excused for a while, longer each time, and less
/// long each time that it waits with them, even while it is excused.
class NodeMates {
  public:
    explicit NodeMates(int ranks) : ranks_(ranks) {}
    uint64_t memory_bytes() const {
        return sizeof(Node) + static_cast<uint64_t>(ranks_) * sizeof(Rank);
    }
    void attach(std::byte* memory) { memory_ = memory; }

    /// Messages of this rank go through the mailboxes, or do no more.
    void takes_part(int rank, int engines) {
        of(rank).engines.fetch_add(engines);
        node().engines.fetch_add(engines);
    }
    bool anybody_takes_part() const { return node().engines.load(std::memory_order_relaxed) > 0; }
    /// Messages may come to a rank of this node (1), or no more for whoever has said so (-1).
    void expects(int by) { node().expecting.fetch_add(by, std::memory_order_relaxed); }
    bool anybody_expects() const { return node().expecting.load(std::memory_order_relaxed) > 0; }

    /// The last comparison with MPI that ranks of this node take part in, of all nodes if they
    /// know of it: at least that one from now on.
    uint32_t comparison() const { return node().comparison.load(std::memory_order_relaxed); }
    void compare(uint32_t number) {
        uint32_t known = comparison();
        while (known < number && !node().comparison.compare_exchange_weak(known, number)) {}
    }

    /// A question has been answered after so many seconds. The shortest time is what it takes two
    /// messages to cross the network.
    void note_round_trip(double seconds) {
        std::atomic<double>& least = node().round_trip;
        double known = least.load(std::memory_order_relaxed);
        while ((known == 0 || seconds < known) &&
               !least.compare_exchange_weak(known, seconds, std::memory_order_relaxed)) {}
    }
    double round_trip() const { return node().round_trip.load(std::memory_order_relaxed); }

    /// This node sends a message to another. They leave one after the other, each in half of a
    /// round trip at most.
    void note_sent(double now) {
        std::atomic<double>& until = node().sends_until;
        const double each = round_trip() / 2;
        double known = until.load(std::memory_order_relaxed);
        double after = 0;
        do {
            after = std::min(std::max(known, now) + each, now + most_queued * each);
        } while (!until.compare_exchange_weak(known, after, std::memory_order_relaxed));
    }
    /// Some of them have not left yet: what this node sends now may have to wait behind them.
    bool sends(double now) const {
        return node().sends_until.load(std::memory_order_relaxed) > now;
    }

    /// A container is begun (1), or closed (-1).
    void collects(int by) { node().collecting.fetch_add(by); }
    bool is_collecting() const { return node().collecting.load() > 0; }

    /// The rank waits in the library, and sends nothing meanwhile. `looks_again`: false if it may
    /// do something else first.
    void begin_waiting(int rank, double seconds, bool looks_again = true) {
        of(rank).waited_at.store(seconds, std::memory_order_relaxed);
        of(rank).waits.store(looks_again ? looking : has_looked);
    }
    void looks_again(int rank) { of(rank).waits.store(looking); }
    void end_waiting(int rank, double seconds) {
        of(rank).went_on_at.store(seconds, std::memory_order_relaxed);
        of(rank).waits.store(0);
    }
    /// It might have waited then.
    void need_not_wait(int rank, double seconds) {
        of(rank).waited_at.store(seconds, std::memory_order_relaxed);
        of(rank).waits.store(0);
    }
    /// The rank has received something.
    void has_taken(int rank, double seconds) {
        of(rank).went_on_at.store(seconds, std::memory_order_relaxed);
    }
    /// It has received something or ended to wait a moment ago, and may have something to send
    /// after that. If it waits still, that is likely not to have been all.
    bool goes_on(int rank, double now) const {
        const double moment = round_trip() / (waits(rank) ? 12 : 4);
        return now - of(rank).went_on_at.load(std::memory_order_relaxed) < moment;
    }
    bool waits(int rank) const { return of(rank).waits.load() != 0; }

    /// The rank is about to block in MPI, where it sends nothing through the mailboxes, or is back.
    void goes_away(int rank, double seconds) {
        of(rank).away_since.store(seconds, std::memory_order_relaxed);
    }
    void is_back(int rank) { of(rank).away_since.store(0, std::memory_order_relaxed); }

    /// Containers that are complete will be seen.
    bool anybody_looks() const {
        for (int rank = 0; rank < ranks_; ++rank) {
            if (of(rank).waits.load() == looking) { return true; }
        }
        return false;
    }

    /// Nobody is about to put anything more into a container that was begun then: each waits, or
    /// has begun to do so since, or has been away since a time before `long_ago`. Ranks return from
    /// a collective call soon after each other; who does not was ahead, and waits there for others.
    bool all_wait(double begun, double long_ago = 0) const {
        const uint64_t closings = node().closings.load(std::memory_order_relaxed);
        for (int rank = 0; rank < ranks_; ++rank) {
            const double away_since = of(rank).away_since.load(std::memory_order_relaxed);
            const bool is_away = away_since != 0 && std::max(away_since, begun) < long_ago;
            if (!is_away && is_awaited(of(rank), begun, closings)) { return false; }
        }
        return true;
    }
    /// One of those that `may_have` something for a container has something else to do first.
    template <class MayHave> bool is_held_up(MayHave may_have) const {
        const uint64_t closings = node().closings.load(std::memory_order_relaxed);
        for (int rank = 0; rank < ranks_; ++rank) {
            const Rank& mate = of(rank);
            const bool is_excused = mate.excused_until.load() > closings;
            if (!is_excused && mate.engines.load() > 0 && may_have(rank)) { return true; }
        }
        return false;
    }
    /// Containers were closed. `late`: some because they had waited too long; when the last of
    /// these was begun.
    void closed(std::optional<double> late) {
        const uint64_t closings = node().closings.fetch_add(1);
        for (int rank = 0; rank < ranks_; ++rank) {
            Rank& mate = of(rank);
            const uint32_t missed = mate.missed.load(std::memory_order_relaxed);
            if (mate.waits.load() != 0) {
                if (missed > 0) { in_time(mate, missed - 1, closings + 1); }
            } else if (late && is_awaited(mate, *late, closings)) {
                mate.missed.store(std::min(missed + 2, most_missed), std::memory_order_relaxed);
                mate.excused_until.store(closings + 1 + (uint64_t{1} << missed));
            }
        }
    }

  private:
    static constexpr uint32_t looking = 1;
    static constexpr uint32_t has_looked = 2;
    static constexpr uint32_t most_missed = 16;
    static constexpr int most_queued = 32; ///< messages, for that is only an estimate
    struct alignas(64) Node {
        std::atomic<int32_t> engines{0};
        std::atomic<int32_t> expecting{0};
        std::atomic<int32_t> collecting{0};
        std::atomic<uint32_t> comparison{0};
        std::atomic<uint64_t> closings{0};
        std::atomic<double> round_trip{0}; ///< 0: not known
        std::atomic<double> sends_until{0};
    };
    struct alignas(64) Rank {
        std::atomic<int32_t> engines{0};
        std::atomic<uint32_t> waits{0};   ///< 0: does not
        std::atomic<double> waited_at{0}; ///< when it last began to
        std::atomic<double> went_on_at{0};
        std::atomic<double> away_since{0}; ///< 0: is not
        std::atomic<uint32_t> missed{0};
        std::atomic<uint64_t> excused_until{0}; ///< closings
    };

    static bool is_awaited(const Rank& mate, double begun, uint64_t closings) {
        return mate.waits.load() == 0 && mate.engines.load() > 0 && mate.waited_at.load() < begun &&
               mate.excused_until.load() <= closings;
    }
    /// It is excused for no longer than if this were all that it has missed.
    static void in_time(Rank& mate, uint32_t missed, uint64_t closings) {
        const uint64_t most = missed < 2 ? 0 : uint64_t{1} << (missed - 2);
        mate.missed.store(missed, std::memory_order_relaxed);
        if (mate.excused_until.load() > closings + most) {
            mate.excused_until.store(closings + most);
        }
    }

    Node& node() const { return *std::launder(reinterpret_cast<Node*>(memory_)); }
    Rank& of(int rank) const {
        return std::launder(reinterpret_cast<Rank*>(memory_ + sizeof(Node)))[rank];
    }

    int ranks_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
