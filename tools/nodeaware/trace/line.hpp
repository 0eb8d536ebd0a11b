#pragma once

#include "runtime/trace/text.hpp"
#include "tools/nodeaware/trace/reader.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace nodeaware::tool {

/// The JSON in a line, whose members are asked for with what they must be.
class Line {
  public:
    Line(std::string place, const std::string& text)
        : place_(std::move(place)), json_(nlohmann::json::parse(text, nullptr, false)) {
        if (!json_.is_object()) { complain("expected a JSON object, perhaps it is cut off"); }
    }

    std::string text(const char* name) const {
        return get<std::string>(name, &nlohmann::json::is_string, "text");
    }
    bool truth(const char* name) const {
        return get<bool>(name, &nlohmann::json::is_boolean, "true or false");
    }
    uint64_t count(const char* name) const {
        return get<uint64_t>(name, &nlohmann::json::is_number_unsigned, "a number from 0");
    }
    int integer(const char* name) const {
        return get<int>(name, &nlohmann::json::is_number_integer, "a whole number");
    }
    double seconds(const char* name) const {
        const auto value = get<double>(name, &nlohmann::json::is_number, "seconds");
        if (value < 0) { complain(std::string(name) + ": expected seconds from 0"); }
        return value;
    }
    std::string text_or_nothing(const char* name) const { return has(name) ? text(name) : ""; }
    bool has(const char* name) const { return json_.contains(name); }
    /// An option of the library as the job had it; empty: the default.
    std::string setting(const char* name) const {
        const auto all = json_.find("settings");
        if (all == json_.end() || !all->is_object()) { complain("settings: expected an object"); }
        const auto found = all->find(name);
        if (found == all->end()) { return ""; }
        if (!found->is_string()) { complain("settings: expected texts"); }
        return found->get<std::string>();
    }
    /// The members of an object, as text.
    std::vector<std::pair<std::string, std::string>> texts(const char* name) const {
        std::vector<std::pair<std::string, std::string>> texts;
        const auto found = json_.find(name);
        if (found == json_.end() || !found->is_object()) { return texts; }
        for (const auto& [key, value] : found->items()) {
            texts.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
        }
        return texts;
    }
    /// Rows of whole numbers.
    std::vector<std::vector<int64_t>> rows(const char* name, size_t columns) const {
        std::vector<std::vector<int64_t>> rows;
        for (const nlohmann::json& row : list(name)) {
            const bool fits = row.is_array() && row.size() == columns &&
                              std::all_of(row.begin(), row.end(), [](const nlohmann::json& value) {
                                  return value.is_number_integer();
                              });
            if (!fits) {
                complain(std::string(name) + ": expected rows of " + std::to_string(columns) +
                         " whole numbers");
            }
            rows.push_back(row.get<std::vector<int64_t>>());
        }
        return rows;
    }
    std::vector<int> integers(const char* name) const {
        std::vector<int> values;
        for (const nlohmann::json& value : list(name)) {
            if (!value.is_number_integer()) {
                complain(std::string(name) + ": expected whole numbers");
            }
            values.push_back(value.get<int>());
        }
        return values;
    }
    void expect_version() const {
        const uint64_t version = count("version");
        if (version != trace::format_version) {
            complain("expected version " + std::to_string(trace::format_version) + ", found " +
                     std::to_string(version));
        }
    }
    [[noreturn]] void complain(const std::string& what) const {
        throw TraceError(place_ + ": " + what);
    }

    const nlohmann::json& list(const char* name) const {
        const auto found = json_.find(name);
        if (found == json_.end() || !found->is_array()) {
            complain(std::string(name) + ": expected a list");
        }
        return *found;
    }

  private:
    template <class Value>
    Value get(const char* name, bool (nlohmann::json::*is_right)() const noexcept,
              const char* what) const {
        const auto found = json_.find(name);
        if (found == json_.end() || !((*found).*is_right)()) {
            complain(std::string(name) + ": expected " + what);
        }
        return found->get<Value>();
    }

    std::string place_;
    nlohmann::json json_;
};

/// Reads lines that not every command has a use for, and passes over those that it does not know.
void read_detail(const Line& line, const std::string& type, RankTrace& rank);

/// Of a pattern with so many blocks, for each of them one: TracedPattern::data and values.
std::vector<int> read_firsts(const Line& line, const char* name, size_t blocks);

/// Of the first line: whose times these are.
void read_clock(const Line& line, RankTrace& rank);

} // namespace nodeaware::tool
