#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <chrono>
#include <string>

namespace nodeaware::tool {

/// Finds functions and source lines of the sites of a trace, where their files are still what they
/// were when the trace was recorded. All others stay as they are; so do those that are not found in
/// the time, which large programs may need.
void find_places(Trace& trace, std::chrono::seconds most = std::chrono::seconds(20));

/// In a few words: "LINE of its FILE (FUNCTION)", what is known of them, or else "FILE+0xOFFSET",
/// without folders.
std::string short_name_of_place(const TracedSite& site);

} // namespace nodeaware::tool
