#pragma once

#include <string>
#include <string_view>

namespace nodeaware {

/// As text of HTML or SVG, and of their attributes.
inline std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        switch (letter) {
        case '&': result += "&amp;"; break;
        case '<': result += "&lt;"; break;
        case '>': result += "&gt;"; break;
        case '"': result += "&quot;"; break;
        default: result += letter;
        }
    }
    return result;
}

} // namespace nodeaware
