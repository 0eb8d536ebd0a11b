#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <vector>

namespace nodeaware::tool {

/// When the times of each rank that has been read begin, on one clock for all (seconds from 0).
/// Ranks of a host go by its clock. Hosts are put beside each other by their first ranks: all begin
/// as soon as they have the same broadcast. Where a trace has no clocks, or those of one host
/// cannot be of the same machine, all its ranks begin at once.
std::vector<double> begins_of(const Trace& trace);

} // namespace nodeaware::tool
