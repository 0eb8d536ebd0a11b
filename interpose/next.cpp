#include "interpose/next.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace nodeaware::interpose {

namespace {

bool is_mpi(const char* path) {
    const char* slash = std::strrchr(path, '/');
    const char* name = slash == nullptr ? path : slash + 1;
    for (const char* prefix : {"libmpi.so", "libmpich.so", "libmpi_mpifh.so", "libmpi_usempif08.so",
                               "libmpichfort.so", "libmpifort.so"}) {
        if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) { return true; }
    }
    return false;
}

bool is_own(const void* symbol) {
    static const char here = 0;
    Dl_info own;
    Dl_info other;
    return dladdr(&here, &own) != 0 && dladdr(symbol, &other) != 0 &&
           own.dli_fbase == other.dli_fbase;
}

/// A symbol, sought among what is loaded.
struct Search {
    const char* name;
    bool is_of_mpi; ///< only in libraries of MPI
    void* symbol;
};

/// Libraries that were loaded with RTLD_LOCAL (Python extensions do that) are outside the search
/// order: find MPI among what is loaded, and open it up, for the core refers to its symbols too.
/// Anything else that has such a function stands in for MPI in a program without.
int look_into(dl_phdr_info* object, size_t /*size*/, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    if (*object->dlpi_name == '\0' || is_mpi(object->dlpi_name) != wanted.is_of_mpi) { return 0; }
    const int scope = wanted.is_of_mpi ? RTLD_GLOBAL : RTLD_LOCAL;
    void* const library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | scope);
    if (library == nullptr) { return 0; }
    void* const symbol = dlsym(library, wanted.name);
    if (symbol == nullptr || is_own(symbol)) {
        dlclose(library);
        return 0;
    }
    wanted.symbol = symbol; // and the library stays
    return 1;
}

Found find(const char* name) {
    if (void* const symbol = dlsym(RTLD_NEXT, name)) { return {symbol, false}; }
    for (const bool is_of_mpi : {true, false}) {
        Search search{name, is_of_mpi, nullptr};
        dl_iterate_phdr(look_into, &search);
        if (search.symbol != nullptr) { return {search.symbol, !is_of_mpi}; }
    }
    return {};
}

} // namespace

Found find_next(const char* name) {
    const Found found = find(name);
    if (found.symbol != nullptr || std::strncmp(name, "MPI_", 4) != 0) { return found; }
    char profiling_name[128];
    std::snprintf(profiling_name, sizeof profiling_name, "P%s", name);
    return find(profiling_name);
}

void* next_symbol(const char* name) { return find_next(name).symbol; }

} // namespace nodeaware::interpose
