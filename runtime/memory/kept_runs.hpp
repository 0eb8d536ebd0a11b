#pragma once

#include "runtime/device/runs.hpp"
#include "runtime/mpi/mpi.hpp"

#include <cstdint>
#include <functional>

namespace nodeaware {

// Where the bytes of elements of a datatype are, counted from where the first element begins: lists
// that are made once and kept with the datatype, until that is freed; some for each datatype, and
// up to a limit for all.

/// The list of so many elements: the one that is kept, or what `make` makes. Throws MpiError and
/// std::bad_alloc.
device::Runs kept_runs(MPI_Datatype type, MPI_Count count,
                       const std::function<device::Runs()>& make);

/// What is kept with a datatype, and what will be, is also that of another of the same layout.
void share_kept_runs(MPI_Datatype type, MPI_Datatype other);

} // namespace nodeaware
