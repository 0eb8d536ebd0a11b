#pragma once

#include "tools/fit/measurement_files.hpp"

namespace nodeaware::tuning {

/// Measurements as JSON text, and back, bit for bit:
///   {"format": "nodeaware-measurements", "version": 1,
///    "units": {"time": "seconds", "size": "bytes"},
///    "pairs": [{"memory": "host", "locality": "socket", "points": [[bytes, seconds], ...]}],
///    "copies": [{"direction": "host_to_device", "same_socket": true, "processes": 1,
///                "points": ...}],
///    "simultaneous": {"host": [[processes, bytes of each, seconds], ...], "device": ...},
///    "in_a_row": [[messages, bytes of each, seconds for all], ...],
///    "shared_copies": [[bytes, seconds], ...], "flag_latencies": [[seconds], ...]}
/// Every list may be absent.
std::string to_json_text(const Measurements& measurements);

/// Throws TableError, "ORIGIN: KEY: what is wrong, what was expected".
Measurements measurements_from_json(std::string_view text, const std::string& origin);

} // namespace nodeaware::tuning
