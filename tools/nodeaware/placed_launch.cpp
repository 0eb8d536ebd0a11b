#include "tools/nodeaware/placed_launch.hpp"

#include "tools/nodeaware/launchers.hpp"
#include "tools/nodeaware/place/formats.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace nodeaware::tool {

namespace {

using place::Format;
using Words = std::vector<std::string>;

bool is_number(std::string_view text) {
    constexpr std::string_view digits = "0123456789";
    return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

/// Lines of numbers: a cray file has each rank once. So could a slurm file whose hosts are called
/// 0, 1, ..., but only where each has one rank.
std::optional<Format> format_of_numbers(std::string_view content) {
    const auto is_end = [](char letter) { return letter == ',' || letter == '\n'; };
    const auto ends = std::count_if(content.begin(), content.end(), is_end);
    std::vector<bool> is_seen(static_cast<size_t>(ends) + (content.ends_with('\n') ? 0 : 1));
    bool is_each_once = true;
    for (size_t at = 0; at < content.size();) {
        const size_t end = std::min(content.find_first_of(",\n", at), content.size());
        const char* const behind = content.data() + end;
        size_t rank = 0;
        const auto [rest, error] = std::from_chars(content.data() + at, behind, rank);
        if (error != std::errc() || rest != behind || rank >= is_seen.size() || is_seen[rank]) {
            is_each_once = false;
            break;
        }
        is_seen[rank] = true;
        at = end + 1;
    }
    if (is_each_once) { return Format::cray; }
    const bool is_list = content.find(',') != std::string_view::npos;
    return is_list ? std::nullopt : std::optional(Format::slurm);
}

/// By its first line; nothing: `nodeaware place` has not written this.
std::optional<Format> format_of(std::string_view content) {
    const std::string_view line = content.substr(0, content.find('\n'));
    const size_t space = line.find(' ');
    if (line.starts_with("rank ")) { return Format::rankfile; }
    if (space != std::string_view::npos) {
        const bool is_map = is_number(line.substr(0, space)) && is_number(line.substr(space + 1));
        return is_map ? std::optional(Format::map) : std::nullopt;
    }
    if (is_number(line.substr(0, line.find(',')))) { return format_of_numbers(content); }
    const size_t colon = line.rfind(':');
    if (colon != std::string_view::npos && is_number(line.substr(colon + 1))) {
        return Format::hydra;
    }
    return line.empty() ? std::nullopt : std::optional(Format::slurm);
}

/// What the launcher takes; a cray file is taken by the MPI itself, whatever has started it.
std::optional<Format> format_for(const std::string& launcher) {
    const Launcher* const known = launcher_of(launcher);
    if (std::filesystem::path(launcher).filename() == "srun") { return Format::slurm; }
    if (known == nullptr || !known->flavor) { return std::nullopt; }
    return known->flavor == MpiFlavor::openmpi ? Format::rankfile : Format::hydra;
}

const char* name_of(Format format) {
    switch (format) {
    case Format::map: return "map";
    case Format::rankfile: return "rankfile";
    case Format::slurm: return "slurm";
    case Format::cray: return "cray";
    case Format::hydra: return "hydra";
    }
    return "";
}

void check(const std::string& launcher, const std::string& path, std::optional<Format> format,
           std::optional<MpiFlavor> mpi) {
    if (!format) {
        throw LaunchError(path + ":1: expected a file that nodeaware place has written");
    }
    const std::optional<Format> wanted = format_for(launcher);
    const bool is_for_mpi = format == Format::cray && mpi != MpiFlavor::openmpi;
    if (format == wanted || is_for_mpi) { return; }
    if (format == Format::cray && wanted == Format::slurm) {
        throw LaunchError(path +
                          " has the format cray, but Open MPI does not read it: expected one "
                          "of nodeaware place --format slurm");
    }
    const std::string found = path + " has the format " + name_of(*format) + ", but " + launcher;
    throw LaunchError(wanted ? found + " takes one of nodeaware place --format " + name_of(*wanted)
                             : found + " is not known to take a placement");
}

} // namespace

std::vector<std::string> placed_by(const std::vector<std::string>& command, const Launch& launch,
                                   const std::string& path, std::string_view content) {
    if (!launch.has_launcher) {
        throw LaunchError(
            "--place: expected a launcher in the command, as in: nodeaware run --place " + path +
            " -- mpirun -n 4 ./app");
    }
    const size_t at = launch.launcher_at + 1;
    const auto format = format_of(content);
    check(command[at - 1], path, format, launch.flavor);
    Words variables;
    Words own;
    switch (*format) {
    case Format::rankfile: own = {"--rankfile", path}; break;
    case Format::hydra: own = {"-f", path}; break;
    case Format::slurm:
        variables = {"env", "SLURM_HOSTFILE=" + path};
        own = {"--distribution=arbitrary"};
        break;
    case Format::cray:
        variables = {"env", "MPICH_RANK_REORDER_METHOD=3", "MPICH_RANK_REORDER_FILE=" + path};
        break;
    case Format::map: break; // which no launcher takes
    }
    Words placed = variables;
    const auto behind = command.begin() + static_cast<ptrdiff_t>(at);
    placed.insert(placed.end(), command.begin(), behind);
    placed.insert(placed.end(), own.begin(), own.end());
    placed.insert(placed.end(), behind, command.end());
    return placed;
}

} // namespace nodeaware::tool
