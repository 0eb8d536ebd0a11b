// random_gathered CASES [FIRST_SEED]
//
// Runs random nonblocking exchanges on random clusters, some at a time: the parts that gathered::
// compiles, executed as PendingExchange does, on a machine made of plain memory. Checks for every
// case that each byte arrives once, in its place; that no rank waits for ever, and that a rank
// needs no other once all have begun; that the bounds of memory and counters hold; that no rank
// gets more than one piece from a node; that every message finds its receive, with nothing left
// over.

#include "runtime/memory/contributions.hpp"
#include "strategies/gathered.hpp"
#include "tests/unit/random_machine.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

namespace nodeaware::test {

namespace {

using gathered::Contribution;

/// Some ranks have another way for small messages, which is theirs alone here.
uint64_t above(int source) { return source % 3 == 1 ? 24 : 0; }

/// Bytes that a rank has contributed to one piece, in its region.
struct Contributed {
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
};

/// The Machine of the rank that sends for all.
class Sender {
  public:
    Sender(int node, std::vector<Contributed> items, Arena& arena, Network& network)
        : node_(node), items_(std::move(items)), packed_(items_.size(), 0), arena_(arena),
          network_(network) {}

    std::byte* arena() { return arena_.bytes.data(); }
    uint32_t counter(int32_t number) { return arena_.counters.at(static_cast<size_t>(number)); }
    void signal(int32_t number, uint32_t /*wakes_at*/) {
        ++arena_.counters.at(static_cast<size_t>(number));
    }

    bool pack(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to, uint32_t /*step*/) {
        require(offset + bytes <= items_.at(item).bytes, "pack reads beyond its contribution");
        arena_.check(to, bytes);
        std::copy_n(items_[item].data + offset, bytes, to);
        packed_[item] += bytes;
        return true;
    }
    void settle() {}

    void send(int peer, const std::byte* data, uint64_t bytes, uint32_t step) {
        arena_.check(data, bytes);
        require(std::find(destinations_.begin(), destinations_.end(), peer) == destinations_.end(),
                "a second piece from one node to one rank");
        destinations_.push_back(peer);
        network_.send({node_, peer, Network::Kind::piece},
                      {{data, data + bytes}, data, &completions_, step});
    }

    std::span<const FinishedStep> poll() {
        polled_.clear();
        polled_.swap(completions_);
        return polled_;
    }

    bool unpack(uint32_t, uint64_t, uint64_t, const std::byte*, uint32_t) { return refuse(); }
    bool copy(uint32_t, uint32_t, uint64_t, uint32_t) { return refuse(); }
    void receive(int, std::byte*, uint64_t, uint32_t) { refuse(); }
    bool stage(uint32_t, uint64_t, uint64_t, uint64_t, uint32_t) { return refuse(); }
    bool fetch(int, uint64_t, uint64_t, std::byte*, uint32_t) { return refuse(); }
    void send_carrier(int, const std::byte*, uint64_t, uint32_t) { refuse(); }
    void receive_carrier(int, std::byte*, uint64_t, uint32_t) { refuse(); }
    void send_item(int, uint32_t, uint32_t) { refuse(); }
    void receive_item(int, uint32_t, uint32_t) { refuse(); }
    void mismatch(int) { refuse(); }

    void check_all_packed() const {
        for (size_t item = 0; item < items_.size(); ++item) {
            require(packed_[item] == items_[item].bytes, "a contribution was not packed once");
        }
    }

  private:
    static bool refuse() { throw std::runtime_error("the node part does more than to send"); }

    int node_;
    std::vector<Contributed> items_;
    std::vector<uint64_t> packed_;
    Arena& arena_;
    Network& network_;
    std::vector<int> destinations_;
    std::vector<FinishedStep> completions_;
    std::vector<FinishedStep> polled_;
};

/// What the last rank of a node does for all.
struct ForAll {
    ForAll(Schedule compiled, int node, std::vector<Contributed> items, Network& network,
           uint32_t operation)
        : schedule(std::move(compiled)), arena(schedule),
          machine(node, std::move(items), arena, network),
          execution(schedule, machine, operation, false) {}

