#include "tools/nodeaware/doctor/output.hpp"

#include "tools/nodeaware/doctor/words.hpp"

#include <algorithm>
#include <sstream>

namespace nodeaware::tool::doctor {

namespace {

constexpr size_t most_marked = 16 << 20;
constexpr size_t most_in_line = 4096;
constexpr size_t most_at_begin = 4 << 10;
constexpr size_t most_at_end = 64 << 10;

} // namespace

void MarkedLines::add(std::string_view text) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const size_t room = most_in_line - std::min(line_.size(), most_in_line);
        line_.append(text.substr(0, std::min(end, room)));
        if (end == text.size()) { return; }
        end_line();
        text.remove_prefix(end + 1);
    }
}

void MarkedLines::end_line() {
    const bool has_room = kept_.size() + line_.size() < most_marked;
    if (has_room && line_.find(mark_) != std::string::npos) { kept_.append(line_).append("\n"); }
    line_.clear();
}

std::string MarkedLines::text() const {
    return line_.find(mark_) == std::string::npos ? kept_ : kept_ + line_ + "\n";
}

void Ends::add(std::string_view text) {
    const size_t first = std::min(text.size(), most_at_begin - begin_.size());
    begin_.append(text.substr(0, first));
    end_.append(text.substr(first));
    if (end_.size() > most_at_end) {
        end_.erase(0, end_.size() - most_at_end);
        is_cut_ = true;
    }
}

std::string Ends::text() const { return begin_ + (is_cut_ ? "\n" : "") + end_; }

std::string without_controls(std::string text) {
    constexpr unsigned char last_control = 0x1f;
    constexpr unsigned char delete_key = 0x7f;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // Those above ASCII take two bytes in UTF-8.
        const bool is_high = byte == 0xc2 && i + 1 < text.size() &&
                             (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
        if (is_high) { text.erase(i, 1); }
        if (is_high || byte <= last_control || byte == delete_key) { text[i] = '?'; }
    }
    return text;
}

std::string telling_words_of(const std::string& errors) {
    constexpr size_t first_lines = 2;
    constexpr size_t most_letters = 300;
    std::vector<std::string> lines;
    std::istringstream stream(errors);
    for (std::string line; std::getline(stream, line);) {
        const bool is_empty = line.find_first_not_of(" \t\r-=*") == std::string::npos;
        const bool is_own = line.find("nodeaware: shared memory: ") != std::string::npos ||
                            line.find("nodeaware: model table ") != std::string::npos;
        if (is_empty || is_own) { continue; }
        if (line.ends_with('\r')) { line.pop_back(); }
        if (lines.size() > first_lines) { lines.pop_back(); }
        lines.push_back(without_controls(line.substr(0, most_letters)));
    }
    return joined(lines, " | ");
}

std::string memory_words_of(const std::string& errors) {
    const std::string begin = "shared memory: ";
    const size_t at = errors.rfind(begin);
    if (at == std::string::npos) { return ""; }
    const size_t words = at + begin.size();
    return without_controls(errors.substr(words, errors.find('\n', words) - words));
}

} // namespace nodeaware::tool::doctor
