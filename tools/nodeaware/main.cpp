#include "tools/nodeaware/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

namespace {

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
    // What stands behind "--" is somebody else's command line.
    char** const end = argv + argc;
    char** const dashes = std::find(argv, end, std::string_view("--"));
    const std::vector<std::string> command_line(std::min(dashes + 1, end), end);
    nodeaware::tool::add_run_command(app, command_line);
    nodeaware::tool::add_replay_command(app, command_line);
    nodeaware::tool::add_documentation_command(app);
    try {
        app.parse(static_cast<int>(dashes - argv), argv);
    } catch (const CLI::ParseError& error) { return app.exit(error); }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nodeaware: %s\n", error.what());
        return 2;
    }
}
