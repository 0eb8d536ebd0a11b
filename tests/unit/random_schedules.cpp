// random_schedules STRATEGY CASES [FIRST_SEED]
//
// Runs random exchanges on random clusters through compile_schedule() and Execution, the code that
// runs in an application, on a machine made of plain memory. Checks for every case that each byte
// arrives once, in its place; that no rank waits for ever; that the arena and counter bounds hold;
// that every piece and message finds its receive, with nothing left over.

#include "runtime/execution.hpp"
#include "tests/unit/random_case.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

namespace nodeaware::test {

namespace {

void require(bool condition, const char* what) {
    if (!condition) { throw std::runtime_error(what); }
}

std::byte content(int source, uint32_t memory, uint64_t offset) {
    return static_cast<std::byte>(
        (static_cast<uint64_t>(source) * 167 + uint64_t{memory} * 59 + offset * 13 + 1) % 251);
}

struct Node {
    std::vector<std::byte> arena;
    std::vector<uint32_t> counters;
    uint64_t arena_bound = 0;
};

/// Messages under way. A send is over when it is received (rendezvous) or at once (eager), as the
/// dice say.
class Network {
  public:
    explicit Network(Random& random) : random_(random) {}

    using Channel = std::tuple<int, int, bool>; // source, destination, piece or direct

    struct Send {
        std::vector<std::byte> data;
        std::vector<Completion>* sender = nullptr; ///< null when it was told already
        uint32_t step = 0;
    };
    struct Receive {
        std::byte* to = nullptr;
        uint64_t capacity = 0;
        std::vector<Completion>* receiver = nullptr;
        uint32_t step = 0;
        bool exact = false;
    };

    void send(const Channel& channel, Send message) {
        if (draw(random_, 0, 1) == 0) {
            message.sender->push_back({message.step, message.data.size(), false});
            message.sender = nullptr;
        }
        sends_[channel].push_back(std::move(message));
        match(channel);
    }

    void receive(const Channel& channel, const Receive& receive) {
        receives_[channel].push_back(receive);
        match(channel);
    }

    bool empty() const {
        const auto none = [](const auto& entry) { return entry.second.empty(); };
        return std::all_of(sends_.begin(), sends_.end(), none) &&
               std::all_of(receives_.begin(), receives_.end(), none);
    }

  private:
    void match(const Channel& channel) {
        auto& sends = sends_[channel];
        auto& receives = receives_[channel];
        while (!sends.empty() && !receives.empty()) {
            Send& message = sends.front();
            const Receive& receive = receives.front();
            require(message.data.size() <= receive.capacity,
                    "a message is larger than its receive");
            require(!receive.exact || message.data.size() == receive.capacity,
                    "a direct message is smaller than its receive");
            std::copy(message.data.begin(), message.data.end(), receive.to);
            receive.receiver->push_back({receive.step, message.data.size(), false});
            if (message.sender != nullptr) {
                message.sender->push_back({message.step, message.data.size(), false});
            }
            sends.pop_front();
            receives.pop_front();
        }
    }

    Random& random_;
    std::map<Channel, std::deque<Send>> sends_;
    std::map<Channel, std::deque<Receive>> receives_;
};

/// One rank: its user memory and its view of the node's arena.
class Rank {
  public:
    Rank(int rank, const RankTraffic& traffic, Node& node, Network& network)
        : rank_(rank), traffic_(traffic), node_(node), network_(network) {
        for (const Incoming& message : traffic.incoming) {
            received_.emplace_back(message.bytes);
            writes_.emplace_back(message.bytes, 0);
        }
    }

    std::byte* arena() { return node_.arena.data(); }
    uint32_t counter(int32_t number) { return node_.counters.at(static_cast<size_t>(number)); }
    void signal(int32_t number) { ++node_.counters.at(static_cast<size_t>(number)); }

    void pack(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to) {
        const Outgoing& message = traffic_.outgoing.at(item);
        require(offset + bytes <= message.bytes, "pack reads beyond its message");
        check_arena(to, bytes);
        for (uint64_t i = 0; i < bytes; ++i) { to[i] = content(rank_, message.memory, offset + i); }
    }

