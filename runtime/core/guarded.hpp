#pragma once

#include "runtime/job/log.hpp"

#include <exception>

namespace nodeaware {

/// Work of a hook that has no result. Hooks must not throw into the application, whose call stack
/// may be C or Fortran.
template <class Work> void guarded(Work work) {
    try {
        work();
    } catch (const std::exception& error) { log(LogLevel::warn, "{}", error.what()); }
}

} // namespace nodeaware
