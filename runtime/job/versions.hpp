#pragma once

#include <string>
#include <string_view>

namespace nodeaware {

std::string_view library_version();
/// What the MPI says of itself, the first line.
std::string mpi_version();

} // namespace nodeaware
