#pragma once

#include "statistics.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace bench {

// As nodeaware::tuning::write_file(). Returns an error text, empty if all is well.
std::string write_json(const std::string& path, const nlohmann::ordered_json& json);
// The same while there is more to come: only into a file that will be replaced.
std::string write_unfinished_json(const std::string& path, const nlohmann::ordered_json& json);

nlohmann::ordered_json to_json(const Summary& summary);

} // namespace bench
