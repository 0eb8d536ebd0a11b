#pragma once

#include <cstddef>

namespace triangular {

// Numbers of rows, supernodes and ranks are int, as in MPI and in matrices.
inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

} // namespace triangular
