#include "tuning/json_reader.hpp"

#include "tuning/model_table.hpp"

#include <cmath>
#include <limits>

namespace nodeaware::tuning {

JsonReader::JsonReader(const nlohmann::json& json, std::string origin, std::string key)
    : json_(json), origin_(std::move(origin)), key_(std::move(key)) {
    if (!json_.is_object()) {
        throw TableError(origin_ + ": " + (key_.empty() ? "the file" : key_) +
                         ": must be an object, is " + json_.type_name());
    }
}

void JsonReader::complain(const std::string& key, const std::string& what) const {
    throw TableError(origin_ + ": " + (key_.empty() ? "" : key_ + ".") + key + ": " + what);
}

const nlohmann::json& JsonReader::at(const std::string& key) {
    asked_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) { complain(key, "is missing"); }
    return *found;
}

std::string JsonReader::text(const std::string& key) {
    const auto& value = at(key);
    if (!value.is_string()) { complain(key, "must be a text, is " + value.dump()); }
    return value.get<std::string>();
}

double JsonReader::number(const std::string& key) {
    const auto& value = at(key);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
        complain(key, "must be a number that is not negative, is " + value.dump());
    }
    return value.get<double>();
}

int JsonReader::integer(const std::string& key) {
    const double value = number(key);
    if (value != std::floor(value) || value > std::numeric_limits<int>::max()) {
        complain(key, "must be a whole number, is " + at(key).dump());
    }
    return static_cast<int>(value);
}

bool JsonReader::boolean(const std::string& key) {
    const auto& value = at(key);
    if (!value.is_boolean()) { complain(key, "must be true or false, is " + value.dump()); }
    return value.get<bool>();
}

JsonReader JsonReader::object(const std::string& key) {
    return {at(key), origin_, key_.empty() ? key : key_ + "." + key};
}

std::vector<JsonReader> JsonReader::objects(const std::string& key) {
    std::vector<JsonReader> readers;
    if (!has(key)) { return readers; }
    const auto& list = at(key);
    if (!list.is_array()) { complain(key, "must be a list, is " + list.dump()); }
    for (size_t i = 0; i < list.size(); ++i) {
        readers.emplace_back(list[i], origin_,
                             (key_.empty() ? key : key_ + "." + key) + "[" + std::to_string(i) +
                                 "]");
    }
    return readers;
}

std::vector<std::string> JsonReader::texts(const std::string& key) {
    std::vector<std::string> values;
    if (!has(key)) { return values; }
    const auto& list = at(key);
    if (!list.is_array()) { complain(key, "must be a list of texts, is " + list.dump()); }
    for (const auto& value : list) {
        if (!value.is_string()) { complain(key, "must be a list of texts, has " + value.dump()); }
        values.push_back(value.get<std::string>());
    }
    return values;
}

std::vector<std::vector<double>> JsonReader::rows(const std::string& key, size_t columns) {
    std::vector<std::vector<double>> result;
    if (!has(key)) { return result; }
    const auto& list = at(key);
    const std::string wanted = "must be a list of rows of " + std::to_string(columns) + " numbers";
    if (!list.is_array()) { complain(key, wanted); }
    for (const auto& row : list) {
        if (!row.is_array() || row.size() != columns) {
            complain(key, wanted + ", has " + row.dump());
        }
        std::vector<double>& values = result.emplace_back();
        for (const auto& value : row) {
            if (!value.is_number() || !(value.get<double>() >= 0)) {
                complain(key, wanted + " that are not negative, has " + row.dump());
            }
            values.push_back(value.get<double>());
        }
    }
    return result;
}

std::map<std::string, double> JsonReader::numbers() {
    std::map<std::string, double> values;
    for (const auto& [key, value] : json_.items()) { values[key] = number(key); }
    return values;
}

void JsonReader::expect_no_more() const {
    for (const auto& [key, value] : json_.items()) {
        if (!asked_.contains(key)) { complain(key, "is not a key of this format"); }
    }
}

} // namespace nodeaware::tuning
