// random_gathered CASES [FIRST_SEED]
//
// Runs random nonblocking exchanges on random clusters: the parts that gathered:: compiles,
// executed as runtime/pending_exchange.cpp does, on a machine made of plain memory. Checks for
// every case that each byte arrives once, in its place; that no rank waits for ever, and that a
// rank needs no other once all have begun; that the bounds of memory and counters hold; that no
// rank gets more than one piece from a node; that every message finds its receive, with nothing
// left over.

#include "strategies/gathered.hpp"
#include "tests/unit/random_machine.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>

namespace nodeaware::test {

namespace {

using gathered::Contribution;

/// Bytes that a rank has contributed to one piece, in its region.
struct Contributed {
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
};

/// What the ranks of a node share, as runtime/lane.cpp lays it out: a region for each.
class Node {
  public:
    Node(int ranks, uint64_t region_bytes)
        : regions_(static_cast<size_t>(ranks), std::vector<std::byte>(region_bytes)) {}

    /// Lists the contributions of a rank; returns where it has to pack them.
    std::byte* contribute(int local, const gathered::OwnPart& part) {
        std::vector<std::byte>& region = regions_[static_cast<size_t>(local)];
        const uint64_t count = part.contributions.size();
        const uint64_t list_bytes = sizeof(Contribution) * count;
        require(sizeof count + list_bytes + part.contributed_bytes <= region.size(),
                "the region is exceeded");
        std::memcpy(region.data(), &count, sizeof count);
        std::byte* const list = region.data() + sizeof count;
        if (count > 0) { std::memcpy(list, part.contributions.data(), list_bytes); }
        return list + list_bytes;
    }

    /// True for the last rank.
    bool arrive() { return ++arrived_ == regions_.size(); }

    /// The lists of all ranks; appends their bytes to `bytes`.
    std::vector<std::vector<Contribution>> contributed(std::vector<Contributed>& bytes) const {
        std::vector<std::vector<Contribution>> lists;
        for (const std::vector<std::byte>& region : regions_) {
            uint64_t count = 0;
            std::memcpy(&count, region.data(), sizeof count);
            std::vector<Contribution>& list = lists.emplace_back(count);
            const std::byte* next = region.data() + sizeof count;
            if (count > 0) { std::memcpy(list.data(), next, sizeof(Contribution) * count); }
            next += sizeof(Contribution) * count;
            for (const Contribution& contribution : list) {
                bytes.push_back({next, contribution.bytes});
                next += contribution.bytes;
            }
        }
        return lists;
    }

    /// The last rank has read them: others may use the memory.
    void release() {
        for (auto& region : regions_) { std::fill(region.begin(), region.end(), std::byte{0xee}); }
    }

  private:
    std::vector<std::vector<std::byte>> regions_;
    size_t arrived_ = 0;
};

/// The Machine of the rank that sends for all.
class Sender {
  public:
    Sender(int node, std::vector<Contributed> items, Arena& arena, Network& network)
        : node_(node), items_(std::move(items)), packed_(items_.size(), 0), arena_(arena),
          network_(network) {}

    std::byte* arena() { return arena_.bytes.data(); }
    uint32_t counter(int32_t number) { return arena_.counters.at(static_cast<size_t>(number)); }
    void signal(int32_t number) { ++arena_.counters.at(static_cast<size_t>(number)); }

    void pack(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to) {
        require(offset + bytes <= items_.at(item).bytes, "pack reads beyond its contribution");
        arena_.check(to, bytes);
        std::copy_n(items_[item].data + offset, bytes, to);
        packed_[item] += bytes;
    }

    void send(int peer, const std::byte* data, uint64_t bytes, uint32_t step) {
        arena_.check(data, bytes);
        require(std::find(destinations_.begin(), destinations_.end(), peer) == destinations_.end(),
                "a second piece from one node to one rank");
        destinations_.push_back(peer);
        network_.send({node_, peer, true}, {{data, data + bytes}, &completions_, step});
    }

    std::span<const FinishedStep> poll() {
        polled_.clear();
        polled_.swap(completions_);
        return polled_;
    }

