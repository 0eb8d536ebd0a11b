#include "tools/nodeaware/roff.hpp"

#include <algorithm>
#include <cctype>

namespace nodeaware::tool {

namespace {

/// Whether a line that begins so is not taken for text.
bool is_request(std::string_view line) { return line.starts_with('.') || line.starts_with('\''); }

} // namespace

Roff::Roff(std::string_view name, int section) {
    std::string capitals;
    for (const char c : name) {
        capitals += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    // Without a day, so that the same sources give the same page.
    line(".TH " + capitals + " " + std::to_string(section) +
         R"( "" "libnodeaware )" NODEAWARE_VERSION "\"");
}

void Roff::paragraph(std::string_view text) {
    if (!begins_) { line(".PP"); }
    begins_ = false;
    lines(text);
}

void Roff::item(std::string_view about, std::string_view text) {
    begins_ = false;
    line(".TP");
    line(escaped(about));
    lines(text);
}

void Roff::more(std::string_view text) {
    line(".IP");
    lines(text);
}

void Roff::example(std::string_view text) {
    if (!begins_) { line(".PP"); }
    begins_ = false;
    line(".RS 4\n.nf");
    while (!text.empty()) {
        const size_t end = text.find('\n');
        line(escaped(text.substr(0, end)));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    line(".fi\n.RE");
}

void Roff::lines(std::string_view text) {
    constexpr size_t width = 78;
    const std::string whole = escaped(text);
    std::string_view rest = whole;
    while (!rest.empty()) {
        size_t end = rest.size() > width ? rest.rfind(' ', width) : rest.size();
        if (end == std::string_view::npos) { end = std::min(rest.find(' '), rest.size()); }
        line((is_request(rest) ? "\\&" : "") + std::string(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

std::string Roff::escaped(std::string_view text) {
    std::string result;
    bool is_bold = false;
    if (is_request(text)) { result = "\\&"; }
    for (const char c : text) {
        switch (c) {
        case '`':
            is_bold = !is_bold;
            result += is_bold ? "\\fB" : "\\fR";
            break;
        case '\\': result += "\\e"; break;
        case '-': result += "\\-"; break;
        case '~': result += "\\(ti"; break;
        case '^': result += "\\(ha"; break;
        default: result += c;
        }
    }
    return result;
}

} // namespace nodeaware::tool
