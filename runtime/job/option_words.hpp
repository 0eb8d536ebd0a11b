#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

/// Words in the values of options.
namespace nodeaware::option_words {

inline std::string_view trimmed(std::string_view text) {
    const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && is_space(text.front())) { text.remove_prefix(1); }
    while (!text.empty() && is_space(text.back())) { text.remove_suffix(1); }
    return text;
}

inline std::vector<std::string_view> split_at(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const size_t end = text.find(separator);
        parts.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) { return parts; }
        text.remove_prefix(end + 1);
    }
}

inline std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) { text += (text.empty() ? "" : ", ") + word; }
    return text;
}

} // namespace nodeaware::option_words