    void unpack(uint32_t, uint64_t, uint64_t, const std::byte*) { refuse(); }
    void copy(uint32_t, uint32_t, uint64_t) { refuse(); }
    void receive(int, std::byte*, uint64_t, uint32_t) { refuse(); }
    void send_item(int, uint32_t, uint32_t) { refuse(); }
    void receive_item(int, uint32_t, uint32_t) { refuse(); }
    void mismatch(int) { refuse(); }

    void check_all_packed() const {
        for (size_t item = 0; item < items_.size(); ++item) {
            require(packed_[item] == items_[item].bytes, "a contribution was not packed once");
        }
    }

  private:
    static void refuse() { throw std::runtime_error("the node part does more than to send"); }

    int node_;
    std::vector<Contributed> items_;
    std::vector<uint64_t> packed_;
    Arena& arena_;
    Network& network_;
    std::vector<int> destinations_;
    std::vector<FinishedStep> completions_;
    std::vector<FinishedStep> polled_;
};

constexpr uint32_t call = 7;

/// What the last rank of a node does for all.
struct ForAll {
    ForAll(Schedule compiled, int node, std::vector<Contributed> items, Network& network)
        : schedule(std::move(compiled)), arena(schedule),
          machine(node, std::move(items), arena, network),
          execution(schedule, machine, call, false) {}

    Schedule schedule;
    Arena arena;
    Sender machine;
    Execution<Sender> execution;
};

/// One rank in one operation: PendingExchange without MPI.
class Pending {
  public:
    Pending(const Topology& topology, const Parameters& parameters, int rank,
            const RankTraffic& traffic, Node& node, Network& network)
        : topology_(topology), rank_(rank), node_(node), network_(network),
          part_(gathered::own_part(topology, traffic, rank, parameters)), arena_(part_.schedule),
          machine_(rank, traffic, arena_, network, &topology),
          execution_(part_.schedule, machine_, call, false) {
        check_part();
    }

    bool has_begun() const { return has_begun_; }

    bool progress() {
        if (!has_begun_) { begin(); }
        const bool own_is_done = execution_.progress();
        const bool all_is_done = !for_all_ || for_all_->execution.progress();
        return own_is_done && all_is_done;
    }

    uint64_t advances() const {
        return execution_.advances() + (for_all_ ? for_all_->execution.advances() : 0);
    }

    void check(const std::vector<RankTraffic>& traffic) const { machine_.check(traffic); }

    /// That this rank has sent from node to node.
    uint64_t node_bytes_sent() const {
        return part_.schedule.node_bytes_sent + (for_all_ ? for_all_->schedule.node_bytes_sent : 0);
    }

  private:
    void check_part() const {
        require(!part_.schedule.truncated, "matching messages are called truncated");
        require(part_.schedule.counters <= counter_limit(topology_), "too many counters");
        uint64_t bytes = 0;
        int before = -1;
        for (const Contribution& contribution : part_.contributions) {
            require(contribution.destination > before, "contributions are not in order");
            require(topology_.node_of(contribution.destination) != topology_.node_of(rank_),
                    "a contribution stays on its node");
            before = contribution.destination;
            bytes += contribution.bytes;
        }
        require(bytes == part_.contributed_bytes, "contributions and their bytes differ");
    }

    void begin() {
        has_begun_ = true;
        std::byte* const packed = node_.contribute(topology_.local_of(rank_), part_);
        for (const Step& step : part_.schedule.prologue) {
            require(step.arena + step.bytes <= part_.contributed_bytes,
                    "packed beyond the contributions");
            machine_.pack_anywhere(step.item, step.offset, step.bytes, packed + step.arena);
        }
        if (node_.arrive()) { send_for_all(); }
    }

    void send_for_all() {
        std::vector<Contributed> items;
        const auto lists = node_.contributed(items);
        const int node = topology_.node_of(rank_);
        for_all_.emplace(gathered::node_part(topology_, node, lists), node, std::move(items),
                         network_);
        Execution<Sender>::run_prologue(for_all_->schedule, for_all_->machine);
        for_all_->machine.check_all_packed();
        node_.release();
        for_all_->execution.progress();
    }

