#include "tuning/user_table.hpp"

#include "tuning/table_file.hpp"

#include <cctype>
#include <string_view>
#include <unistd.h>

namespace nodeaware::tuning {

namespace {

/// What is in parentheses left out, in small letters, with `separator` instead of all that is
/// neither letter nor digit.
std::string part_of_name(std::string_view text, std::string_view separator) {
    std::string part;
    bool is_apart = false;
    int parentheses = 0;
    for (const unsigned char letter : text) {
        if (letter == '(') { ++parentheses; }
        if (parentheses == 0 && std::isalnum(letter) != 0) {
            if (is_apart && !part.empty()) { part += separator; }
            part += static_cast<char>(std::tolower(letter));
        }
        is_apart = std::isalnum(letter) == 0;
        if (letter == ')' && parentheses > 0) { --parentheses; }
    }
    return part;
}

constexpr const char* old_name = "model.json";

std::string in_folder(std::string folder, std::string_view name) {
    return folder.append("/").append(name);
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// Whether a table may be of something: what cannot be read may be of anything.
template <class Is> bool may_be(const std::string& path, Is is) {
    try {
        return is(read_table(path).fingerprint);
    } catch (const TableError&) { return true; }
}

} // namespace

std::string user_table_folder(const char* xdg_config_home, const char* home) {
    constexpr const char* folder = "/nodeaware";
    // A relative path is invalid and to be ignored (XDG Base Directory Specification).
    const auto is_absolute = [](const char* path) { return path != nullptr && *path == '/'; };
    if (is_absolute(xdg_config_home)) { return std::string(xdg_config_home) + folder; }
    if (is_absolute(home)) { return std::string(home) + "/.config" + folder; }
    return "";
}

std::vector<std::string> table_names(const Fingerprint& here) {
    const std::string mpi = part_of_name(here.mpi, "");
    if (mpi.empty()) { return {}; }
    const std::string_view model = here.host_model;
    const std::string host = part_of_name(model.substr(0, model.find('@')), "-"); // its clock
    const std::string name = "model-" + mpi;
    if (host.empty()) { return {name + ".json"}; }
    return {name + "-" + host + ".json", name + ".json"};
}

std::string find_table_of(const Fingerprint& here, const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
        if (folder.empty()) { continue; }
        for (const std::string& name : table_names(here)) {
            std::string path = in_folder(folder, name);
            if (is_there(path)) { return path; }
        }
        std::string old = in_folder(folder, old_name);
        const auto suits = [&](const Fingerprint& table) {
            return table.mpi.empty() || table.mpi == here.mpi;
        };
        if (is_there(old) && may_be(old, suits)) { return old; }
    }
    return "";
}

std::string path_of_new_table(const Fingerprint& here, const std::string& folder) {
    const std::vector<std::string> names = table_names(here);
    if (names.empty()) { return in_folder(folder, old_name); }
    std::string usual = in_folder(folder, names.back());
    const auto suits = [&](const Fingerprint& table) {
        return table.host_model.empty() || table.host_model == here.host_model;
    };
    return is_there(usual) && !may_be(usual, suits) ? in_folder(folder, names.front()) : usual;
}

} // namespace nodeaware::tuning
