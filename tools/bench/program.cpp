#include "program.hpp"

#include "mpi_forms.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <dlfcn.h>

namespace bench {

void sleep_until(double time) {
    const double seconds = std::floor(time);
    timespec t{};
    t.tv_sec = static_cast<time_t>(seconds);
    t.tv_nsec = static_cast<long>((time - seconds) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {}
}

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

int ranks_with_library(const std::string& program, bool is_needed, MPI_Comm comm) {
    void* const library = dlopen("libnodeaware.so", RTLD_LAZY | RTLD_NOLOAD);
    const int mine = library != nullptr ? 1 : 0;
    if (library != nullptr) dlclose(library); // only what was opened here
    int with_library = 0;
    int ranks = 0;
    int rank = 0;
    check(MPI_Reduce(&mine, &with_library, 1, MPI_INT, MPI_SUM, 0, comm), "MPI_Reduce");
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    if (rank == 0 && is_needed && with_library < ranks) {
        std::fprintf(stderr,
                     "%s: %d of %d ranks have libnodeaware.so preloaded: MPI_X is native on the "
                     "others, too (nodeaware run -- mpirun ... %s preloads it)\n",
                     program.c_str(), with_library, ranks, program.c_str());
    }
    return with_library;
}

} // namespace bench
