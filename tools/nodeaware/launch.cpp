#include "tools/nodeaware/launch.hpp"

#include "tools/nodeaware/launchers.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view preload_variable = "LD_PRELOAD=";

/// The program behind the tools that stand at `begin`, if there are any.
LaunchedProgram behind_tools(const std::vector<std::string>& command, size_t begin, size_t first,
                             size_t end) {
    LaunchedProgram program{first, first, begin, "", false};
    while (const Tool* const tool = tool_of(command[program.at])) {
        if (tool->handing == Handing::nothing) {
            throw LaunchError(command[program.at] +
                              " does not hand the environment on to what it runs, which leaves "
                              "nothing to preload\nPut nodeaware run into its command.");
        }
        program.prefix = tool->prefix;
        program.is_in_container = program.is_in_container || tool->is_container;
        if (tool->handing == Handing::prefixed) { break; }
        const size_t next = find_command(tool->own, command, program.at + 1, end);
        if (next >= end) { break; }
        if (tool->handing == Handing::part) { program.preload_at = next; }
        program.at = next;
    }
    return program;
}

std::vector<LaunchedProgram>
programs_of(const Launcher& launcher, const std::vector<std::string>& command, size_t launcher_at) {
    std::vector<LaunchedProgram> programs;
    for (size_t begin = launcher_at + 1; begin <= command.size();) {
        const auto colon =
            std::find(command.begin() + static_cast<ptrdiff_t>(begin), command.end(), ":");
        const auto end = static_cast<size_t>(colon - command.begin());
        const size_t first = find_command(launcher.own, command, begin, end);
        if (first >= end) {
            throw LaunchError("no program found in: " + command[launcher_at] + " ...");
        }
        programs.push_back(behind_tools(command, begin, first, end));
        begin = end + 1;
    }
    return programs;
}

/// What the last of these words that sets it preloads.
std::optional<std::string> preloaded_by(const std::vector<std::string>& command, size_t begin,
                                        size_t end) {
    for (size_t at = end; at-- > begin;) {
        const std::string& word = command[at];
        if (word.starts_with(preload_variable)) { return word.substr(preload_variable.size()); }
        const bool is_of_hydra = word == "-genv" || word == "-env"; // in two words
        if (is_of_hydra && at + 2 < end && command[at + 1] + "=" == preload_variable) {
            return command[at + 2];
        }
        const size_t in_list = word.find("," + std::string(preload_variable)); // of Slurm
        if (word.starts_with("--export=") && in_list != std::string::npos) {
            const size_t value = in_list + 1 + preload_variable.size();
            return word.substr(value, word.find(',', value) - value);
        }
    }
    return std::nullopt;
}

/// The launcher and its option where a file names the programs, which then get the preload by the
/// environment; else nothing.
std::string listing_of(const Launcher& launcher, const std::vector<std::string>& command,
                       size_t launcher_at) {
    const size_t option = find_listing_option(launcher, command, launcher_at + 1);
    if (option == command.size()) { return ""; }
    const std::string& word = command[launcher_at];
    std::string listing = word + " " + command[option];
    const bool has_parts = std::find(command.begin(), command.end(), ":") != command.end();
    const bool sets_other = preloaded_by(command, launcher_at, command.size()).has_value();
    if (has_parts || sets_other || !hands_environment_on(launcher, command, launcher_at + 1)) {
        throw LaunchError(listing +
                          ": the environment does not reach the programs in its file\nPut into the "
                          "file, in front of each, what `nodeaware run --print -- " +
                          word + " ./app` puts between " + word + " and ./app.");
    }
    return listing;
}

/// The MPI that the program itself needs, as far as its file tells.
std::optional<MpiFlavor> flavor_of(const LaunchedProgram& program, const std::string& word) {
    if (program.is_in_container) { return std::nullopt; }
    const fs::path file = find_program(word);
    if (file.empty()) { return std::nullopt; }
    if (is_statically_linked(file)) {
        throw LaunchError(word + " is statically linked, which leaves nothing to preload\nIf it "
                                 "only starts the MPI program, say which MPI that needs: --mpi "
                                 "openmpi, mpich or abi.");
    }
    return mpi_of(file);
}

