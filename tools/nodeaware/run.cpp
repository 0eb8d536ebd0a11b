#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/placed_launch.hpp"
#include "tools/nodeaware/preload.hpp"
#include "tools/nodeaware/profile.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

struct RunArguments {
    std::map<std::string, std::string> settings; ///< by option name, as in NODEAWARE_NAME
    std::string profile;                         ///< a folder; empty: none
    std::string placement;                       ///< a file; empty: none
    std::string mpi;                             ///< names_of_flavors(); empty: as it looks
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

/// For ranks elsewhere; `option` is for complaints. Throws LaunchError.
std::string absolute_path(const char* option, const std::string& path) {
    std::error_code error;
    const fs::path absolute = fs::absolute(path, error);
    if (error) {
        throw LaunchError(std::string(option) + ": " + path +
                          ": the working folder cannot be told: " + error.message());
    }
    return absolute.lexically_normal().string();
}

/// Those of the command line; ranks may run elsewhere.
std::map<std::string, std::string> settings_of(const RunArguments& arguments) {
    auto settings = arguments.settings;
    if (!arguments.profile.empty()) {
        settings["TRACE"] = absolute_path("--profile", arguments.profile);
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

/// What this process cannot see to.
void say_what_to_heed(const std::vector<std::string>& command, const Launch& launch,
                      const fs::path& library) {
    const LaunchedProgram& program = launch.programs.front();
    const char* const word = command[program.at].c_str();
    if (!program.prefix.empty()) {
        std::fprintf(stderr, "nodeaware: %s must be in the container, too: %s exec --bind %s\n",
                     library.c_str(), word, library.parent_path().c_str());
    }
    if (!launch.has_launcher && !launch.flavor) {
        std::fprintf(
            stderr,
            "nodeaware: preloaded into %s and what it starts; a launcher in it has to hand "
            "LD_PRELOAD and NODEAWARE_* on to all nodes, or have nodeaware run in front\n",
            word);
    }
}

/// What is to be run, with what the launcher needs for the placement.
std::vector<std::string> placed(const RunArguments& arguments,
                                const std::vector<std::string>& command) {
    if (arguments.placement.empty()) { return command; }
    const std::string path = absolute_path("--place", arguments.placement);
    try {
        const Launch launch = understand(command, flavor_named(arguments.mpi));
        return placed_by(command, launch, path, tuning::read_text_file(path));
    } catch (const tuning::FileError& error) {
        throw LaunchError("--place: " + path + ": " + error.what());
    }
}

void run(const RunArguments& arguments, const std::vector<std::string>& command_line) {
    const std::vector<std::string> command = placed(arguments, command_line);
    const Launch launch = understand(command, flavor_named(arguments.mpi));
    const fs::path library = find_library(launch.flavor);
    const std::vector<std::string> full =
        with_preload(command, launch, {library.string(), environment_with(settings_of(arguments))});
    if (arguments.print) {
        std::printf("%s\n", quoted(full).c_str());
        return;
    }
    say_what_to_heed(command, launch, library);
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
    auto arguments = std::make_shared<RunArguments>();
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
    profile->type_name("a folder")->check(not_empty());
    for (const std::string_view name : {"TRACE", "MODE", "DISABLE"}) {
        profile->excludes(command->get_option(flag_of(name)));
    }
    command
        ->add_option("--place", arguments->placement,
                     "Ranks lie as this file says, which nodeaware place has written for the "
                     "launcher of the command")
        ->type_name("a file")
        ->check(not_empty());
    command
        ->add_option("--mpi", arguments->mpi,
                     "The MPI that the program runs on, where its file and the launcher do not "
                     "tell, or tell it wrong")
        ->check(CLI::IsMember(names_of_flavors()));
    command->add_flag("--print", arguments->print,
                      "Print the command instead of running it, for a shell");
    command->callback([arguments, &command_line] { run(*arguments, command_line); });
}

} // namespace nodeaware::tool
