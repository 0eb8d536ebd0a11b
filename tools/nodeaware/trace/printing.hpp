#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <nlohmann/json.hpp>

namespace nodeaware::tool {

/// Says on stderr what could not be read.
void complain(const Trace& trace);

/// On stdout: as JSON, or what to_json() has made of a comparison as text.
void print_json(const nlohmann::ordered_json& report);
void print_comparison(const nlohmann::ordered_json& report);

} // namespace nodeaware::tool