/// Asks each program, and the launcher where they do not tell.
std::optional<MpiFlavor> flavor_of(const std::vector<std::string>& command, const Launch& launch,
                                   size_t launcher_at, std::optional<MpiFlavor> of_launcher) {
    std::optional<MpiFlavor> flavor;
    for (const LaunchedProgram& program : launch.programs) {
        const std::string& word = command[program.at];
        const auto found = flavor_of(program, word);
        if (found && flavor && *found != *flavor) {
            throw LaunchError("the programs of this command need different MPIs");
        }
        const bool runs_on_either = found == MpiFlavor::abi;
        if (found && of_launcher && !runs_on_either && *found != *of_launcher) {
            throw LaunchError(word + " needs " + called(*found) + ", but " + command[launcher_at] +
                              " belongs to " + called(*of_launcher));
        }
        if (found) { flavor = found; }
    }
    return flavor ? flavor : of_launcher;
}

/// What is preloaded already: by words in front of the program in its part of the command line, by
/// those in front of the launcher, or by the environment.
std::string preloaded_before(const std::vector<std::string>& command, const Launch& launch,
                             const LaunchedProgram& program) {
    if (const auto own = preloaded_by(command, program.begin, program.preload_at)) { return *own; }
    if (const auto all = preloaded_by(command, 0, launch.programs.front().begin)) { return *all; }
    const char* const others = std::getenv("LD_PRELOAD");
    return others == nullptr ? "" : others;
}

void append_preload(std::vector<std::string>& result, const std::vector<std::string>& command,
                    const Launch& launch, const LaunchedProgram& program, const Preload& preload) {
    result.emplace_back("/usr/bin/env"); // ranks need not have PATH (srun --export=NONE)
    for (const std::string& setting : preload.environment) {
        result.push_back(program.prefix + setting);
    }
    if (!preload.library.empty()) {
        const std::string others = preloaded_before(command, launch, program);
        result.push_back(program.prefix + std::string(preload_variable) + preload.library +
                         (others.empty() ? "" : ":" + others));
    }
    // env would take it for a setting.
    const bool has_equals = command[program.preload_at].find('=') != std::string::npos;
    const std::string nice = find_program("nice").string();
    if (has_equals) {
        result.insert(result.end(), {nice.empty() ? "/usr/bin/nice" : nice, "-n", "0"});
    }
}

/// As srun finds the first word behind it, whatever PATH ranks have.
std::string found_here(const std::string& word) {
    const fs::path file = find_program(word);
    std::error_code error;
    const fs::path absolute = fs::absolute(file, error);
    const bool is_bare = word.find('/') == std::string::npos;
    return is_bare && !file.empty() && !error ? absolute.string() : word;
}

} // namespace

Launch understand(const std::vector<std::string>& command, std::optional<MpiFlavor> wanted) {
    if (command.empty()) {
        throw LaunchError("no command to run, as in: nodeaware run [options] -- mpirun -n 4 ./app");
    }
    if (command.front().starts_with('-')) {
        throw LaunchError(command.front() + ": expected a command, found an option");
    }
    const LaunchedProgram front = behind_tools(command, 0, 0, command.size());
    const Launcher* const launcher =
        front.is_in_container ? nullptr : launcher_of(command[front.at]);
    Launch launch{{}, wanted, launcher != nullptr, front.at, "", false};
    if (launcher != nullptr) {
        launch.listing = listing_of(*launcher, command, front.at);
        launch.lacks_path = fs::path(command[front.at]).filename() == "srun" &&
                            !hands_environment_on(*launcher, command, front.at + 1);
    }
    if (launcher == nullptr || !launch.listing.empty()) {
        launch.programs.push_back(front);
    } else {
        launch.programs = programs_of(*launcher, command, front.at);
    }
    if (!launch.listing.empty()) {
        if (!wanted) { launch.flavor = launcher->flavor; }
    } else if (!wanted) {
        launch.flavor = flavor_of(command, launch, front.at,
                                  launcher == nullptr ? std::nullopt : launcher->flavor);
    }
    return launch;
}

std::vector<std::string> with_preload(const std::vector<std::string>& command, const Launch& launch,
                                      const Preload& preload) {
    std::vector<std::string> result;
    for (size_t i = 0; i < command.size(); ++i) {
        bool is_preloaded = false;
        for (const LaunchedProgram& program : launch.programs) {
            if (program.preload_at != i) { continue; }
            append_preload(result, command, launch, program, preload);
            is_preloaded = true;
        }
        result.push_back(launch.lacks_path && is_preloaded ? found_here(command[i]) : command[i]);
    }
    return result;
}

std::string quoted(const std::vector<std::string>& command) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-+=:,./@%";
    std::string line;
    for (const std::string& word : command) {
        if (!line.empty()) { line += ' '; }
        if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word) { line += c == '\'' ? std::string("'\\''") : std::string(1, c); }
        line += '\'';
    }
    return line;
}

} // namespace nodeaware::tool
