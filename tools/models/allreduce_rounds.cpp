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
    NamedAlgorithm{"binomial", AllreduceAlgorithm::binomial}};

class RoundCounter {
  public:
    RoundCounter(int nodes, int ppn) : ppn_(ppn), of_round_(static_cast<size_t>(nodes)) {
        counted_.sent.resize(of_round_.size());
    }

    void send(int from, int to) {
        if (from / ppn_ == to / ppn_) {
            round_.on_node = true;
        } else {
            ++of_round_[static_cast<size_t>(from / ppn_)];
        }
    }

    /// `adds`: whoever has received something adds it to what it has.
    void end_round(bool adds) {
        round_.adds = adds;
        for (size_t node = 0; node < of_round_.size(); ++node) {
            round_.off_node = std::max(round_.off_node, of_round_[node]);
            counted_.sent[node] += of_round_[node];
            of_round_[node] = 0;
        }
        counted_.rounds.push_back(round_);
        round_ = {};
    }

    AllreduceMessages result() { return std::move(counted_); }

  private:
    int ppn_;
    std::vector<double> of_round_; ///< messages to other nodes, by each node
    AllreduceRound round_;
    AllreduceMessages counted_;
};

/// Of `members` ranks, each `stride` after the one before. Those beyond a power of two leave their
/// numbers to a neighbour first, and get the sums from it in the end.
void add_doubling(RoundCounter& counter, int members, int stride) {
    const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
    const int extra = members - power;
    const auto rank_of = [&](int index) {
        return (index < extra ? 2 * index + 1 : index + extra) * stride;
    };
    for (int i = 0; i < extra; ++i) { counter.send(2 * i * stride, (2 * i + 1) * stride); }
    if (extra > 0) { counter.end_round(true); }
    for (int distance = 1; distance < power; distance *= 2) {
        for (int i = 0; i < power; ++i) { counter.send(rank_of(i), rank_of(i ^ distance)); }
        counter.end_round(true);
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

// Counted between the nodes of an emulated cluster, of 8 bytes: Open MPI 4.1.4 and MPICH 4.0.2.
AllreduceAlgorithm usual_algorithm(std::string_view mpi, bool nonblocking) {
    if (mpi == "Open MPI") {
        return nonblocking ? AllreduceAlgorithm::binomial : AllreduceAlgorithm::doubling;
    }
    if (mpi == "MPICH") {
        return nonblocking ? AllreduceAlgorithm::doubling : AllreduceAlgorithm::node_doubling;
    }
    return AllreduceAlgorithm::tree;
}

AllreduceMessages count_allreduce(AllreduceAlgorithm algorithm, int nodes, int ppn) {
    RoundCounter counter(nodes, ppn);
    switch (algorithm) {
    case AllreduceAlgorithm::tree:
        throw std::invalid_argument("the rounds of a tree have a formula");
    case AllreduceAlgorithm::doubling: add_doubling(counter, nodes * ppn, 1); break;
    case AllreduceAlgorithm::node_doubling:
        add_reduction(counter, ppn); // as on all nodes
        add_doubling(counter, nodes, ppn);
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
