#pragma once

#include "tools/models/scenario.hpp"

#include <string>

namespace nodeaware::tuning {

/// One row per size: the times (seconds) of all curves, the least of a row (best cases apart)
/// marked with *, and its name.
std::string to_text(const std::vector<ScenarioPoint>& points);

/// Header "bytes,<key>...,winner", one line per size; an absent time is an empty field.
std::string to_csv(const std::vector<ScenarioPoint>& points);

/// {"table", "scenario", "units", "points": [{"bytes", "seconds": {key: time}, "winner",
/// "overall_winner"}]}; an absent time is null.
std::string to_json_text(const ModelTable& table, const Scenario& scenario,
                         const std::vector<ScenarioPoint>& points);

/// The figure: log-log, staged solid, device-aware dashed, the least time of each size marked.
std::string to_svg(const ModelTable& table, const Scenario& scenario,
                   const std::vector<ScenarioPoint>& points);

} // namespace nodeaware::tuning
