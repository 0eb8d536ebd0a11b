#pragma once

#include "tools/nodeaware/doctor/facts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tool::doctor {

/// A job's command line, as far as it matters here.
struct Job {
    /// Words that a program and its arguments are.
    struct Part {
        size_t begin;
        size_t end;
    };
    std::vector<std::string> command;
    std::vector<Part> programs;            ///< the application's; empty: none is given
    std::vector<size_t> writing;           ///< launcher's words that name files which it writes
    std::vector<ProgramFacts> facts;       ///< of each
    MpiFlavor flavor = MpiFlavor::openmpi; ///< that is to be looked at
    std::optional<MpiFlavor> launcher;     ///< the MPI that it belongs to, as far as it tells
    bool is_srun = false;
};

/// `wanted`: the MPI, whatever files and launcher look like. A script in front of an MPI program is
/// part of what starts it. Throws LaunchError where nothing says what is to be started, or how.
Job understand_job(const std::vector<std::string>& command, std::optional<MpiFlavor> wanted);

/// The same command with `probe`, a program and its arguments, in place of each program and its
/// own, or behind the launcher where there is none, and without what has the launcher write files:
/// there may be results in them.
std::vector<std::string> with_probe(const Job& job, const std::vector<std::string>& probe);

/// What the file of this word tells.
ProgramFacts look_at(const std::string& word);

} // namespace nodeaware::tool::doctor