    void unpack(uint32_t item, uint64_t offset, uint64_t bytes, const std::byte* from) {
        require(offset + bytes <= received_.at(item).size(), "unpack writes beyond its message");
        check_arena(from, bytes);
        std::copy(from, from + bytes, received_[item].begin() + static_cast<ptrdiff_t>(offset));
        count_writes(item, offset, bytes);
    }

    void copy(uint32_t item, uint32_t other_item, uint64_t bytes) {
        require(bytes == traffic_.outgoing.at(item).bytes &&
                    bytes == received_.at(other_item).size(),
                "copy of unequal messages");
        received_[other_item] = whole(item);
        count_writes(other_item, 0, bytes);
    }

    void send(int peer, const std::byte* data, uint64_t bytes, uint32_t step) {
        check_arena(data, bytes);
        network_.send({rank_, peer, true}, {{data, data + bytes}, &completions_, step});
    }

    void receive(int peer, std::byte* to, uint64_t capacity, uint32_t step) {
        check_arena(to, capacity);
        network_.receive({peer, rank_, true}, {to, capacity, &completions_, step, false});
    }

    void send_item(int peer, uint32_t item, uint32_t step) {
        require(traffic_.outgoing.at(item).peer == peer, "direct message to the wrong rank");
        network_.send({rank_, peer, false}, {whole(item), &completions_, step});
    }

    void receive_item(int peer, uint32_t item, uint32_t step) {
        require(traffic_.incoming.at(item).peer == peer, "direct message from the wrong rank");
        count_writes(item, 0, received_[item].size());
        network_.receive({peer, rank_, false}, {received_[item].data(), received_[item].size(),
                                                &completions_, step, true});
    }

    std::span<const Completion> poll() {
        polled_.clear();
        polled_.swap(completions_);
        return polled_;
    }

    void mismatch(int /*peer*/) {
        throw std::runtime_error("a piece does not carry what is expected");
    }

    /// `listed` are the messages to this rank in the order of its incoming list.
    void check(const std::vector<std::pair<int, uint32_t>>& listed) const {
        for (size_t item = 0; item < received_.size(); ++item) {
            for (size_t i = 0; i < received_[item].size(); ++i) {
                require(writes_[item][i] == 1, "a byte was not written exactly once");
                require(received_[item][i] == content(listed[item].first, listed[item].second, i),
                        "a byte is wrong");
            }
        }
    }

  private:
    std::vector<std::byte> whole(uint32_t item) const {
        const Outgoing& message = traffic_.outgoing.at(item);
        std::vector<std::byte> data(message.bytes);
        for (uint64_t i = 0; i < message.bytes; ++i) {
            data[i] = content(rank_, message.memory, i);
        }
        return data;
    }

    void check_arena(const std::byte* at, uint64_t bytes) const {
        const auto offset = static_cast<uint64_t>(at - node_.arena.data());
        require(offset <= node_.arena_bound && offset + bytes <= node_.arena_bound,
                "access beyond the arena");
    }

    void count_writes(uint32_t item, uint64_t offset, uint64_t bytes) {
        for (uint64_t i = 0; i < bytes; ++i) { ++writes_[item][offset + i]; }
    }

