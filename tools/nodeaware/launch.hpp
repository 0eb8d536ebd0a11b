#pragma once

#include "tools/nodeaware/elf.hpp"

#include <optional>
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

/// A program of the application in a command line: "numactl -l ./app" is one, and so is the
/// interpreter of a script, or a script or container of which nothing is known.
struct LaunchedProgram {
    size_t at;          ///< position of the program itself
    size_t preload_at;  ///< where the preload goes: there, or in front of tools that hand it on
    size_t begin;       ///< where the part of the command line begins that it is in
    std::string prefix; ///< of the names of variables that are for a container; else empty
    bool is_in_container = false;
};

/// "mpirun -n 4 ./a : -n 2 numactl -l ./b" has two programs.
struct Launch {
    std::vector<LaunchedProgram> programs;
    std::optional<MpiFlavor> flavor; ///< of the programs, else of the launcher
    bool has_launcher = false;
    size_t launcher_at = 0; ///< if it has one
    /// "srun --multi-prog": a file names the programs, and the launcher stands for them, which
    /// hands its environment on. Else empty.
    std::string listing = {};
    bool lacks_path = false; ///< ranks do not get this PATH (srun --export=NONE)
};

/// Where the programs of a command line are, and which MPI they need, if that can be told.
/// `wanted`: an MPI that the user says, whatever the files look like. Throws LaunchError where
/// there is no program, or nothing can be preloaded into it for certain.
Launch understand(const std::vector<std::string>& command,
                  std::optional<MpiFlavor> wanted = std::nullopt);

/// The command with `env` and the preload in front of each program and its tools, so that the
/// launcher is not preloaded, and a debugger or a profiler watches the program rather than `env`.
std::vector<std::string> with_preload(const std::vector<std::string>& command, const Launch& launch,
                                      const Preload& preload);

/// The command as a line that a shell takes apart into the same words.
std::string quoted(const std::vector<std::string>& command);

} // namespace nodeaware::tool
