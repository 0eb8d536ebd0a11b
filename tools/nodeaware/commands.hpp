#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

/// The commands of the program `nodeaware`. Each adds itself to the command line; its callback
/// throws CLI::RuntimeError with the exit status.
namespace nodeaware::tool {

void add_info_command(CLI::App& app);
void add_model_command(CLI::App& app);
void add_fit_command(CLI::App& app);
void add_calibrate_command(CLI::App& app);
void add_analyze_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_place_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
/// Hidden; `app` has to outlive the parsing.
void add_documentation_command(CLI::App& app);
/// `command_line` is somebody else's, what stands behind "--"; it is read when the command is run.
void add_run_command(CLI::App& app, const std::vector<std::string>& command_line);
void add_doctor_command(CLI::App& app, const std::vector<std::string>& command_line);
void add_replay_command(CLI::App& app, const std::vector<std::string>& command_line);

} // namespace nodeaware::tool
