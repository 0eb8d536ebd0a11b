#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// Checks of options, which say in words what was expected: those of CLI11 write out the largest
/// number that there is.
inline CLI::Validator not_empty() {
    return CLI::Validator(
        [](std::string& text) {
            return text.empty() ? std::string("expected a value, found none") : std::string();
        },
        "");
}

inline CLI::Validator positive_number() {
    return CLI::Validator(
        [](std::string& text) {
            const double number = std::strtod(text.c_str(), nullptr);
            return number > 0 && std::isfinite(number)
                       ? std::string()
                       : "expected a number greater than 0, found " + text;
        },
        "POSITIVE");
}

inline CLI::Validator non_negative_number() {
    return CLI::Validator(
        [](std::string& text) {
            char* end = nullptr;
            const bool is_right = std::strtod(text.c_str(), &end) >= 0 && end != text.c_str();
            return is_right ? std::string()
                            : "expected 0 or a number greater than 0, found " + text;
        },
        "NONNEGATIVE");
}

inline CLI::Validator positive_whole_number() {
    return CLI::Validator(
        [](std::string& text) {
            const bool is_right = text.find_first_not_of("0123456789") == std::string::npos &&
                                  text.find_first_not_of('0') != std::string::npos;
            return is_right ? std::string() : "expected a positive whole number, found " + text;
        },
        "POSITIVE");
}

/// An option whose value is one of some words.
template <class Value>
CLI::Option* add_choice(CLI::App& command, const char* name, Value& value, const char* doc,
                        const std::map<std::string, Value>& values) {
    std::vector<std::string> words;
    words.reserve(values.size());
    for (const auto& [word, meaning] : values) { words.push_back(word); }
    const auto set = [&value, values](const std::string& word) { value = values.at(word); };
    return command.add_option_function<std::string>(name, set, doc)->check(CLI::IsMember(words));
}

} // namespace nodeaware::tool
