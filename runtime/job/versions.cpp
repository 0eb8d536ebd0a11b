#include "runtime/job/versions.hpp"

#include "runtime/mpi/mpi.hpp"

namespace nodeaware {

std::string_view library_version() { return NODEAWARE_VERSION; }

std::string mpi_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    if (mpi.Get_library_version(text.data(), &length) != MPI_SUCCESS) { return "unknown"; }
    text.resize(static_cast<size_t>(length));
    return text.substr(0, text.find_first_of(std::string("\n\0", 2)));
}

} // namespace nodeaware
