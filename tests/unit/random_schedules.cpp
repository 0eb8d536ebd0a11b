// random_schedules STRATEGY CASES [FIRST_SEED]
//
// Runs random exchanges on random clusters through compile_schedule() and Execution, the code that
// runs in an application, on a machine made of plain memory. Checks for every case that each byte
// arrives once, in its place, also where copies end later than they begin; that no rank waits for
// ever; that the arena and counter bounds hold; that every piece and message finds its receive,
// with nothing left over.

#include "tests/unit/random_machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace nodeaware::test {

namespace {

/// A whole job: compiles the schedules of all ranks and runs them in random order.
class Job {
  public:
    Job(const RandomCase& input, const Strategy& strategy, uint64_t seed)
        : input_(input), random_(seed), network_(random_),
          arenas_(static_cast<size_t>(input.topology.nodes())) {
        compile(strategy);
        for (int rank = 0; rank < input.topology.ranks(); ++rank) {
            ranks_.push_back(std::make_unique<Rank>(rank, input.traffic[static_cast<size_t>(rank)],
                                                    arena_of(rank), network_, random_));
            ranks_.back()->use_slabs(slabs_);
        }
        for (const SharedSlab& slab : input.slabs) {
            slabs_[slab.owner].assign(slab.bytes, std::byte{0xff});
        }
    }

    void run() {
        std::vector<size_t> order(ranks_.size());
        for (size_t i = 0; i < order.size(); ++i) { order[i] = i; }
        std::shuffle(order.begin(), order.end(), random_);
        for (const size_t i : order) { Execution<Rank>::run_prologue(schedules_[i], *ranks_[i]); }
        std::vector<Execution<Rank>> executions;
        executions.reserve(ranks_.size());
        for (size_t i = 0; i < ranks_.size(); ++i) {
            executions.emplace_back(schedules_[i], *ranks_[i], 7U, draw(random_, 0, 1) == 0);
        }
        run_until_done(executions, order);
        require(network_.empty(), "messages are left over");
        for (const auto& rank : ranks_) {
            rank->check(input_.traffic);
            fetches += rank->fetches;
        }
    }
    uint64_t fetches = 0;

  private:
    Arena& arena_of(int rank) {
        return arenas_[static_cast<size_t>(input_.topology.node_of(rank))];
    }

    void compile(const Strategy& strategy) {
        const Topology& topology = input_.topology;
        schedules_.resize(static_cast<size_t>(topology.ranks()));
        for (int node = 0; node < topology.nodes(); ++node) {
            std::vector<const RankTraffic*> lists;
            for (const int rank : topology.ranks_of(node)) {
                lists.push_back(&input_.traffic[static_cast<size_t>(rank)]);
            }
            NodeTraffic traffic = gather_traffic(topology, node, lists, input_.sharing);
            for (const SharedSlab& slab : input_.slabs) {
                if (topology.node_of(slab.owner) == node) { traffic.slabs.push_back(slab); }
            }
            require(traffic.truncated.empty(), "matching messages are called truncated");
            Arena& arena = arenas_[static_cast<size_t>(node)];
            for (const int rank : topology.ranks_of(node)) {
                Schedule& schedule = schedules_[static_cast<size_t>(rank)];
                schedule = compile_schedule(topology, traffic, strategy, input_.parameters, rank);
                require(schedule.arena_bytes <= input_.parameters.arena_bytes,
                        "the arena is exceeded");
                require(schedule.counters <= counter_limit(topology), "too many counters");
                if (rank != topology.ranks_of(node).front()) {
                    require(schedule.arena_bytes == arena.bytes.size() &&
                                schedule.counters == arena.counters.size(),
                            "the ranks of a node compile different schedules");
                }
                arena = Arena(schedule);
            }
        }
    }

    void run_until_done(std::vector<Execution<Rank>>& executions, std::vector<size_t> left) {
        while (!left.empty()) {
            uint64_t before = 0;
            uint64_t after = 0;
            std::shuffle(left.begin(), left.end(), random_);
            const size_t still = left.size();
            std::vector<size_t> unfinished;
            for (const size_t i : left) {
                before += executions[i].advances();
                const bool is_over = executions[i].progress();
                if (!is_over) { unfinished.push_back(i); }
                after += executions[i].advances();
                // Whoever has returned may stage for the next operation.
                const auto own = slabs_.find(static_cast<int>(i));
                if (is_over && own != slabs_.end()) {
                    std::fill(own->second.begin(), own->second.end(), std::byte{0xff});
                }
            }
            require(after > before || unfinished.size() < still, "deadlock");
            left = std::move(unfinished);
        }
    }

    const RandomCase& input_;
    Random random_;
    Network network_;
    std::vector<Arena> arenas_;
    Slabs slabs_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::vector<Schedule> schedules_;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    const auto* strategy = argc >= 3 ? nodeaware::find_strategy(argv[1]) : nullptr;
    if (strategy == nullptr) {
        std::fprintf(stderr, "usage: %s STRATEGY CASES [FIRST_SEED]\n", argv[0]);
        return EXIT_FAILURE;
    }
    const uint64_t first_seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    using namespace nodeaware::test;
    const uint64_t cases = std::strtoull(argv[2], nullptr, 10);
    uint64_t fetches = 0;
    const int status =
        run_cases(strategy->name, cases, first_seed, [&](const RandomCase& input, uint64_t seed) {
            Job job(input, *strategy, seed);
            job.run();
            fetches += job.fetches;
        });
    std::printf("%llu segments were copied by others than their owner\n",
                static_cast<unsigned long long>(fetches));
    return status;
}
