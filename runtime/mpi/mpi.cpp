#include "runtime/mpi/mpi.hpp"

namespace nodeaware {

Mpi mpi;

namespace {

std::string describe(int code, const char* function) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (mpi.Error_string == nullptr || mpi.Error_string(code, text, &length) != MPI_SUCCESS) {
        length = 0;
    }
    return std::string(function) + ": " + std::string(text, static_cast<size_t>(length));
}

} // namespace

const char* load_mpi(void* (*next)(const char* name)) {
#define X(name)                                                                                    \
    mpi.name = reinterpret_cast<decltype(mpi.name)>(next("MPI_" #name));                           \
    if (mpi.name == nullptr) { return "MPI_" #name; }
    NODEAWARE_MPI_FUNCTIONS(X)
#undef X
#ifdef NODEAWARE_MPI_LARGE_COUNTS
#define X(name) mpi.name = reinterpret_cast<decltype(mpi.name)>(next("MPI_" #name));
    NODEAWARE_MPI_LARGE_FUNCTIONS(X) // absent from older libraries with the same binary interface
#undef X
#endif
    return nullptr;
}

MpiError::MpiError(int error_code, const char* function)
    : std::runtime_error(describe(error_code, function)), code(error_code) {}

} // namespace nodeaware
