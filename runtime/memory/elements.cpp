#include "runtime/memory/elements.hpp"

#include <array>

namespace nodeaware {

namespace {

constexpr MPI_Count part = MPI_Count{1} << 20;

/// `count` elements of a datatype one after the other, in parts and a rest.
MPI_Datatype make_type(MPI_Count count, MPI_Datatype type) {
    MPI_Count lower_bound = 0;
    MPI_Count extent = 0;
    MPI_CALL(Type_get_extent_x, type, &lower_bound, &extent);
    MPI_Datatype parts = MPI_DATATYPE_NULL;
    MPI_CALL(Type_contiguous, static_cast<int>(part), type, &parts);
    const std::array<int, 2> lengths = {static_cast<int>(count / part),
                                        static_cast<int>(count % part)};
    const std::array<MPI_Aint, 2> places = {0, static_cast<MPI_Aint>(count / part * part * extent)};
    const std::array<MPI_Datatype, 2> types = {parts, type};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const int code = mpi.Type_create_struct(lengths[1] == 0 ? 1 : 2, lengths.data(), places.data(),
                                            types.data(), &made);
    mpi.Type_free(&parts);
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Type_create_struct"); }
    if (const int committed = mpi.Type_commit(&made); committed != MPI_SUCCESS) {
        mpi.Type_free(&made);
        throw MpiError(committed, "MPI_Type_commit");
    }
    return made;
}

} // namespace

Elements::Elements(MPI_Count count, MPI_Datatype type)
    : count_(static_cast<int>(count)), type_(type) {
    if (count <= INT_MAX) { return; }
    type_ = make_type(count, type);
    count_ = 1;
    is_made_ = true;
}

Elements::~Elements() {
    if (is_made_) { mpi.Type_free(&type_); }
}

} // namespace nodeaware
