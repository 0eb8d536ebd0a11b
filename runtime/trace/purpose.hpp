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

/// Name of the event of a message that was begun by starting a persistent request, within that of
/// the call, which may start several.
constexpr const char* started_send(std::string_view function) {
    return function == "MPI_Start" ? "MPI_Start of a send" : "MPI_Startall of a send";
}
constexpr bool is_started_send(std::string_view function) {
    return function.ends_with(" of a send");
}

} // namespace nodeaware::trace
