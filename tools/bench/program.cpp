#include "program.hpp"

#include "mpi_forms.hpp"

namespace bench {

void throw_everywhere(const std::string& error, MPI_Comm comm) {
    auto length = static_cast<int>(error.size());
    check(MPI_Bcast(&length, 1, MPI_INT, 0, comm), "MPI_Bcast");
    if (length == 0) return;
    std::string text = error;
    text.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm), "MPI_Bcast");
    throw InputError(text);
}

std::string mpi_library_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    text.resize(static_cast<std::size_t>(length));
    // Some libraries count the final zero or end with a newline.
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
}

} // namespace bench
