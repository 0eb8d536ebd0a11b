// A triangular matrix in dense blocks of columns with the same places.
#pragma once

#include "factor.hpp"

#include <cstddef>
#include <vector>

namespace triangular {

// L(I, K) of the paper for I > K, without rows of zeros.
struct Block {
    int row = 0;                // the supernode I
    int column = 0;             // K
    std::vector<int> rows;      // of those of I, from zero
    std::vector<double> values; // by columns of K, each with all of `rows`
};

// Supernode K has the columns, and the rows, from first[K] to first[K + 1].
struct Supernodes {
    std::vector<int> first;                     // and the end
    std::vector<std::vector<double>> diagonals; // L(K, K) by columns
    std::vector<Block> blocks;                  // by columns, and by rows in these

    int count() const { return static_cast<int>(first.size()) - 1; }
    int width(int supernode) const {
        const auto k = static_cast<std::size_t>(supernode);
        return first[k + 1] - first[k];
    }
};

struct SupernodeLimits {
    int widest = 64;  // columns
    int relaxed = 16; // a subtree of the elimination tree with no more columns is one supernode
};

Supernodes supernodes_of(const LowerFactor& factor, const SupernodeLimits& limits);

} // namespace triangular
