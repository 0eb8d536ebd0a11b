#pragma once

#include "statistics.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace bench {

// Writes a temporary file next to `path` and renames it, so that a reader never sees half a file.
// Returns an error text, empty if all is well.
std::string write_json(const std::string& path, const nlohmann::ordered_json& json);

nlohmann::ordered_json to_json(const Summary& summary);

} // namespace bench
