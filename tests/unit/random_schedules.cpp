// random_schedules STRATEGY CASES [FIRST_SEED [FAILING]]
//
// Runs random exchanges on random clusters through compile_schedule() and Execution, the code that
// runs in an application, on a machine made of plain memory. Checks for every case that each byte
// arrives once, in its place, also where copies end later than they begin; that no rank waits for
// ever; that the arena and counter bounds hold; that every piece and message finds its receive,
// with nothing left over. FAILING percent of the carriers cannot be sent: then every byte is in its
// place, or its rank is told.

#include "tests/unit/random_machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

namespace nodeaware::test {

namespace {

/// A whole job: compiles the schedules of all ranks and runs them in random order.
class Job {
  public:
    Job(const RandomCase& input, const Strategy& strategy, uint64_t seed, uint64_t failing_percent)
        : input_(input), random_(seed), network_(random_),
          arenas_(static_cast<size_t>(input.topology.nodes())) {
        network_.is_eager = failing_percent > 0; // nobody here looks for strays
        compile(strategy);
        for (int rank = 0; rank < input.topology.ranks(); ++rank) {
            ranks_.push_back(std::make_unique<Rank>(rank, input.traffic[static_cast<size_t>(rank)],
                                                    arena_of(rank), network_, random_));
            ranks_.back()->use_slabs(slabs_);
            ranks_.back()->failing_percent = failing_percent;
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
        for (const auto& rank : ranks_) {
            rank->check(input_.traffic);
            fetches += rank->fetches;
            carried += rank->carried;
            mismatches += rank->mismatches;
        }
        // Parts of a carrier whose first part is lost are strays.
        require(network_.empty() || mismatches > 0, "messages are left over");
    }
    uint64_t fetches = 0;
    uint64_t carried = 0;
    uint64_t mismatches = 0;

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
        std::map<size_t, uint32_t> asleep; // until the bell rings again
        while (!left.empty()) {
            uint64_t before = 0;
            uint64_t after = 0;
            std::shuffle(left.begin(), left.end(), random_);
            const size_t still = left.size();
            std::vector<size_t> unfinished;
            for (const size_t i : left) {
                const uint32_t bell = ranks_[i]->bell();
                const auto sleeper = asleep.find(i);
                if (sleeper != asleep.end() && sleeper->second == bell) {
                    unfinished.push_back(i);
                    continue;
                }
                const uint64_t advances = executions[i].advances();
                const bool is_over = executions[i].progress();
                if (!is_over) { unfinished.push_back(i); }
                before += advances;
                after += executions[i].advances();
                const bool sleeps =
                    executions[i].advances() == advances && executions[i].under_way() == 0;
                if (sleeps) {
                    asleep[i] = bell;
                } else {
                    asleep.erase(i);
                }
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
    const uint64_t failing_percent = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0;
    using namespace nodeaware::test;
    const uint64_t cases = std::strtoull(argv[2], nullptr, 10);
    uint64_t fetches = 0;
    uint64_t carried = 0;
    uint64_t mismatches = 0;
    const int status =
        run_cases(strategy->name, cases, first_seed, [&](const RandomCase& input, uint64_t seed) {
            Job job(input, *strategy, seed, failing_percent);
            job.run();
            fetches += job.fetches;
            carried += job.carried;
            mismatches += job.mismatches;
        });
    std::printf(
        "%llu segments were copied by others than their owner, %llu carriers sent, %llu told\n",
        static_cast<unsigned long long>(fetches), static_cast<unsigned long long>(carried),
        static_cast<unsigned long long>(mismatches));
    return status;
}
