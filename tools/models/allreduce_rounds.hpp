#pragma once

#include "tuning/krylov_models.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

/// Which messages an allreduce sends.
namespace nodeaware::tuning {

enum class AllreduceAlgorithm {
    tree,          ///< of [K] 5.3, see allreduce(): one process of a node sends to other nodes
    doubling,      ///< recursive doubling of all ranks, wherever they are
    node_doubling, ///< tree to one rank of each node, recursive doubling of these, and back
    halving, ///< of all ranks, each is left with the sum of a part, in halves; they gather these
    node_halving, ///< the same of one rank of each node, as in node_doubling
    binomial      ///< binomial trees of all ranks to rank 0, nearest first, and from it
};

/// Their names: "tree", "node-doubling", ...
std::vector<std::string_view> allreduce_algorithms();
/// One of these names. Throws std::invalid_argument for others.
AllreduceAlgorithm allreduce_algorithm(std::string_view name);

/// By what MPIs choose.
struct AllreduceCall {
    bool is_nonblocking = false; ///< MPI_Iallreduce
    double bytes = 8;
    double elements = 1;
    int nodes = 1;
    int64_t ranks = 1;
};

/// What the MPI of a fingerprint does by default. Of MPIs that are not known: tree.
AllreduceAlgorithm usual_algorithm(std::string_view mpi, const AllreduceCall& call);

struct AllreduceMessages {
    std::vector<AllreduceRound> rounds;
    std::vector<std::vector<double>> sent; ///< to other nodes, in each round, by each node
};

/// Of any algorithm but tree, with `ppn` ranks in a row on each node.
AllreduceMessages count_allreduce(AllreduceAlgorithm algorithm, int nodes, int ppn);

} // namespace nodeaware::tuning
