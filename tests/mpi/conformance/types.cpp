#include "tests/mpi/conformance/types.hpp"

namespace nodeaware::conformance {

namespace {

constexpr auto width = static_cast<MPI_Aint>(sizeof(int));

MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

/// `inner` with another lower bound and extent, both in ints; frees it.
MPI_Datatype resized(MPI_Datatype inner, MPI_Aint lower, MPI_Aint extent) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(inner, lower * width, extent * width, &made);
    MPI_Type_free(&inner);
    return committed(made);
}

MPI_Datatype contiguous(int count) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(count, MPI_INT, &made);
    return committed(made);
}

MPI_Datatype indexed(const std::vector<int>& places) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_indexed_block(static_cast<int>(places.size()), 1, places.data(), MPI_INT,
                                  &made);
    return committed(made);
}

MPI_Datatype vector_of(int count, int length, int stride) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, length, stride, MPI_INT, &made);
    return committed(made);
}

MPI_Datatype structure() {
    const int lengths[3] = {1, 2, 1};
    const MPI_Aint places[3] = {0, 3 * width, 6 * width};
    const MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(3, lengths, places, types, &made);
    return committed(made);
}

MPI_Datatype subarray() {
    const int sizes[2] = {3, 5};
    const int parts[2] = {2, 3};
    const int starts[2] = {1, 1};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &made);
    return committed(made);
}

} // namespace

const std::vector<OddType>& odd_types() {
    static const std::vector<OddType> list = {
        {"contiguous", contiguous(4), 4, 0, 12},
        {"vector", vector_of(2, 2, 3), 4, 0, 18},
        {"backwards", vector_of(4, 1, -2), 4, 8, 32},
        {"swapped", indexed({3, 1, 2, 0}), 4, 0, 12},
        {"negative_places", indexed({-2, 0, 1, -4}), 4, 4, 24},
        {"with_hole", resized(contiguous(2), 0, 5), 2, 0, 15},
        {"interleaved", resized(vector_of(2, 1, 4), 0, 1), 2, 0, 8},
        {"negative_lower_bound", resized(contiguous(2), -3, 6), 2, 0, 18},
        {"negative_extent", resized(contiguous(2), 0, -2), 2, 6, 12},
        {"zero_extent", resized(contiguous(4), 0, 0), 4, 0, 4},
        {"huge_extent", resized(contiguous(2), 0, 5000), 2, 0, 10010},
        {"nothing", contiguous(0), 0, 0, 4},
        {"nothing_with_extent", resized(contiguous(0), 0, 3), 0, 0, 12},
        {"structure", structure(), 4, 0, 24},
        {"subarray", subarray(), 6, 0, 45},
    };
    return list;
}

} // namespace nodeaware::conformance
