#pragma once

#include "runtime/memory/datatype.hpp"

#include <functional>

namespace nodeaware {

/// Size and bounds of one element, without a look at its structure. Throws MpiError.
Datatype measure(MPI_Datatype handle);

/// False: that is enough.
using VisitPart = std::function<bool(MPI_Datatype type, MPI_Count count, MPI_Count offset)>;

/// What a derived datatype is made of, in the order of its type map: calls `visit` with each row of
/// elements of another datatype, which begin `offset` bytes behind where its own elements do.
/// False: it is predefined, or made in a way that MPI alone knows. Throws MpiError.
bool visit_parts(MPI_Datatype handle, const VisitPart& visit);

bool is_predefined(MPI_Datatype handle);

} // namespace nodeaware
