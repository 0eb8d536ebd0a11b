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

/// Of one of the kind of host that this is, or of any.
bool is_of_host(const std::string& path, const Fingerprint& here) {
    return may_be(path, [&](const Fingerprint& table) {
        return table.host_model.empty() || table.host_model == here.host_model;
    });
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
    std::string of_other_host; // better than none
    const auto is_of_mpi = [&](const Fingerprint& table) {
        return table.mpi.empty() || table.mpi == here.mpi;
    };
    for (const std::string& folder : folders) {
        if (folder.empty()) { continue; }
        std::vector<std::string> names = table_names(here);
        names.emplace_back(old_name);
        for (const std::string& name : names) {
            std::string path = in_folder(folder, name);
            if (!is_there(path) || (name == old_name && !may_be(path, is_of_mpi))) { continue; }
            if (is_of_host(path, here)) { return path; }
            if (of_other_host.empty()) { of_other_host = path; }
        }
    }
    return of_other_host;
}

std::string path_of_new_table(const Fingerprint& here, const std::string& folder) {
    const std::vector<std::string> names = table_names(here);
    if (names.empty()) { return in_folder(folder, old_name); }
    std::string usual = in_folder(folder, names.back());
    return is_there(usual) && !is_of_host(usual, here) ? in_folder(folder, names.front()) : usual;
}

} // namespace nodeaware::tuning
