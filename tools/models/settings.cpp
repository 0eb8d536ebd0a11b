#include "tools/models/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace nodeaware::tuning {

double number_in(std::string_view text, const std::string& what) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
        throw std::invalid_argument(what + ": " + std::string(text) + " is not a number");
    }
    return value;
}

double Setting::at_least(int least) const {
    if (value < least) {
        throw std::invalid_argument(what + ": must be at least " + std::to_string(least));
    }
    return value;
}

void read_settings(std::string_view text, const std::string& what,
                   const std::function<void(const Setting&)>& take) {
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const size_t equals = part.find('=');
        Setting setting{what + ", ", std::string(part.substr(0, equals)), 0};
        setting.what += setting.key;
        setting.value = number_in(equals == std::string_view::npos ? "" : part.substr(equals + 1),
                                  setting.what);
        take(setting);
    }
}

} // namespace nodeaware::tuning
