#pragma once

#include "tools/fit/measurement_files.hpp"

namespace nodeaware::tuning {

/// Measurements as JSON text, and back, bit for bit:
///   {"format": "nodeaware-measurements", "version": 2,
///    "units": {"time": "seconds", "size": "bytes"},
///    "pairs": [{"memory": "host", "locality": "socket", "points": [[bytes, seconds], ...]}],
///    "copies": [{"direction": "host_to_device", "same_socket": true, "processes": 1,
///                "host_memory": "arena", "in_a_row": 4, "points": ...}],
///    "simultaneous": {"host": [[processes, bytes of each, seconds], ...], "device": ...},
///    "in_a_row": [[messages, bytes of each, seconds for all], ...],
///    "shared_copies": [[bytes, seconds], ...], "flag_latencies": [[seconds], ...]}
/// Every list may be absent. Version 1 has neither host_memory (by default "pinned") nor in_a_row
/// (by default 1) nor the direction "both", and is written where none of these is needed.
std::string to_json_text(const Measurements& measurements);

/// Throws TableError, "ORIGIN: KEY: what is wrong, what was expected".
Measurements measurements_from_json(std::string_view text, const std::string& origin);

} // namespace nodeaware::tuning
