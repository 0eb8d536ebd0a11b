#include "program.hpp"

#include "mpi_forms.hpp"

namespace bench {

void broadcast(std::string& text, MPI_Comm comm, int root) {
    auto length = static_cast<int>(text.size());
    check(MPI_Bcast(&length, 1, MPI_INT, root, comm), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(text.data(), length, MPI_CHAR, root, comm), "MPI_Bcast");
}

void throw_everywhere(const std::string& error, MPI_Comm comm) {
    std::string text = error;
    broadcast(text, comm);
    if (!text.empty()) throw InputError(text);
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
