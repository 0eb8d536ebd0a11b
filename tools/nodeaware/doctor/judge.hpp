#pragma once

#include "tools/nodeaware/doctor/facts.hpp"

#include <string>
#include <vector>

namespace nodeaware::tool::doctor {

enum class Verdict { ok, warning, wrong };
const char* name_of(Verdict verdict);

/// What is said of one thing.
struct Line {
    std::string name; ///< of the thing, one word
    Verdict verdict = Verdict::ok;
    std::string found;
    std::string remedy; ///< empty where all is well
};

/// All lines for which there are facts, in the order in which things go wrong.
std::vector<Line> judge(const Facts& facts);
/// The worst of them.
Verdict worst_of(const std::vector<Line>& lines);

Line judge_program(const ProgramFacts& program);
/// Whether the launcher ran the probe, and ended well.
Line judge_launcher(const Facts& facts);

// Of what the ranks have told: there is at least one job.
Line judge_ranks(const Facts& facts);
Line judge_nodes(const JobFacts& job);
/// Whether all ranks have the same, and that of the program.
Line judge_mpi(const Facts& facts);
/// The preloaded library and its core, on every rank.
Line judge_library(const Facts& facts);
/// Other libraries between the program and MPI.
Line judge_tools(const JobFacts& job);
Line judge_memory(const JobFacts& job, const RunFacts& run);
Line judge_settings(const Facts& facts);
Line judge_table(const JobFacts& job);

/// Whether data arrive with the library at work; there is an `exchange_run`.
Line judge_exchange(const Facts& facts);

/// The C library; there need be no job.
Line judge_libc(const Facts& facts);

} // namespace nodeaware::tool::doctor
