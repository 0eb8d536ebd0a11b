// Calls that are not for MPI although they have the names of its functions.

#include "interpose/next.hpp"

#include <cstdint>
#include <dlfcn.h>
#include <link.h>
#include <sched.h>

namespace nodeaware::interpose {

namespace {

/// Linked with MPI's Fortran library: its functions are those of all libraries then.
constinit bool is_in_order = false;

/// Before the program can load anything.
__attribute__((constructor)) void look_at_order() {
    is_in_order = dlsym(RTLD_NEXT, "mpi_init_") != nullptr;
}

/// Code that is loaded.
struct Caller {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    void* library = nullptr; ///< its own, opened so that it stays; of the program: nullptr
    bool has_stand_in = false;

    bool has(uintptr_t address) const { return begin <= address && address < end; }
};

constexpr int most_known = 128;
constinit Caller known[most_known];
constinit std::atomic<int> number_known{0};
constinit std::atomic_flag adds;

const Caller* known_caller(uintptr_t address) {
    const int number = number_known.load(std::memory_order_acquire);
    for (int i = 0; i < number; ++i) {
        if (known[i].has(address)) { return &known[i]; }
    }
    return nullptr;
}

struct Search {
    uintptr_t address;
    Caller caller;
    const char* file; ///< empty: the program itself
};

int look_into(dl_phdr_info* object, size_t /*size*/, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
        const Caller code{begin, begin + segment.p_memsz};
        if (segment.p_type != PT_LOAD || !code.has(wanted.address)) { continue; }
        wanted.caller = code;
        wanted.file = object->dlpi_name;
        return 1;
    }
    return 0;
}

Caller caller_at(uintptr_t address, const char* name) {
    Search search{address, {}, ""};
    dl_iterate_phdr(look_into, &search);
    if (*search.file == '\0') { return search.caller; }
    Caller& caller = search.caller;
    caller.library = dlopen(search.file, RTLD_LAZY | RTLD_NOLOAD);
    caller.has_stand_in = caller.library != nullptr && is_of_stand_in(dlsym(caller.library, name));
    return caller;
}

/// False if another thread has been faster, there is no room, or this is code of no library.
bool remember(uintptr_t address, const Caller& caller) {
    if (!caller.has(address)) { return false; }
    while (adds.test_and_set(std::memory_order_acquire)) { sched_yield(); }
    const int number = number_known.load(std::memory_order_relaxed);
    const bool is_new = number < most_known && known_caller(address) == nullptr;
    if (is_new) {
        known[number] = caller;
        number_known.store(number + 1, std::memory_order_release);
    }
    adds.clear(std::memory_order_release);
    return is_new;
}

void* stand_in_of(const Caller& caller, const char* name) {
    if (!caller.has_stand_in) { return nullptr; }
    void* const symbol = dlsym(caller.library, name);
    return is_of_stand_in(symbol) ? symbol : nullptr;
}

} // namespace

void* stand_in(const char* name, const void* caller) {
    if (is_in_order) { return nullptr; }
    const auto address = reinterpret_cast<uintptr_t>(caller);
    if (const Caller* const is_known = known_caller(address)) {
        return stand_in_of(*is_known, name);
    }
    const Caller from = caller_at(address, name);
    void* const symbol = stand_in_of(from, name);
    // The caller, which is running, keeps its library loaded without us.
    if (!remember(address, from) && from.library != nullptr) { dlclose(from.library); }
    return symbol;
}

} // namespace nodeaware::interpose
