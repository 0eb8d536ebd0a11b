#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/launch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

struct Arguments {
    std::map<std::string, std::string> settings; ///< by option name, as in NODEAWARE_NAME
    bool print = false;
};

std::string flag_of(std::string_view option) {
    std::string flag = "--";
    for (const char c : option) {
        flag += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return flag;
}

/// The folder with the preloaded library and the core for this MPI: where this program was built or
/// installed, or the build for the other MPI beside it.
fs::path find_library(MpiFlavor flavor) {
    const fs::path own = fs::read_symlink("/proc/self/exe").parent_path();
    const std::string core = std::string("libnodeaware-") + name_of(flavor) + ".so";
    const fs::path candidates[] = {own, own / ".." / NODEAWARE_LIBRARY_FOLDER,
                                   own / ".." / name_of(flavor)};
    std::string searched;
    for (const fs::path& folder : candidates) {
        if (fs::exists(folder / "libnodeaware.so") && fs::exists(folder / core)) {
            return fs::canonical(folder) / "libnodeaware.so";
        }
        searched += "\n  " + fs::weakly_canonical(folder).string();
    }
    throw LaunchError("the program runs on " + std::string(name_of(flavor)) + ", and there is no " +
                      core + " in" + searched + "\nBuild the library for that MPI, see README.md.");
}

/// Settings for the ranks: those of the command line, and those of this environment, which a
/// launcher need not hand on to other nodes.
std::vector<std::string> environment_of(const Arguments& arguments) {
    constexpr std::string_view prefix = "NODEAWARE_";
    std::map<std::string, std::string> settings;
    for (const std::string& entry : process_environment()) {
        const size_t equals = entry.find('=');
        if (entry.starts_with(prefix) && equals != std::string::npos) {
            settings[entry.substr(prefix.size(), equals - prefix.size())] =
                entry.substr(equals + 1);
        }
    }
    for (const auto& [name, value] : arguments.settings) {
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

void run(const Arguments& arguments, const std::vector<std::string>& command) {
    const Launch launch = understand(command);
    if (!launch.flavor) {
        throw LaunchError(
            "cannot tell which MPI this program runs on: " + command[launch.programs.front()] +
            " is not linked with Open MPI or MPICH (or is linked with it statically, which leaves "
            "nothing to "
            "preload).\nTo preload by hand: LD_PRELOAD=.../libnodeaware.so");
    }
    const Preload preload{find_library(*launch.flavor).string(), environment_of(arguments)};
    const std::vector<std::string> full = with_preload(command, launch, preload);
    if (arguments.print) {
        for (const std::string& word : full) {
            std::printf("%s%s", word.c_str(), &word == &full.back() ? "\n" : " ");
        }
        return;
    }
    std::vector<char*> words;
    words.reserve(full.size() + 1);
    for (const std::string& word : full) { words.push_back(const_cast<char*>(word.c_str())); }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    throw LaunchError(full.front() + ": " + std::strerror(errno));
}

} // namespace

void add_run_command(CLI::App& app, const std::vector<std::string>& command_line) {
    CLI::App* command =
        app.add_subcommand("run", "Run a command with the library preloaded into the MPI programs "
                                  "in it: nodeaware run -- mpirun -n 4 ./app");
    auto arguments = std::make_shared<Arguments>();
    for (const OptionRow& row : option_table()) {
        command
            ->add_option(flag_of(row.name), arguments->settings[std::string(row.name)],
                         std::string(row.doc))
            ->type_name(std::string(row.values));
    }
    command->add_flag("--print", arguments->print, "Print the command instead of running it");
    command->callback([arguments, command_line] { run(*arguments, command_line); });
}

} // namespace nodeaware::tool
