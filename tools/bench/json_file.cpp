#include "json_file.hpp"

#include "tuning/text_file.hpp"

#include <exception>

namespace bench {

std::string write_json(const std::string& path, const nlohmann::ordered_json& json) try {
    nodeaware::tuning::write_text_file(path, json.dump(2) + "\n");
    return {};
} catch (const std::exception& error) { return error.what(); }

std::string write_unfinished_json(const std::string& path, const nlohmann::ordered_json& json) try {
    if (nodeaware::tuning::is_replaced(path)) { return write_json(path, json); }
    return nodeaware::tuning::complaint_of_file(path);
} catch (const std::exception& error) { return error.what(); }

nlohmann::ordered_json to_json(const Summary& summary) {
    return {{"median", summary.median}, {"min", summary.min}, {"max", summary.max}};
}

} // namespace bench
