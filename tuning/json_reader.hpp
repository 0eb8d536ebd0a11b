#pragma once

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace nodeaware::tuning {

/// One object of a JSON file that knows where it stands, so that each complaint names file and key
/// and says what was expected. Throws TableError.
class JsonReader {
  public:
    JsonReader(const nlohmann::json& json, std::string origin, std::string key);

    bool has(const std::string& key) const { return json_.contains(key); }
    std::string text(const std::string& key);
    std::string text_or_empty(const std::string& key) { return has(key) ? text(key) : ""; }
    /// A finite number, not negative.
    double number(const std::string& key);
    double number_or(const std::string& key, double otherwise) {
        return has(key) ? number(key) : otherwise;
    }
    /// A whole number, not negative.
    int integer(const std::string& key);
    int integer_or(const std::string& key, int otherwise) {
        return has(key) ? integer(key) : otherwise;
    }
    bool boolean(const std::string& key);
    /// The value whose name_of() is the text of `key`.
    template <class Value> Value name(const std::string& key, std::initializer_list<Value> values) {
        const std::string given = text(key);
        std::string names;
        for (const Value value : values) {
            if (name_of(value) == given) { return value; }
            names += " " + std::string(name_of(value));
        }
        complain(key, "is " + given + ", must be one of" + names);
    }
    JsonReader object(const std::string& key);
    /// The objects of a list; an absent list is empty.
    std::vector<JsonReader> objects(const std::string& key);
    std::vector<std::string> texts(const std::string& key);
    /// A list of rows of `columns` numbers, none negative; an absent list is empty.
    std::vector<std::vector<double>> rows(const std::string& key, size_t columns);
    /// Every key of this object, all numbers.
    std::map<std::string, double> numbers();

    /// Complains of keys that nobody asked for: most are misspelt.
    void expect_no_more() const;
    [[noreturn]] void complain(const std::string& key, const std::string& what) const;

  private:
    const nlohmann::json& at(const std::string& key);

    const nlohmann::json& json_;
    std::string origin_;
    std::string key_;
    std::set<std::string> asked_;
};

} // namespace nodeaware::tuning
