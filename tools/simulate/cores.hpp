#pragma once

#include "interpose/abi.hpp"

#include <string>

namespace nodeaware::simulation {

/// A core of the library, with variables of its own.
struct LoadedCore {
    const abi::Core* core = nullptr;
    void* library = nullptr; ///< for dlsym
};

/// Loads one more copy of the core in this file; its code is in memory once. Never unloaded. Throws
/// std::runtime_error.
LoadedCore load_core(const std::string& file);

} // namespace nodeaware::simulation
