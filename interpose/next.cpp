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

/// A symbol, sought in libraries of MPI.
struct Search {
    const char* name;
    void* symbol;
};

/// MPI in libraries that were loaded with RTLD_LOCAL (Python extensions do that) is outside the
/// search order: find them among what is loaded, and open them up, for the core refers to their
/// symbols too.
void* find_local(const char* name) {
    Search search{name, nullptr};
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t /*size*/, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            if (!is_mpi(object->dlpi_name)) { return 0; }
            void* const library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
            if (library == nullptr) { return 0; }
            wanted.symbol = dlsym(library, wanted.name);
            return wanted.symbol == nullptr ? 0 : 1;
        },
        &search);
    return search.symbol;
}

void* find(const char* name) {
    if (void* symbol = dlsym(RTLD_NEXT, name)) { return symbol; }
    return find_local(name);
}

} // namespace

void* next_symbol(const char* name) {
    if (void* symbol = find(name)) { return symbol; }
    if (std::strncmp(name, "MPI_", 4) != 0) { return nullptr; }
    char profiling_name[128];
    std::snprintf(profiling_name, sizeof profiling_name, "P%s", name);
    return find(profiling_name);
}

} // namespace nodeaware::interpose
