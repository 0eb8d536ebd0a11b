#include "tools/nodeaware/doctor/record.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace nodeaware::tool::doctor {

namespace {

/// With the rest of a line below what terminals and launchers take at once.
constexpr size_t letters_in_line = 200;
constexpr char end_of_line = ';';

std::string in_hex(const std::string& text) {
    constexpr const char* digits = "0123456789abcdef";
    std::string hex;
    hex.reserve(2 * text.size());
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        hex += digits[byte / 16];
        hex += digits[byte % 16];
    }
    return hex;
}

template <class Number> std::optional<Number> number_in(const std::string& text, int base) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, number, base);
    if (error != std::errc() || last != end) { return std::nullopt; }
    return number;
}

std::optional<std::string> from_hex(const std::string& hex) {
    if (hex.size() % 2 != 0) { return std::nullopt; }
    std::string text;
    for (size_t at = 0; at < hex.size(); at += 2) {
        const auto byte = number_in<unsigned char>(hex.substr(at, 2), 16);
        if (!byte) { return std::nullopt; }
        text += static_cast<char>(*byte);
    }
    return text;
}

/// A line behind its mark: "NAME NUMBER COUNT HEX;", where no tag can pass for digits.
struct Part {
    std::string name;
    size_t number = 0;
    size_t count = 0;
    std::string text;
};

std::optional<Part> read_part(const std::string& line) {
    std::vector<std::string> words(1);
    for (const char letter : line) {
        if (letter == ' ') {
            words.emplace_back();
        } else {
            words.back() += letter;
        }
    }
    const bool has_name = words[0].find_first_not_of("0123456789.") == std::string::npos;
    if (words.size() != 4 || !has_name) { return std::nullopt; }
    const auto number = number_in<size_t>(words[1], 10);
    const auto count = number_in<size_t>(words[2], 10);
    const auto text = from_hex(words[3]);
    if (!number || !count || *number >= *count || !text) { return std::nullopt; }
    return Part{words[0], *number, *count, *text};
}

struct Parts {
    size_t count = 0;
    std::map<size_t, std::string> texts; ///< by number
};

} // namespace

std::vector<std::string> packed(const std::string& mark, const std::string& name,
                                const std::string& text) {
    const size_t count = std::max<size_t>((text.size() + letters_in_line - 1) / letters_in_line, 1);
    std::vector<std::string> lines;
    for (size_t number = 0; number < count; ++number) {
        std::string line = mark;
        line.append(name).append(" ").append(std::to_string(number)).append(" ");
        line.append(std::to_string(count)).append(" ");
        line.append(in_hex(text.substr(number * letters_in_line, letters_in_line)));
        line.append({end_of_line, '\n'});
        lines.insert(lines.end(), 2, line); // a tag may stand in one of them
    }
    return lines;
}

Unpacked unpacked(const std::string& mark, const std::string& lines) {
    std::map<std::string, Parts> tellers;
    bool has_mark = false;
    for (size_t at = 0; (at = lines.find(mark, at)) != std::string::npos;) {
        has_mark = true;
        at += mark.size();
        const size_t end = lines.find_first_of(std::string({end_of_line, '\n'}), at);
        if (end == std::string::npos || lines[end] != end_of_line) { continue; }
        if (const auto part = read_part(lines.substr(at, end - at))) {
            tellers[part->name].count = part->count;
            tellers[part->name].texts[part->number] = part->text;
        }
    }
    Unpacked all;
    for (const auto& [name, parts] : tellers) {
        if (parts.texts.size() != parts.count) {
            ++all.damaged;
            continue;
        }
        std::string& text = all.texts.emplace_back();
        for (const auto& [number, part] : parts.texts) { text += part; }
    }
    if (has_mark && tellers.empty()) { all.damaged = 1; }
    return all;
}

} // namespace nodeaware::tool::doctor
