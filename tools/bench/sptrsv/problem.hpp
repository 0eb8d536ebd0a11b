// The triangular system that all ranks solve.
#pragma once

#include "factor_options.hpp"
#include "tools/triangular/system.hpp"

#include <mpi.h>

namespace bench::sptrsv {

using namespace triangular;

// Collective: rank 0 makes the factor; all have it then. Throws InputError on all ranks.
System make_system(const FactorOptions& options, MPI_Comm comm);

} // namespace bench::sptrsv
