#pragma once

#include <string_view>

namespace nodeaware::trace {

/// What functions that are recorded are for: exchanges, messages and the completion of any, and
/// blocking collectives of other kinds.
enum class Purpose { exchange, message, other };

constexpr Purpose purpose_of(std::string_view function) {
    if (function.find("lltoall") != std::string_view::npos ||
        function.find("eighbor") != std::string_view::npos) {
        return Purpose::exchange;
    }
    return function.starts_with("MPI_") ? Purpose::message : Purpose::other;
}

} // namespace nodeaware::trace