    Schedule schedule;
    Arena arena;
    Sender machine;
    Execution<Sender> execution;
};

/// One rank in one operation: PendingExchange without MPI.
class Pending {
  public:
    Pending(const Topology& topology, const Parameters& parameters, int rank,
            const RankTraffic& traffic, Contributions& contributions, uint64_t number,
            Network& network, Random& random, uint32_t operation)
        : topology_(topology), rank_(rank), contributions_(contributions), number_(number),
          network_(network), operation_(operation),
          part_(gathered::own_part(topology, traffic, rank, parameters, above)),
          arena_(part_.schedule), machine_(rank, traffic, arena_, network, random, &topology),
          execution_(part_.schedule, machine_, operation, false) {
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
        require(contributions_.make_room(number_, part_), "no room for contributions");
        std::byte* const packed = contributions_.contribute(number_, part_);
        for (const Step& step : part_.schedule.prologue) {
            require(step.arena + step.bytes <= part_.contributed_bytes,
                    "packed beyond the contributions");
            machine_.pack_anywhere(step.item, step.offset, step.bytes, packed + step.arena,
                                   Step::not_listed);
        }
        machine_.settle();
        if (contributions_.arrive(number_)) { send_for_all(); }
    }

    void send_for_all() {
        require(contributions_.open(number_), "contributions are not accessible");
        const int node = topology_.node_of(rank_);
        std::vector<Contributed> items;
        std::vector<std::vector<Contribution>> lists;
        for (int local = 0; local < topology_.ranks_on(node); ++local) {
            auto [list, next] = contributions_.contributed(number_, local);
            for (const Contribution& contribution : list) {
                items.push_back({next, contribution.bytes});
                next += contribution.bytes;
            }
            lists.push_back(std::move(list));
        }
        for_all_.emplace(gathered::node_part(topology_, node, lists), node, std::move(items),
                         network_, operation_);
        Execution<Sender>::run_prologue(for_all_->schedule, for_all_->machine);
        for_all_->machine.check_all_packed();
        contributions_.release(number_);
        for_all_->execution.progress();
    }

    const Topology& topology_;
    const int rank_;
    Contributions& contributions_;
    const uint64_t number_; ///< among the operations of that lane
    Network& network_;
    const uint32_t operation_;
    bool has_begun_ = false;
    gathered::OwnPart part_;
    Arena arena_;
    Rank machine_;
    Execution<Rank> execution_;
    std::optional<ForAll> for_all_;
};

/// A whole job, in which all ranks begin the same few operations, those of a lane one after the
/// other.
class Job {
  public:
    Job(const RandomCase& input, uint64_t seed)
        : input_(input), random_(seed), parameters_(input.parameters) {
        if (draw(random_, 0, 1) == 0) { parameters_.arena_bytes /= 4; } // as a context does
        const Topology& topology = input.topology;
        const int lanes = draw(random_, 0, 2);
        for (int node = 0; node < topology.nodes(); ++node) { share_memory(node, lanes); }
        const auto operations = static_cast<uint32_t>(draw(random_, 1, 3 + lanes));
        std::vector<uint64_t> next(static_cast<size_t>(1 + lanes));
        for (int lane = 0; lane <= lanes; ++lane) { networks_.emplace_back(random_); }
        for (uint32_t operation = 0; operation < operations; ++operation) {
            const auto lane = static_cast<size_t>(draw(random_, 0, lanes));
            orders_.push_back({lane, next[lane]++});
        }
        for (int rank = 0; rank < topology.ranks(); ++rank) {
            auto& own = ranks_.emplace_back();
            for (uint32_t operation = 0; operation < operations; ++operation) {
                const auto [lane, number] = orders_[operation];
                own.push_back(std::make_unique<Pending>(
                    topology, parameters_, rank, input.traffic[static_cast<size_t>(rank)],
                    contributions_[static_cast<size_t>(rank)][lane], number, networks_[lane],
                    random_, operation));
            }
        }
    }

    /// Ranks begin and make progress in any order.
    void run_interleaved() { run_until_done(all()); }

