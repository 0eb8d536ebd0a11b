#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// Runs a command, hands on to it the signals that ask this process to end, and waits for it.
/// Returns its status as waitpid() does. Throws LaunchError.
int run_and_wait(const std::vector<std::string>& command);

/// Tells one manifest of a trace from another one in the same folder; empty: there is none.
std::string manifest_in(const std::filesystem::path& folder);

/// Says on stderr what a run has recorded comes to, and how to see more. `before`: manifest_in() of
/// the time before the run.
void say_what_was_recorded(const std::filesystem::path& folder, const std::string& before);

/// Ends this process as another one has ended, of which waitpid() says `status`.
[[noreturn]] void end_like(int status);

} // namespace nodeaware::tool
