#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <iosfwd>

namespace nodeaware::tool {

/// Writes the calls of a trace that has been read with its timeline as events of Chrome's trace
/// format (JSON, microseconds), which Perfetto reads: nodes are its processes and ranks its
/// threads. A rank whose threads have called at the same time has several tracks.
void write_timeline(std::ostream& out, const Trace& trace);

} // namespace nodeaware::tool
