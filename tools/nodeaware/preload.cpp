#include "tools/nodeaware/preload.hpp"

#include "runtime/job/options.hpp"

#include <algorithm>

namespace nodeaware::tool {

namespace fs = std::filesystem;

namespace {

bool has_core(const fs::path& folder, const char* flavor) {
    return fs::exists(folder / ("libnodeaware-" + std::string(flavor) + ".so"));
}

} // namespace

fs::path find_library(std::optional<MpiFlavor> flavor) {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    const std::vector<MpiFlavor> wanted =
        flavor ? std::vector{*flavor} : std::vector(mpi_flavors.begin(), mpi_flavors.end());
    std::vector<fs::path> candidates = {own, own / ".." / NODEAWARE_LIBRARY_FOLDER};
    for (const MpiFlavor one : wanted) { candidates.push_back(own / ".." / name_of(one)); }
    std::string searched;
    for (const fs::path& folder : candidates) {
        const bool has_one = std::any_of(wanted.begin(), wanted.end(), [&](MpiFlavor one) {
            return has_core(folder, name_of(one));
        });
        if (has_one && fs::exists(folder / "libnodeaware.so")) {
            return fs::canonical(folder) / "libnodeaware.so";
        }
        searched += "\n  " + fs::weakly_canonical(folder).string();
    }
    const std::string core = flavor ? "libnodeaware-" + std::string(name_of(*flavor)) + ".so"
                                    : "libnodeaware.so with the core for an MPI";
    throw LaunchError(
        (flavor ? "the program runs on " + std::string(called(*flavor)) + ", and there is no "
                : "there is no ") +
        core + " in" + searched + "\nBuild the library for that MPI, see README.md.");
}

fs::path find_own_program(const std::string& name, MpiFlavor flavor) {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    const fs::path candidates[] = {own / (name + "-" + name_of(flavor)), own / name,
                                   own / ".." / name_of(flavor) / name};
    std::string searched;
    for (const fs::path& file : candidates) {
        if (mpi_of(file) == flavor) { return fs::canonical(file); }
        searched += "\n  " + fs::weakly_canonical(file).string();
    }
    throw LaunchError("there is no " + name + " for " + name_of(flavor) +
                      "; looked for:" + searched);
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& wanted) {
    constexpr std::string_view prefix = "NODEAWARE_";
    std::map<std::string, std::string> settings;
    for (const std::string& entry : process_environment()) {
        const size_t equals = entry.find('=');
        if (entry.starts_with(prefix) && equals != std::string::npos) {
            settings[entry.substr(prefix.size(), equals - prefix.size())] =
                entry.substr(equals + 1);
        }
    }
    for (const auto& [name, value] : wanted) {
        if (!value.empty()) { settings[name] = value; }
    }
    std::vector<std::string> environment;
    environment.reserve(settings.size());
    for (const auto& [name, value] : settings) {
        std::string& entry = environment.emplace_back(prefix);
        entry.append(name).append("=").append(value);
    }
    const ReadOptions read = read_options(environment);
    if (!read.complaints.empty()) { throw LaunchError(read.complaints.front()); }
    return environment;
}

} // namespace nodeaware::tool
