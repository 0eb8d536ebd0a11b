#pragma once

#include "runtime/mpi/mpi.hpp"

#include <cstdint>
#include <string_view>

/// MPICH from 4.3 on returns success once it has called an error handler of the program, where the
/// standard has the error returned (MPI 4.1, 9.3). The library goes by what is returned: whether a
/// request was made, or a loop is over. So of such an MPI each function is called by way of one
/// that looks whether a handler was called meanwhile, and returns the error if so. Handlers from
/// Fortran are not seen; what repeats a call passes an `untold` flag, which an error leaves so.
namespace nodeaware::hidden_errors {

/// Whether the MPI of this version (MPI_Get_library_version) does so.
bool are_with(std::string_view version);

/// Puts functions that return errors in place of those of the table.
void uncover(Mpi& table);

/// A handler of the program is about to be called by this thread.
void told(int code);

constexpr int untold = -1;

/// How many errors that were hidden this thread has met. Where there are more than before, the
/// program's call returns success, as without the library.
uint64_t met();

} // namespace nodeaware::hidden_errors
