#pragma once

#include "tools/nodeaware/elf.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// A command line that cannot be understood; what() says what to do about it.
struct LaunchError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What stands in front of a program of the application.
struct Preload {
    std::string library;                  ///< full path; empty: none
    std::vector<std::string> environment; ///< NAME=VALUE
};

/// Where the programs of a command line stand: "mpirun -n 4 ./a : -n 2 numactl -l ./b" has two.
/// Positions are those of the programs that get the preload: the one that needs MPI, not a tool in
/// front of it.
struct Launch {
    std::vector<size_t> programs;
    std::optional<MpiFlavor> flavor; ///< of the programs, else of the launcher
};

/// Throws LaunchError.
Launch understand(const std::vector<std::string>& command);

/// The command with `env` and the preload in front of each program, so that neither the launcher
/// nor a shell is preloaded.
std::vector<std::string> with_preload(const std::vector<std::string>& command, const Launch& launch,
                                      const Preload& preload);

/// The file that a shell would run for this word, or an empty path.
std::filesystem::path find_program(const std::string& word);

} // namespace nodeaware::tool
