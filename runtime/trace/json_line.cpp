#include "runtime/trace/json_line.hpp"

#include <array>

namespace nodeaware::trace {

JsonLine& JsonLine::add(std::string_view name, std::string_view text) {
    return add_value(name, quoted(text));
}

JsonLine& JsonLine::add_value(std::string_view name, std::string_view json) {
    ((text_ += text_.size() > 1 ? ",\"" : "\"") += name) += "\":";
    text_ += json;
    return *this;
}

std::string JsonLine::seconds_of(uint64_t nanoseconds) {
    constexpr uint64_t second = 1'000'000'000;
    std::string text = text_of(nanoseconds / second);
    std::string digits = text_of(second + nanoseconds % second).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    return digits.empty() ? text : text + "." + digits;
}

std::string JsonLine::quoted(std::string_view text) {
    constexpr std::array<char, 16> digits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                             '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
    std::string result = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            (result += '\\') += letter;
        } else if (code < ' ' || code > '~') { // bytes of names of files need not be UTF-8
            ((result += "\\u00") += digits[code >> 4]) += digits[code & 15];
        } else {
            result += letter;
        }
    }
    return result + '"';
}

} // namespace nodeaware::trace