    const Topology& topology_;
    const int rank_;
    Node& node_;
    Network& network_;
    bool has_begun_ = false;
    gathered::OwnPart part_;
    Arena arena_;
    Rank machine_;
    Execution<Rank> execution_;
    std::optional<ForAll> for_all_;
};

/// A whole job.
class Job {
  public:
    Job(const RandomCase& input, uint64_t seed)
        : input_(input), random_(seed), network_(random_), parameters_(input.parameters) {
        if (draw(random_, 0, 1) == 0) { parameters_.arena_bytes /= 4; } // as that of a Lane is
        const Topology& topology = input.topology;
        for (int node = 0; node < topology.nodes(); ++node) {
            nodes_.emplace_back(topology.ranks_on(node),
                                gathered::region_bytes(topology, node, parameters_.arena_bytes));
        }
        for (int rank = 0; rank < topology.ranks(); ++rank) {
            Node& node = nodes_[static_cast<size_t>(topology.node_of(rank))];
            ranks_.push_back(std::make_unique<Pending>(topology, parameters_, rank,
                                                       input.traffic[static_cast<size_t>(rank)],
                                                       node, network_));
        }
    }

    /// Ranks begin and make progress in any order.
    void run_interleaved() { run_until_done(shuffled()); }

    /// All ranks begin, and from then on one does without the others.
    void run_one_alone() {
        std::vector<size_t> unfinished;
        for (const size_t i : shuffled()) {
            if (!ranks_[i]->progress()) { unfinished.push_back(i); }
        }
        if (!unfinished.empty()) {
            std::shuffle(unfinished.begin(), unfinished.end(), random_);
            finish_alone(*ranks_[unfinished.back()]);
            unfinished.pop_back();
        }
        run_until_done(std::move(unfinished));
    }

  private:
    std::vector<size_t> shuffled() {
        std::vector<size_t> order(ranks_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::shuffle(order.begin(), order.end(), random_);
        return order;
    }

    void finish_alone(Pending& rank) {
        for (uint64_t before = rank.advances(); !rank.progress(); before = rank.advances()) {
            require(rank.advances() > before, "a rank needs others after they have begun");
        }
        rank.check(input_.traffic);
    }

    void run_until_done(std::vector<size_t> left) {
        while (!left.empty()) {
            bool moved = false;
            std::shuffle(left.begin(), left.end(), random_);
            std::vector<size_t> unfinished;
            for (const size_t i : left) {
                Pending& rank = *ranks_[i];
                const bool begins = !rank.has_begun();
                const uint64_t before = rank.advances();
                const bool done = draw(random_, 0, 3) > 0 ? rank.progress() : (moved = true, false);
                if (!done) { unfinished.push_back(i); }
                moved = moved || begins || done || rank.advances() > before;
            }
            require(moved, "deadlock");
            left = std::move(unfinished);
        }
        check();
    }

    void check() {
        require(network_.empty(), "messages are left over");
        uint64_t sent = 0;
        uint64_t listed = 0;
        const Topology& topology = input_.topology;
        for (size_t i = 0; i < ranks_.size(); ++i) {
            ranks_[i]->check(input_.traffic);
            sent += ranks_[i]->node_bytes_sent();
            const int node = topology.node_of(static_cast<int>(i));
            for (const Outgoing& message : input_.traffic[i].outgoing) {
                if (topology.node_of(message.peer) != node) { listed += message.bytes; }
            }
        }
        require(sent == listed, "the report would have other bytes than the application sends");
    }

    const RandomCase& input_;
    Random random_;
    Network network_;
    Parameters parameters_;
    std::vector<Node> nodes_;
    std::vector<std::unique_ptr<Pending>> ranks_;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s CASES [FIRST_SEED]\n", argv[0]);
        return EXIT_FAILURE;
    }
    using namespace nodeaware::test;
    const uint64_t first_seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    return run_cases("nonblocking gathered", std::strtoull(argv[1], nullptr, 10), first_seed,
                     [](const RandomCase& input, uint64_t seed) {
                         Job(input, seed).run_interleaved();
                         Job(input, seed).run_one_alone();
                     });
}
