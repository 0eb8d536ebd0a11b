#pragma once

/// What functions of the application throw that MPI has called, see abi::Core.
namespace nodeaware::kept_exceptions {

void* call_and_keep(void (*function)(void*), void* argument, int blocking);
void throw_kept(void* kept);

} // namespace nodeaware::kept_exceptions
