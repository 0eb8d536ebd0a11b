#include "runtime/mpi/mpi.hpp"

#include "runtime/mpi/hidden_errors.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace nodeaware {

Mpi mpi;

namespace {

void* (*next_function)(const char* name) = nullptr;

std::string describe(int code, const char* function) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (mpi.Error_string == nullptr || mpi.Error_string(code, text, &length) != MPI_SUCCESS) {
        length = 0;
    }
    return std::string(function) + ": " + std::string(text, static_cast<size_t>(length));
}

#ifdef NODEAWARE_STANDARD_INTERFACE

bool is_above_open_mpi = false;

void find_out_which(std::string_view version) {
    is_above_open_mpi = version.starts_with("Open MPI");
}

#else

void find_out_which(std::string_view /*version*/) {}

#endif

std::string version_of_library() {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    return mpi.Get_library_version(version, &length) == MPI_SUCCESS ? version : "";
}

} // namespace

#ifdef NODEAWARE_STANDARD_INTERFACE
bool is_open_mpi() { return is_above_open_mpi; }
#endif

const char* load_mpi(void* (*next)(const char* name)) {
    next_function = next;
#define X(name)                                                                                    \
    mpi.name = reinterpret_cast<decltype(mpi.name)>(next("MPI_" #name));                           \
    if (mpi.name == nullptr) {                                                                     \
        mpi = Mpi();                                                                               \
        return "MPI_" #name;                                                                       \
    }
    NODEAWARE_MPI_FUNCTIONS(X)
#undef X
#ifdef NODEAWARE_MPI_LARGE_COUNTS
#define X(name) mpi.name = reinterpret_cast<decltype(mpi.name)>(next("MPI_" #name));
    NODEAWARE_MPI_LARGE_FUNCTIONS(X) // absent from older libraries with the same binary interface
#undef X
#endif
    const std::string version = version_of_library();
    find_out_which(version);
    if (hidden_errors::are_with(version)) { hidden_errors::uncover(mpi); }
    return nullptr;
}

void* find_mpi(const std::string& name) {
    return next_function == nullptr ? nullptr : next_function(name.c_str());
}

bool is_refused(int code) {
    int error_class = MPI_SUCCESS;
    if (code == MPI_SUCCESS || mpi.Error_class(code, &error_class) != MPI_SUCCESS) { return false; }
    constexpr std::array of_arguments = {MPI_ERR_BUFFER,  MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_COMM,
                                         MPI_ERR_REQUEST, MPI_ERR_ROOT,  MPI_ERR_OP,   MPI_ERR_ARG,
                                         MPI_ERR_TAG,     MPI_ERR_RANK};
    return std::find(of_arguments.begin(), of_arguments.end(), error_class) != of_arguments.end();
}

MpiError::MpiError(int error_code, const char* function)
    : std::runtime_error(describe(error_code, function)), code(error_code) {}

} // namespace nodeaware