    int rank_;
    const RankTraffic& traffic_;
    Node& node_;
    Network& network_;
    std::vector<std::vector<std::byte>> received_;
    std::vector<std::vector<int>> writes_;
    std::vector<Completion> completions_;
    std::vector<Completion> polled_;
};

/// A whole job: compiles the schedules of all ranks and runs them in random order.
class Job {
  public:
    Job(const RandomCase& input, const Strategy& strategy, uint64_t seed)
        : input_(input), random_(seed), network_(random_),
          nodes_(static_cast<size_t>(input.topology.nodes())) {
        compile(strategy);
        for (int rank = 0; rank < input.topology.ranks(); ++rank) {
            ranks_.push_back(std::make_unique<Rank>(rank, input.traffic[static_cast<size_t>(rank)],
                                                    node_of(rank), network_));
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
        for (int rank = 0; rank < input_.topology.ranks(); ++rank) {
            ranks_[static_cast<size_t>(rank)]->check(expected(rank));
        }
    }

  private:
    Node& node_of(int rank) { return nodes_[static_cast<size_t>(input_.topology.node_of(rank))]; }

    void compile(const Strategy& strategy) {
        const Topology& topology = input_.topology;
        schedules_.resize(static_cast<size_t>(topology.ranks()));
        for (int node = 0; node < topology.nodes(); ++node) {
            std::vector<const RankTraffic*> lists;
            for (const int rank : topology.ranks_of(node)) {
                lists.push_back(&input_.traffic[static_cast<size_t>(rank)]);
            }
            const NodeTraffic traffic = gather_traffic(topology, node, lists, input_.sharing);
            require(traffic.truncated.empty(), "matching messages are called truncated");
            Node& state = nodes_[static_cast<size_t>(node)];
            for (const int rank : topology.ranks_of(node)) {
                Schedule& schedule = schedules_[static_cast<size_t>(rank)];
                schedule = compile_schedule(topology, traffic, strategy, input_.parameters, rank);
                require(schedule.arena_bytes <= input_.parameters.arena_bytes,
                        "the arena is exceeded");
                require(schedule.counters <= counter_limit(topology), "too many counters");
                if (rank != topology.ranks_of(node).front()) {
                    require(schedule.arena_bytes == state.arena_bound &&
                                schedule.counters == state.counters.size(),
                            "the ranks of a node compile different schedules");
                }
                state.arena_bound = schedule.arena_bytes;
                state.arena.resize(schedule.arena_bytes);
                state.counters.assign(schedule.counters, 0);
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
                if (!executions[i].progress()) { unfinished.push_back(i); }
                after += executions[i].advances();
            }
            require(after > before || unfinished.size() < still, "deadlock");
            left = std::move(unfinished);
        }
    }

    /// Source and memory number of every message that the rank lists as incoming.
    std::vector<std::pair<int, uint32_t>> expected(int rank) const {
        std::map<int, std::deque<uint32_t>> sent;
        for (int source = 0; source < input_.topology.ranks(); ++source) {
            for (const Outgoing& message : input_.traffic[static_cast<size_t>(source)].outgoing) {
                if (message.peer == rank) { sent[source].push_back(message.memory); }
            }
        }
        std::vector<std::pair<int, uint32_t>> list;
        for (const Incoming& message : input_.traffic[static_cast<size_t>(rank)].incoming) {
            list.emplace_back(message.peer, sent[message.peer].front());
            sent[message.peer].pop_front();
        }
        return list;
    }

    const RandomCase& input_;
    Random random_;
    Network network_;
    std::vector<Node> nodes_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::vector<Schedule> schedules_;
};

int run_cases(const Strategy& strategy, uint64_t cases, uint64_t first_seed) {
    for (uint64_t seed = first_seed; seed < first_seed + cases; ++seed) {
        try {
            const RandomCase input(seed);
            Job(input, strategy, seed).run();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s, seed %llu: %s\n", std::string(strategy.name).c_str(),
                         static_cast<unsigned long long>(seed), error.what());
            return EXIT_FAILURE;
        }
    }
    std::printf("%s: %llu random schedules\n", std::string(strategy.name).c_str(),
                static_cast<unsigned long long>(cases));
    return EXIT_SUCCESS;
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    const auto* strategy = argc >= 3 ? nodeaware::find_strategy(argv[1]) : nullptr;
    if (strategy == nullptr) {
        std::fprintf(stderr, "usage: %s STRATEGY CASES [FIRST_SEED]\n", argv[0]);
        return EXIT_FAILURE;
    }
    const uint64_t first_seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    return nodeaware::test::run_cases(*strategy, std::strtoull(argv[2], nullptr, 10), first_seed);
}
