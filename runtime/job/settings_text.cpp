#include "runtime/job/options.hpp"

#include <algorithm>

namespace nodeaware {

std::string settings_text(const ReadOptions& read) {
    std::string text;
    for (size_t i = 0; i < read.settings.size(); ++i) {
        text += std::string(option_table()[i].name) + "=" + read.settings[i].value + "\n";
    }
    return text;
}

Options apply_settings(std::string_view text) {
    Options options;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const size_t equals = line.find('=');
        if (equals == std::string_view::npos) { continue; }
        for (const OptionRow& row : option_table()) {
            if (row.name == line.substr(0, equals) && equals + 1 < line.size()) {
                row.set(options, line.substr(equals + 1));
            }
        }
    }
    return options;
}

} // namespace nodeaware
