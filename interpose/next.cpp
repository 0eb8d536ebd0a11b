#include "interpose/next.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace nodeaware::interpose {

namespace {

enum class Library { mpi, mpi_fortran, other };

Library kind_of(const char* path) {
    const char* slash = std::strrchr(path, '/');
    const char* name = slash == nullptr ? path : slash + 1;
    const auto has = [&](const char* prefix) {
        return std::strncmp(name, prefix, std::strlen(prefix)) == 0;
    };
    if (has("libmpi.so") || has("libmpich.so") || has("libmpi_abi.so")) { return Library::mpi; }
    return has("libmpi_mpifh.so") || has("libmpi_usempif08.so") || has("libmpichfort.so") ||
                   has("libmpifort.so")
               ? Library::mpi_fortran
               : Library::other;
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
/// Not that for Fortran, of which the core needs nothing: a stand-in that is loaded later would
/// find it in its way. Anything else that has such a function is for programs without MPI.
int look_into(dl_phdr_info* object, size_t /*size*/, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    const Library kind = kind_of(object->dlpi_name);
    if (*object->dlpi_name == '\0' || (kind != Library::other) != wanted.is_of_mpi) { return 0; }
    const int scope = kind == Library::mpi ? RTLD_GLOBAL : RTLD_LOCAL;
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

void* find_local(const char* name, bool is_of_mpi) {
    Search search{name, is_of_mpi, nullptr};
    dl_iterate_phdr(look_into, &search);
    return search.symbol;
}

void* find(const char* name) {
    if (void* const symbol = dlsym(RTLD_NEXT, name)) { return symbol; }
    if (void* const symbol = find_local(name, true)) { return symbol; }
    return find_local(name, false);
}

} // namespace

void* symbol_of_mpi(const char* name) {
    if (void* const symbol = dlsym(RTLD_DEFAULT, name)) { return symbol; }
    return find_local(name, true);
}

bool is_of_stand_in(const void* symbol) {
    Dl_info library;
    return symbol != nullptr && !is_own(symbol) && dladdr(symbol, &library) != 0 &&
           kind_of(library.dli_fname) == Library::other;
}

void* next_symbol(const char* name) {
    if (void* const symbol = find(name)) { return symbol; }
    if (std::strncmp(name, "MPI_", 4) != 0) { return nullptr; }
    char profiling_name[128];
    std::snprintf(profiling_name, sizeof profiling_name, "P%s", name);
    return find(profiling_name);
}

} // namespace nodeaware::interpose
