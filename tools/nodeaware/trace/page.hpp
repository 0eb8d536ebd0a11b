#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nodeaware::tool {

/// What was found in a trace as a page (HTML) that needs no other file and asks for none, of less
/// than 1 MB however large the trace is. `trace` has been read with its timeline;
/// `nodes`: of each rank; `report`: of to_json().
std::string page_of(const Trace& trace, const std::vector<int>& nodes,
                    const nlohmann::ordered_json& report);

} // namespace nodeaware::tool
