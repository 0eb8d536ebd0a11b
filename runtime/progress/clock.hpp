#pragma once

#include <chrono>

namespace nodeaware {

/// Seconds of a steady clock.
inline double now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(time).count();
}

} // namespace nodeaware
