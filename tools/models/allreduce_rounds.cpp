#include "tools/models/allreduce_rounds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace nodeaware::tuning {

namespace {

struct NamedAlgorithm {
    std::string_view name;
    AllreduceAlgorithm algorithm;
};

constexpr std::array named_algorithms = {
    NamedAlgorithm{"tree", AllreduceAlgorithm::tree},
    NamedAlgorithm{"doubling", AllreduceAlgorithm::doubling},
    NamedAlgorithm{"node-doubling", AllreduceAlgorithm::node_doubling},
    NamedAlgorithm{"halving", AllreduceAlgorithm::halving},
    NamedAlgorithm{"node-halving", AllreduceAlgorithm::node_halving},
    NamedAlgorithm{"binomial", AllreduceAlgorithm::binomial}};

class RoundCounter {
  public:
    RoundCounter(int nodes, int ppn) : ppn_(ppn), sent_(static_cast<size_t>(nodes)) {}

    void send(int from, int to) {
        if (from / ppn_ == to / ppn_) {
            round_.on_node = true;
        } else {
            ++sent_[static_cast<size_t>(from / ppn_)];
        }
    }

    /// `adds`: whoever has received something adds it to what it has. `part`: of all, in each
    /// message.
    void end_round(bool adds, double part = 1) {
        round_.adds = adds;
        round_.part = part;
        round_.off_node = *std::max_element(sent_.begin(), sent_.end());
        counted_.rounds.push_back(round_);
        counted_.sent.push_back(sent_);
        round_ = {};
        std::fill(sent_.begin(), sent_.end(), 0);
    }

    AllreduceMessages result() { return std::move(counted_); }

  private:
    int ppn_;
    std::vector<double> sent_; ///< to other nodes in this round, by each node
    AllreduceRound round_;
    AllreduceMessages counted_;
};

enum class Parts { all, halves };

/// Of `members` ranks, each `stride` after the one before. Those beyond a power of two leave their
/// numbers to a neighbour first, and get the sums from it in the end. In halves each round has half
/// as much as the one before, and the same rounds backwards gather the sums.
void add_exchanges(RoundCounter& counter, int members, int stride, Parts parts) {
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
    const int extra = members - power;
    const auto rank_of = [&](int index) {
        return (index < extra ? 2 * index + 1 : index + extra) * stride;
    };
    for (int i = 0; i < extra; ++i) { counter.send(2 * i * stride, (2 * i + 1) * stride); }
    if (extra > 0) { counter.end_round(true); }
    const auto exchange = [&](int distance, bool adds) {
        for (int i = 0; i < power; ++i) { counter.send(rank_of(i), rank_of(i ^ distance)); }
        counter.end_round(adds, parts == Parts::all ? 1 : 0.5 / distance);
    };
    for (int distance = 1; distance < power; distance *= 2) { exchange(distance, true); }
    for (int distance = power / 2; parts == Parts::halves && distance > 0; distance /= 2) {
        exchange(distance, false);
    }
    for (int i = 0; i < extra; ++i) { counter.send((2 * i + 1) * stride, 2 * i * stride); }
    if (extra > 0) { counter.end_round(false); }
}

/// To the first of `ranks` ranks, nearest first.
void add_reduction(RoundCounter& counter, int ranks) {
    for (int distance = 1; distance < ranks; distance *= 2) {
        for (int from = distance; from < ranks; from += 2 * distance) {
            counter.send(from, from - distance);
        }
        counter.end_round(true);
    }
}

/// From the first of `ranks` ranks, nearest first.
void add_broadcast(RoundCounter& counter, int ranks) {
    for (int distance = 1; distance < ranks; distance *= 2) {
        for (int from = 0; from < distance && from + distance < ranks; ++from) {
            counter.send(from, from + distance);
        }
        counter.end_round(false);
    }
}

} // namespace

std::vector<std::string_view> allreduce_algorithms() {
    std::vector<std::string_view> names;
    names.reserve(named_algorithms.size());
    for (const NamedAlgorithm& one : named_algorithms) { names.push_back(one.name); }
    return names;
}

AllreduceAlgorithm allreduce_algorithm(std::string_view name) {
    const auto* const found =
        std::find_if(named_algorithms.begin(), named_algorithms.end(),
                     [&](const NamedAlgorithm& one) { return one.name == name; });
    if (found == named_algorithms.end()) {
        throw std::invalid_argument("no algorithm " + std::string(name));
    }
    return found->algorithm;
}

// Open MPI 4.1.4 and MPICH 4.0.2, as counted and timed between the nodes of an emulated cluster:
// sums of 8 bytes to 64 KiB of 6 to 32 ranks, nonblocking of 8 to 80 bytes.
AllreduceAlgorithm usual_algorithm(std::string_view mpi, const AllreduceCall& call) {
    if (mpi == "Open MPI") {
        if (call.is_nonblocking) { return AllreduceAlgorithm::binomial; }
        const double halved = call.ranks < 16 ? 8192 : call.ranks < 32 ? 4096 : 256;
        return call.bytes < halved ? AllreduceAlgorithm::doubling : AllreduceAlgorithm::halving;
    }
    if (mpi == "MPICH") {
        if (call.is_nonblocking) { return AllreduceAlgorithm::doubling; }
        // However few they are: where each node can have one of its own.
        const bool are_parts = call.elements >= std::bit_floor(static_cast<unsigned>(call.nodes));
        return are_parts && call.nodes > 1 ? AllreduceAlgorithm::node_halving
                                           : AllreduceAlgorithm::node_doubling;
    }
    return AllreduceAlgorithm::tree;
}

AllreduceMessages count_allreduce(AllreduceAlgorithm algorithm, int nodes, int ppn) {
    RoundCounter counter(nodes, ppn);
    const bool has_halves =
        algorithm == AllreduceAlgorithm::halving || algorithm == AllreduceAlgorithm::node_halving;
    const Parts parts = has_halves ? Parts::halves : Parts::all;
    switch (algorithm) {
    case AllreduceAlgorithm::tree:
        throw std::invalid_argument("the rounds of a tree have a formula");
    case AllreduceAlgorithm::doubling:
    case AllreduceAlgorithm::halving: add_exchanges(counter, nodes * ppn, 1, parts); break;
    case AllreduceAlgorithm::node_doubling:
    case AllreduceAlgorithm::node_halving:
        add_reduction(counter, ppn); // as on all nodes
        add_exchanges(counter, nodes, ppn, parts);
        add_broadcast(counter, ppn);
        break;
    case AllreduceAlgorithm::binomial:
        add_reduction(counter, nodes * ppn);
        add_broadcast(counter, nodes * ppn);
        break;
    }
    return counter.result();
}

} // namespace nodeaware::tuning
