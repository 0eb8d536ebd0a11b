#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/preload.hpp"
#include "tools/nodeaware/profile.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

struct Arguments {
    std::map<std::string, std::string> settings; ///< by option name, as in NODEAWARE_NAME
    std::string profile;                         ///< a folder; empty: none
    bool print = false;
};

std::string flag_of(std::string_view option) {
    std::string flag = "--";
    for (const char c : option) {
        flag += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return flag;
}

namespace fs = std::filesystem;

/// Those of the command line; ranks may run elsewhere.
std::map<std::string, std::string> settings_of(const Arguments& arguments) {
    auto settings = arguments.settings;
    if (!arguments.profile.empty()) {
        settings["TRACE"] = fs::absolute(arguments.profile).lexically_normal().string();
        settings["MODE"] = "observe";
        settings["DISABLE"] = "0";
    }
    return settings;
}

/// Whatever the program's end is, this process has the same one.
[[noreturn]] void run_and_say(const fs::path& folder, const std::vector<std::string>& command) {
    const std::string before = manifest_in(folder);
    const int status = run_and_wait(command);
    say_what_was_recorded(folder, before);
    end_like(status);
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
    const Preload preload{find_library(*launch.flavor).string(),
                          environment_with(settings_of(arguments))};
    const std::vector<std::string> full = with_preload(command, launch, preload);
    if (arguments.print) {
        for (const std::string& word : full) {
            std::printf("%s%s", word.c_str(), &word == &full.back() ? "\n" : " ");
        }
        return;
    }
    if (!arguments.profile.empty()) { run_and_say(arguments.profile, full); }
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
    CLI::Option* const profile = command->add_option(
        "--profile", arguments->profile,
        "Change nothing in the run, record in this folder what the program communicates, and say "
        "at the end whether the library would help (the settings TRACE and MODE)");
    profile->type_name("a folder");
    for (const std::string_view name : {"TRACE", "MODE", "DISABLE"}) {
        profile->excludes(command->get_option(flag_of(name)));
    }
    command->add_flag("--print", arguments->print, "Print the command instead of running it");
    command->callback([arguments, command_line] { run(*arguments, command_line); });
}

} // namespace nodeaware::tool