    /// All ranks begin, and from then on one does without the others.
    void run_one_alone() {
        std::vector<Place> unfinished;
        for (size_t operation = 0; operation < ranks_.front().size(); ++operation) {
            std::vector<size_t> order(ranks_.size());
            std::iota(order.begin(), order.end(), size_t{0});
            std::shuffle(order.begin(), order.end(), random_);
            for (const size_t rank : order) {
                if (!ranks_[rank][operation]->progress()) {
                    unfinished.push_back({rank, operation});
                }
            }
        }
        if (!unfinished.empty()) {
            std::shuffle(unfinished.begin(), unfinished.end(), random_);
            const size_t alone = unfinished.back().rank;
            for (const auto& pending : ranks_[alone]) { finish_alone(*pending); }
            std::erase_if(unfinished, [&](const Place& place) { return place.rank == alone; });
        }
        run_until_done(std::move(unfinished));
    }

  private:
    struct Place {
        size_t rank;
        size_t operation;
    };

    /// Of an operation.
    struct Order {
        size_t lane;
        uint64_t number; ///< among those of the lane
    };

    void share_memory(int node, int lanes) {
        const Topology& topology = input_.topology;
        const Contributions::Shape shape{
            topology.ranks_on(node),
            gathered::region_bytes(topology, node, parameters_.arena_bytes), lanes};
        const size_t first_bytes = Contributions::first_bytes_of(shape);
        const SharedMemory memory =
            SharedMemory::create_alone(first_bytes, Contributions::bytes_of(shape) - first_bytes +
                                                        Contributions::reserve_of(shape));
        contributions_.resize(static_cast<size_t>(topology.ranks()));
        for (int local = 0; local < shape.ranks; ++local) {
            const int rank = topology.ranks_of(node)[static_cast<size_t>(local)];
            const Contributions first(memory.second_view(), shape, local);
            for (int lane = 0; lane <= lanes; ++lane) {
                contributions_[static_cast<size_t>(rank)].emplace_back(first, lane);
            }
        }
    }

    std::vector<Place> all() const {
        std::vector<Place> places;
        for (size_t rank = 0; rank < ranks_.size(); ++rank) {
            for (size_t i = 0; i < ranks_[rank].size(); ++i) { places.push_back({rank, i}); }
        }
        return places;
    }

    void finish_alone(Pending& rank) {
        for (uint64_t before = rank.advances(); !rank.progress(); before = rank.advances()) {
            require(rank.advances() > before, "a rank needs others after they have begun");
        }
        rank.check(input_.traffic);
    }

    /// A rank begins the operations of a lane in their order.
    bool may_run(const Place& place) const {
        for (size_t before = 0; before < place.operation; ++before) {
            const bool is_same = orders_[before].lane == orders_[place.operation].lane;
            if (is_same && !ranks_[place.rank][before]->has_begun()) { return false; }
        }
        return true;
    }

    void run_until_done(std::vector<Place> left) {
        while (!left.empty()) {
            bool moved = false;
            std::shuffle(left.begin(), left.end(), random_);
            std::vector<Place> unfinished;
            for (const Place& place : left) {
                Pending& rank = *ranks_[place.rank][place.operation];
                if (!may_run(place)) {
                    unfinished.push_back(place);
                    continue;
                }
                const bool begins = !rank.has_begun();
                const uint64_t before = rank.advances();
                const bool done = draw(random_, 0, 3) > 0 ? rank.progress() : (moved = true, false);
                if (!done) { unfinished.push_back(place); }
                moved = moved || begins || done || rank.advances() > before;
            }
            require(moved, "deadlock");
            left = std::move(unfinished);
        }
        check();
    }

    void check() {
        for (const Network& network : networks_) {
            require(network.empty(), "messages are left over");
        }
        uint64_t sent = 0;
        uint64_t listed = 0;
        const Topology& topology = input_.topology;
        for (const Place& place : all()) {
            const Pending& rank = *ranks_[place.rank][place.operation];
            rank.check(input_.traffic);
            sent += rank.node_bytes_sent();
            const int node = topology.node_of(static_cast<int>(place.rank));
            for (const Outgoing& message : input_.traffic[place.rank].outgoing) {
                if (topology.node_of(message.peer) != node) { listed += message.bytes; }
            }
        }
        require(sent == listed, "the report would have other bytes than the application sends");
    }

    const RandomCase& input_;
    Random random_;
    std::deque<Network> networks_; ///< by lane, as each has tags of its own
    Parameters parameters_;
    std::vector<Order> orders_;                                ///< by operation
    std::vector<std::vector<Contributions>> contributions_;    ///< by rank and lane
    std::vector<std::vector<std::unique_ptr<Pending>>> ranks_; ///< their operations
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
