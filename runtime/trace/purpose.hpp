#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace nodeaware::trace {

/// What functions that are recorded are for: exchanges, messages and the completion of any, files,
/// and all others, which are collectives of other kinds for the most part.
enum class Purpose { exchange, message, other, file };
inline constexpr size_t purposes = 4;

constexpr Purpose purpose_of(std::string_view function) {
    const auto has = [function](std::string_view part) {
        return function.find(part) != std::string_view::npos;
    };
    if (function.starts_with("MPI_File_")) { return Purpose::file; }
    if (has("lltoall") || has("eighbor") || has("of exchanges")) { return Purpose::exchange; }
    for (const std::string_view part :
         {"send", "Send", "ecv", "robe", "Wait", "Test", "Start", "Request", "Cancel"}) {
        if (has(part)) { return Purpose::message; }
    }
    return Purpose::other;
}

} // namespace nodeaware::trace
