#include "tuning/user_table.hpp"

namespace nodeaware::tuning {

std::string user_table_path(const char* xdg_config_home, const char* home) {
    constexpr const char* file = "/nodeaware/model.json";
    // A relative path is invalid and to be ignored (XDG Base Directory Specification).
    const auto is_absolute = [](const char* path) { return path != nullptr && *path == '/'; };
    if (is_absolute(xdg_config_home)) { return std::string(xdg_config_home) + file; }
    if (is_absolute(home)) { return std::string(home) + "/.config" + file; }
    return "";
}

} // namespace nodeaware::tuning
