#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

/// Messages whose bytes do not lie side by side: some elements of a datatype.
struct Gaps {
    std::string name;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = 1;
    bool is_scattered = true; ///< in so many short runs that a kernel is to copy them

    /// From where the elements are said to begin: the first byte, and the one behind the last.
    std::array<MPI_Aint, 2> bounds() const {
        MPI_Aint lower_bound = 0;
        MPI_Aint extent = 0;
        MPI_Aint true_lower_bound = 0;
        MPI_Aint true_extent = 0;
        MPI_Type_get_extent(type, &lower_bound, &extent);
        MPI_Type_get_true_extent(type, &true_lower_bound, &true_extent);
        const MPI_Aint last = (count - 1) * extent;
        return {std::min<MPI_Aint>(0, last) + true_lower_bound,
                std::max<MPI_Aint>(0, last) + true_lower_bound + true_extent};
    }
};

/// Of as many kinds as there are.
inline std::vector<Gaps> make_gaps() {
    std::vector<Gaps> all;
    const auto add = [&](const char* name, MPI_Datatype type, int count = 1,
                         bool is_scattered = true) {
        MPI_Type_commit(&type);
        all.push_back({name, type, count, is_scattered});
        return type;
    };
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const auto vector = [&](int blocks, int length, int stride, MPI_Datatype of) {
        MPI_Type_vector(blocks, length, stride, of, &made);
        return made;
    };
    const MPI_Datatype thousand = add("vector", vector(1000, 1, 3, MPI_INT));
    add("long vector", vector(40000, 2, 3, MPI_INT));
    add("characters", vector(50000, 1, 2, MPI_CHAR));
    add("vector backwards", vector(300, 2, -5, MPI_DOUBLE));
    add("some vectors", vector(20, 1, 2, MPI_INT), 40);
    add("long runs", vector(20, 5000, 5001, MPI_INT), 1, false);

    std::vector<int> lengths, places;
    std::vector<MPI_Aint> offsets;
    std::vector<MPI_Datatype> types;
    for (int i = 0; i < 1000; ++i) {
        lengths.push_back(i % 4);
        places.push_back(5 * ((i * 377) % 1000));
        offsets.push_back(23 * ((i * 611) % 1000));
        types.push_back(
            std::array{MPI_CHAR, MPI_SHORT, MPI_INT, MPI_CHAR}.at(static_cast<std::size_t>(i % 4)));
    }
    MPI_Type_indexed(1000, lengths.data(), places.data(), MPI_INT, &made);
    add("indexed", made);
    MPI_Type_create_hindexed(1000, lengths.data(), offsets.data(), MPI_CHAR, &made);
    add("indexed by bytes", made, 2);
    MPI_Type_create_indexed_block(1000, 3, places.data(), MPI_CHAR, &made);
    add("blocks", made);
    MPI_Type_create_hindexed_block(1000, 7, offsets.data(), MPI_CHAR, &made);
    add("blocks by bytes", made);
    MPI_Type_create_struct(1000, lengths.data(), offsets.data(), types.data(), &made);
    add("structure", made);

    constexpr std::array sizes = {9, 11, 13};
    constexpr std::array parts = {7, 10, 3};
    constexpr std::array begins = {1, 0, 9};
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
        MPI_Type_create_subarray(3, sizes.data(), parts.data(), begins.data(), order, MPI_SHORT,
                                 &made);
        add(order == MPI_ORDER_C ? "subarray" : "subarray as of Fortran", made, 3);
    }
    constexpr std::array grid = {30, 50};
    constexpr std::array<int, 2> distributions = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    constexpr std::array blocks = {3, 2};
    constexpr std::array processes = {2, 3};
    MPI_Type_create_darray(6, 4, 2, grid.data(), distributions.data(), blocks.data(),
                           processes.data(), MPI_ORDER_C, MPI_INT, &made);
    const MPI_Datatype distributed = add("distributed array", made, 2);
    MPI_Type_create_hvector(5, 2, 19, MPI_SHORT_INT, &made);
    MPI_Datatype inner = made;
    MPI_Type_create_resized(inner, -3, 97, &made);
    MPI_Type_free(&inner);
    add("pairs", made, 30);
    constexpr std::array both_lengths = {2, 1};
    const std::array<MPI_Aint, 2> both_places = {70000, 1};
    const std::array both = {thousand, distributed};
    MPI_Type_create_struct(2, both_lengths.data(), both_places.data(), both.data(), &made);
    add("structure of these", made);
    return all;
}
