#include "tools/nodeaware/doctor/words.hpp"

#include <array>

namespace nodeaware::tool::doctor {

std::string ranks_in_words(const std::vector<int>& ranks) {
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (size_t i = 0; i < ranks.size();) {
        size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) { ++last; }
        text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
        if (last > i) { text += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]); }
        i = last + 1;
    }
    return text;
}

std::string counted(std::int64_t count, const std::string& thing) {
    return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string bytes_in_words(std::uint64_t bytes) {
    constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 10240 && unit + 1 < units.size(); ++unit) { bytes /= 1024; }
    return std::to_string(bytes) + " " + units[unit];
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
    std::string text;
    for (const std::string& part : parts) { text += (text.empty() ? "" : separator) + part; }
    return text;
}

std::string name_in(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

} // namespace nodeaware::tool::doctor
