// A core as a build of other sources has it: the one that REAL_CORE names, with another number.

#include "interpose/abi.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace {

nodeaware::abi::Core core;
int number;

} // namespace

extern "C" const nodeaware::abi::Core* nodeaware_core(void* (*next)(const char* name)) {
    using nodeaware::abi::CoreEntry;
    const char* const file = std::getenv("REAL_CORE");
    void* const library = file == nullptr ? nullptr : dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) { return nullptr; }
    const auto entry = reinterpret_cast<CoreEntry>(dlsym(library, nodeaware::abi::core_entry_name));
    core = *entry(next);
    number = core.sources() ^ 1;
    core.sources = [] { return number; };
    return &core;
}
