#include "interpose/next.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace nodeaware::interpose {

namespace {

/// MPI in a library that was loaded with RTLD_LOCAL (Python extensions do that) is outside the
/// search order: find it among what is loaded, and open it up, for the core refers to its symbols
/// too.
void* local_mpi() {
    static constinit std::atomic<void*> known{nullptr};
    if (void* handle = known.load(std::memory_order_relaxed)) { return handle; }
    char path[4096] = "";
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t /*size*/, void* data) {
            const char* slash = std::strrchr(object->dlpi_name, '/');
            const char* name = slash == nullptr ? object->dlpi_name : slash + 1;
            if (std::strncmp(name, "libmpi.so", 9) != 0 &&
                std::strncmp(name, "libmpich.so", 11) != 0) {
                return 0;
            }
            std::snprintf(static_cast<char*>(data), sizeof path, "%s", object->dlpi_name);
            return 1;
        },
        path);
    if (path[0] == '\0') { return nullptr; }
    known.store(dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL), std::memory_order_relaxed);
    return known.load(std::memory_order_relaxed);
}

void* find(const char* name) {
    if (void* symbol = dlsym(RTLD_NEXT, name)) { return symbol; }
    void* const mpi = local_mpi();
    return mpi == nullptr ? nullptr : dlsym(mpi, name);
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
