#pragma once

#include "tests/mpi/types.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

/// What the tests of collective exchanges share: the operations, and the buffers of a call.
namespace nodeaware::test {

enum Operation {
    alltoall,
    alltoallv,
    alltoallw,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
    neighbor_allgather,
    neighbor_allgatherv,
    operations
};

constexpr std::array<const char*, operations> operation_names = {
    "alltoall",           "alltoallv",          "alltoallw",          "neighbor_alltoall",
    "neighbor_alltoallv", "neighbor_alltoallw", "neighbor_allgather", "neighbor_allgatherv"};

/// Blocks with counts, datatypes and places, in memory full of canaries.
struct Buffer {
    std::vector<int> counts; ///< elements
    std::vector<int> places; ///< ints from the start
    std::vector<const TestType*> types;
    std::vector<int> memory;

    static constexpr int canary = 0x5ca1ab1e;

    /// Lays blocks of `integers[i]` ints out in random order with random gaps. One type for all but
    /// for the w operations.
    void lay_out(Random& random, const TestTypes& all, const std::vector<int>& integers,
                 bool one_type, bool uniform) {
        const TestType& common = all.draw_one(random);
        counts.assign(integers.size(), 0);
        places.assign(integers.size(), 0);
        types.assign(integers.size(), &common);
        std::vector<size_t> order(integers.size());
        std::iota(order.begin(), order.end(), size_t{0});
        if (!uniform && draw(random, 0, 2) == 0) {
            std::shuffle(order.begin(), order.end(), random);
        }
        int next = 0;
        for (const size_t at : order) {
            if (!one_type) { types[at] = &all.draw_one(random); }
            const TestType& type = *types[at];
            counts[at] = integers[at] / type.integers;
            if (!uniform) { next += draw(random, 0, 3); }
            // Displacements of alltoallv count extents.
            next = (next + type.extent - 1) / type.extent * type.extent;
            places[at] = next;
            next += counts[at] * type.extent + (uniform ? 0 : type.span);
        }
        counts.push_back(0); // an array that is not needed must still have an address
        memory.assign(static_cast<size_t>(next + common.span + 16), canary);
    }

    /// For operations with one count for all blocks, on a rank without any.
    void set_count(int integers) { counts[0] = integers; }

    std::vector<int> displacements(bool in_bytes) const {
        std::vector<int> result;
        for (size_t i = 0; i < places.size(); ++i) {
            result.push_back(in_bytes ? places[i] * static_cast<int>(sizeof(int))
                                      : places[i] / types[i]->extent);
        }
        result.push_back(0);
        return result;
    }
    std::vector<MPI_Aint> addresses() const {
        std::vector<MPI_Aint> result;
        for (const int place : places) {
            result.push_back(place * static_cast<MPI_Aint>(sizeof(int)));
        }
        result.push_back(0);
        return result;
    }
    std::vector<MPI_Datatype> handles() const {
        std::vector<MPI_Datatype> result;
        for (const TestType* type : types) { result.push_back(type->handle); }
        result.push_back(MPI_INT);
        return result;
    }
};

} // namespace nodeaware::test
