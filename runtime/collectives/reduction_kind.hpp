#pragma once

#include "runtime/mpi/mpi.hpp"

#include <cstdint>

namespace nodeaware {

/// What becomes of the bits of a reduction if its terms are taken together in another order.
enum class ReductionKind {
    unknown,          ///< operators of the application, and whatever else is left to MPI
    order_free,       ///< they stay
    order_free_if_in, ///< they stay if every rank finds its own terms to be so
    bits_may_change,
};

/// Of predefined operators and datatypes that go together; the same on all ranks. Handles that are
/// none are unknown.
ReductionKind reduction_kind(MPI_Op op, MPI_Datatype type);

/// Whether there is neither NaN nor -0 among these terms of an order_free_if_in reduction, of
/// floating-point numbers of `size` bytes: of those the greatest depends on the order.
bool are_order_free(const void* terms, uint64_t count, uint64_t size);

} // namespace nodeaware
