#pragma once

#include <nlohmann/json.hpp>

namespace nodeaware::tool {

/// The model table that a job of this user goes by, and what it knows of copies between hosts and
/// GPUs: {"name", "complaint" (if it is not the wanted one), "copies": [...] as in the file}.
nlohmann::ordered_json describe_model();
void print_model(const nlohmann::ordered_json& model);

} // namespace nodeaware::tool
