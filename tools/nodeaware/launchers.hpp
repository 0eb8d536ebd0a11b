#pragma once

#include "tools/nodeaware/elf.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nodeaware::tool {

/// What stands between the name of a launcher or a tool and the command that it starts. Lists are
/// words with spaces between, options without their dashes; options that are in none stand alone or
/// have "=value".
struct OwnWords {
    std::string_view one_value = {};  ///< options that are followed by a value
    std::string_view two_values = {}; ///< options that are followed by two
    size_t words = 0;                 ///< so many words that are no options, as in "perf stat"
    bool assigns = false;             ///< NAME=VALUE, as in "env A=1"
    bool takes_programs = false; ///< the command is a program that is found here, if there is one
    /// As by getopt: long options may be cut, and letters stand together, "-vn 4".
    bool by_getopt = false;
};

/// What starts the ranks of a job, each part of whose command line (parts are separated by ":") has
/// a program.
struct Launcher {
    std::optional<MpiFlavor> flavor; ///< of the MPI that it belongs to
    OwnWords own;
    std::string_view writes = {}; ///< options that have it write files, a list as in OwnWords
    std::string_view short_writes =
        {}; ///< letters whose value may stand in the same word, "-ofile"
    /// Options that have a file name the programs, and no command line.
    std::string_view lists = {};
};

/// Where the option stands by which a file names the programs, in any part of the command line
/// from `begin` on; the end of the command if it does not.
size_t find_listing_option(const Launcher& launcher, const std::vector<std::string>& command,
                           size_t begin);

/// The ranks get the environment in which this command is given, on all nodes.
bool hands_environment_on(const Launcher& launcher, const std::vector<std::string>& command,
                          size_t begin);

/// Where in `command`, from `begin` on and before `end`, are options, with their values, that have
/// the launcher write files.
std::vector<size_t> words_that_write(const Launcher& launcher,
                                     const std::vector<std::string>& command, size_t begin,
                                     size_t end);

/// The launcher that this word runs, told by how it and the file behind all links are called, or
/// nullptr. A program that needs MPI itself is none.
const Launcher* launcher_of(const std::string& word);

/// What the command behind a tool gets of the tool's environment.
enum class Handing {
    everything,
    part,     ///< the tool may change it: the preload stands behind it
    prefixed, ///< into a container, what the tool finds under names with a prefix
    nothing
};

/// A tool that runs the command behind its own words: numactl, valgrind, env.
struct Tool {
    std::string_view name;
    OwnWords own;
    Handing handing = Handing::everything;
    std::string_view prefix = {}; ///< of Handing::prefixed
    bool is_container = false;    ///< files of the command are not those of the same name here
};

/// The tool that this word runs, or nullptr, also for a program of this name that needs MPI.
const Tool* tool_of(const std::string& word);

/// Where in `command`, from `begin` on and before `end`, the words of others end; `end` if nothing
/// is behind them.
size_t find_command(const OwnWords& own, const std::vector<std::string>& command, size_t begin,
                    size_t end);

} // namespace nodeaware::tool
