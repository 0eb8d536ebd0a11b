#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Throws std::runtime_error for a first word that is neither a command nor an option.
void require_command(const CLI::App& app, std::string_view word) {
    if (word.starts_with('-')) {
        if (app.get_option_no_throw(std::string(word)) != nullptr) { return; }
        throw std::runtime_error("no option \"" + std::string(word) +
                                 "\" before a command\nAll commands are in: nodeaware --help");
    }
    std::vector<std::string> names;
    for (const CLI::App* const command : app.get_subcommands({})) {
        names.push_back(command->get_name());
    }
    if (std::find(names.begin(), names.end(), word) != names.end()) { return; }
    const auto near = nodeaware::near_miss(word, names);
    throw std::runtime_error("no command \"" + std::string(word) + "\"" +
                             (near ? "; did you mean " + *near + "?" : "") +
                             "\nAll are in: nodeaware --help");
}

/// Where the command line of somebody else begins: behind "--", or with the first word that is
/// neither an option of `command` nor the value of one.
char** find_others_words(const CLI::App& command, char** begin, char** end) {
    for (char** word = begin; word < end; ++word) {
        const std::string text = *word;
        if (text == "--" || !text.starts_with('-')) { return word; }
        const CLI::Option* const option = command.get_option_no_throw(text);
        if (option != nullptr && option->get_items_expected_max() > 0) { ++word; }
    }
    return end;
}

int run(int argc, char** argv) {
    CLI::App app("Node-aware communication for unmodified MPI applications");
    app.name("nodeaware");
    app.set_version_flag("--version", NODEAWARE_VERSION);
    app.require_subcommand(1);
    nodeaware::tool::add_info_command(app);
    nodeaware::tool::add_model_command(app);
    nodeaware::tool::add_fit_command(app);
    nodeaware::tool::add_calibrate_command(app);
    nodeaware::tool::add_analyze_command(app);
    nodeaware::tool::add_export_command(app);
    nodeaware::tool::add_place_command(app);
    nodeaware::tool::add_simulate_command(app);
    std::vector<std::string> command_line;
    nodeaware::tool::add_run_command(app, command_line);
    nodeaware::tool::add_doctor_command(app, command_line);
    nodeaware::tool::add_replay_command(app, command_line);
    nodeaware::tool::add_documentation_command(app);
    if (argc > 1) { require_command(app, argv[1]); }
    // What stands behind "--" is somebody else's command line; "run" and "doctor" do without.
    char** const end = argv + argc;
    const std::string_view word = argc > 1 ? argv[1] : "";
    char** const others =
        word == "run" || word == "doctor"
            ? find_others_words(*app.get_subcommand(std::string(word)), argv + 2, end)
            : std::find(argv, end, std::string_view("--"));
    const bool has_dashes = others < end && std::string_view(*others) == "--";
    command_line.assign(has_dashes ? others + 1 : others, end);
    try {
        app.parse(static_cast<int>(others - argv), argv);
    } catch (const CLI::ParseError& error) { return app.exit(error); }
    return 0;
}

constexpr int failed = 2;

/// The exit status: what has been printed may not have arrived.
int with_output(int status) {
    const bool had_error = std::ferror(stdout) != 0;
    if (std::fflush(stdout) == 0 && !had_error) { return status; }
    std::fprintf(stderr, "nodeaware: standard output: cannot be written: %s\n",
                 had_error ? "write error" : std::strerror(errno));
    return status != 0 ? status : failed;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return with_output(run(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nodeaware: %s\n", error.what());
        return failed;
    }
}
