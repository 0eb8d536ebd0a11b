#pragma once

#include "tuning/krylov_models.hpp"

#include <string_view>
#include <vector>

/// Which messages an allreduce of few numbers sends: each of them carries all of these.
namespace nodeaware::tuning {

enum class AllreduceAlgorithm {
    tree,          ///< of [K] 5.3, see allreduce(): one process of a node sends to other nodes
    doubling,      ///< recursive doubling of all ranks, wherever they are
    node_doubling, ///< tree to one rank of each node, recursive doubling of these, and back
    binomial       ///< binomial trees of all ranks to rank 0, nearest first, and from it
};

/// "tree", "doubling", "node-doubling", "binomial".
std::vector<std::string_view> allreduce_algorithms();
/// One of these names. Throws std::invalid_argument for others.
AllreduceAlgorithm allreduce_algorithm(std::string_view name);

/// What MPI_Allreduce or, `nonblocking`, MPI_Iallreduce of few numbers does by default in the MPI
/// of a fingerprint. Of MPIs that are not known: tree.
AllreduceAlgorithm usual_algorithm(std::string_view mpi, bool nonblocking);

struct AllreduceMessages {
    std::vector<AllreduceRound> rounds;
    std::vector<double> sent; ///< to other nodes, by each node, in all rounds
};

/// Of any algorithm but tree, with `ppn` ranks in a row on each node.
AllreduceMessages count_allreduce(AllreduceAlgorithm algorithm, int nodes, int ppn);

} // namespace nodeaware::tuning
