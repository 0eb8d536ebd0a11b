// Whether ranks start, and as one job.

#include "tools/nodeaware/doctor/judge.hpp"
#include "tools/nodeaware/doctor/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace nodeaware::tool::doctor {

namespace {

using Kind = ProgramFacts::Kind;

std::string mpi_in_words(const ProgramFacts& program) {
    return program.mpi ? std::string("needs ") + called(*program.mpi)
                       : "does not tell which MPI it needs, as programs that load theirs later";
}

std::string with_last_words(const RunFacts& run) {
    return run.last_words.empty() ? ", and said nothing on stderr" : ": " + run.last_words;
}

std::string seconds_in_words(double seconds) {
    const auto tenths = std::lround(seconds * 10);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

/// How many ranks the launcher has told them that there are; 0: it does not.
struct Told {
    std::string variable;
    int ranks = 0;
};

Told told_by_launcher(const Facts& facts) {
    const auto& variables = facts.jobs.front().first().launcher;
    for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "FLUX_JOB_SIZE",
                                   "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
        // In a job of Slurm another launcher's processes have these variables, too.
        if (std::string(name).starts_with("SLURM") && !facts.is_srun) { continue; }
        const auto found = variables.find(name);
        if (found != variables.end()) { return {name, std::atoi(found->second.c_str())}; }
    }
    return {};
}

std::string remedy_for_worlds_of_one(const Facts& facts) {
    // By the standard's interface a program may have either.
    const MpiFlavor flavor =
        facts.flavor == MpiFlavor::abi && facts.launcher ? *facts.launcher : facts.flavor;
    const std::string mpi = flavor == MpiFlavor::abi ? "an MPI" : called(flavor);
    if (facts.is_srun) {
        return "Let srun and " + mpi +
               " speak the same protocol: srun --mpi=pmix or --mpi=pmi2, of "
               "those that srun --mpi=list has.";
    }
    if (flavor == MpiFlavor::abi) {
        return "Start the program by the mpirun of the MPI whose libmpi_abi.so it finds.";
    }
    const char* const names =
        flavor == MpiFlavor::openmpi
            ? "mpirun.openmpi, or the mpirun beside its ompi_info"
            : "mpiexec.hydra, mpirun.mpich, or the mpirun beside its mpichversion";
    return "The programs of " + mpi + " are started by the mpirun of the same " + mpi + ": " +
           names + ". If the program needs another MPI, say which: --mpi.";
}

std::map<int, int> ranks_by_node(const JobFacts& job) {
    std::map<int, int> ranks;
    for (const int node : job.node_of) { ++ranks[node]; }
    return ranks;
}

/// Whether a node gets a rank again after another one has got some.
bool is_scattered(const JobFacts& job) {
    std::set<int> seen;
    for (size_t i = 0; i < job.node_of.size(); ++i) {
        const bool is_next = i == 0 || job.node_of[i] != job.node_of[i - 1];
        if (is_next && !seen.insert(job.node_of[i]).second) { return true; }
    }
    return false;
}

} // namespace

Line judge_program(const ProgramFacts& program) {
    const auto wrong = [&](const std::string& found, const std::string& remedy) {
        return Line{"program", Verdict::wrong, program.word + " " + found, remedy};
    };
    switch (program.kind) {
    case Kind::missing:
        return wrong("does not exist here", "Give a path to it, or have its folder in PATH.");
    case Kind::not_executable: return wrong("is no file that may be run", "chmod +x it.");
    case Kind::foreign:
        return wrong("is for another kind of processor than this one",
                     "Build it for the machine that it is to run on, or ask on such a machine.");
    case Kind::linked_statically:
        return wrong("is statically linked, which leaves nothing to preload",
                     "Link it with the shared libraries of MPI and of C.");
    default: break;
    }
    if (program.has_privileges) {
        return wrong("runs with the rights of its owner or with capabilities, so that the loader "
                     "ignores LD_PRELOAD",
                     "Run a copy without them: cp, then chmod u-s,g-s.");
    }
    if (program.kind == Kind::in_container) {
        return {"program", Verdict::ok, program.word + " is in a container, and so was the probe",
                ""};
    }
    if (program.kind == Kind::script) {
        return {"program", Verdict::ok,
                program.word + " is a script; what it starts gets the library", ""};
    }
    return {"program", Verdict::ok, program.word + " " + mpi_in_words(program), ""};
}

Line judge_launcher(const Facts& facts) {
    const RunFacts& run = facts.run;
    const auto wrong = [](const std::string& found, const std::string& remedy) {
        return Line{"launcher", Verdict::wrong, found, remedy};
    };
    if (!run.was_started) {
        return wrong("was not started: " + run.obstacle,
                     run.lacks_launcher
                         ? "Give a path to it, have its folder in PATH, or load its module."
                         : "Install what is missing, see README.md.");
    }
    if (run.wants_terminal) {
        return wrong("wants to read from the terminal, so it was ended" + with_last_words(run),
                     "It may ask for a password: have it start on all nodes without one, as ssh "
                     "does with keys.");
    }
    const bool is_heard = !facts.jobs.empty() || run.unreadable > 0;
    if (run.is_out_of_time && is_heard) {
        return wrong("the ranks were heard of, but it did not end, and was ended after " +
                         seconds_in_words(run.seconds) + with_last_words(run),
                     "See whether it ends by itself with hostname for a program.");
    }
    if (run.is_out_of_time) {
        return wrong(
            "was ended after " + seconds_in_words(run.seconds) + with_last_words(run),
            "If the job has to wait for nodes, give it more: --time-limit. Else see whether "
            "it gets anywhere with hostname for a program.");
    }
    const std::string status = "exit status " + std::to_string(run.status);
    const bool is_in_container =
        std::any_of(facts.programs.begin(), facts.programs.end(),
                    [](const ProgramFacts& program) { return program.kind == Kind::in_container; });
    if (!is_heard && is_in_container) {
        return wrong("no rank was heard of; " + status + with_last_words(run),
                     "Let the container see the folders of the library and of nodeaware "
                     "(--bind, -b); else see whether it starts hostname in place of the program.");
    }
    if (!is_heard) {
        return wrong("no rank was heard of; " + status + with_last_words(run),
                     run.status == 0 ? "The command does not start the program that stands behind "
                                       "it: name the launcher itself."
                                     : "See whether it starts hostname in place of the program.");
    }
    if (facts.jobs.empty()) {
        return wrong("what the ranks said cannot be read; " + status + with_last_words(run),
                     "Leave out what has it change their output: --xml, --tag-output, --label. Or "
                     "the probe is of another version: install all on all nodes.");
    }
    if (run.status != 0) {
        return {"launcher", Verdict::warning,
                "the ranks were heard of, but then " + status + with_last_words(run),
                "Look at what it says: the application may end with this status, too."};
    }
    return {"launcher", Verdict::ok, "ran in " + seconds_in_words(run.seconds), ""};
}

Line judge_ranks(const Facts& facts) {
    const JobFacts& job = facts.jobs.front();
    const size_t worlds = facts.jobs.size() + facts.run.unreadable;
    const Told told = told_by_launcher(facts);
    const std::string told_text = told.variable + "=" + std::to_string(told.ranks);
    if (worlds > 1 || (job.ranks == 1 && told.ranks > 1)) {
        const auto is_single = [](const JobFacts& one) { return one.ranks == 1; };
        const bool are_single = std::all_of(facts.jobs.begin(), facts.jobs.end(), is_single);
        const bool is_foreign =
            facts.launcher && facts.flavor != MpiFlavor::abi && *facts.launcher != facts.flavor;
        const std::string whose = is_foreign ? std::string("; the launcher belongs to ") +
                                                   called(*facts.launcher) + ", the program to " +
                                                   called(facts.flavor)
                                             : "";
        return {"ranks", Verdict::wrong,
                (worlds > 1 ? std::to_string(worlds) +
                                  (are_single ? " processes, and each is a job of one rank"
                                              : " jobs instead of one")
                            : "a job of one rank, where the launcher has said " + told_text) +
                    whose,
                remedy_for_worlds_of_one(facts)};
    }
    if (told.ranks > 0 && told.ranks != job.ranks) {
        return {"ranks", Verdict::wrong,
                counted(job.ranks, "rank") + ", where the launcher has said " + told_text,
                "Launcher and MPI do not understand each other: use the launcher of the same MPI."};
    }
    if (job.ranks == 1) {
        return {"ranks", Verdict::warning, "only one", "There is nothing to send: start several."};
    }
    return {"ranks", Verdict::ok,
            std::to_string(job.ranks) + (told.ranks > 0 ? ", as " + told.variable + " says" : ""),
            ""};
}

Line judge_nodes(const JobFacts& job) {
    const auto ranks = ranks_by_node(job);
    const auto by_ranks = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [fewest, most] = std::minmax_element(ranks.begin(), ranks.end(), by_ranks);
    const bool is_even = fewest->second == most->second;
    const std::string shape =
        counted(static_cast<std::int64_t>(ranks.size()), "node") + " with " +
        (is_even ? counted(most->second, "rank")
                 : std::to_string(fewest->second) + " to " + counted(most->second, "rank")) +
        (ranks.size() > 1 ? " each" : "");
    const auto warning = [&](const std::string& why, const std::string& remedy) {
        return Line{"nodes", Verdict::warning, shape + why, remedy};
    };
    if (job.has_virtual_nodes) {
        return warning(", virtual ones of " + counted(job.machines, "machine"),
                       "NODEAWARE_PPN is for tests; unset it in jobs that are to be fast.");
    }
    if (ranks.size() == 1) {
        return warning(": no message leaves it, so there is nothing to gain",
                       "Ask for several nodes, as -N 2 or --map-by ppr:8:node does.");
    }
    if (most->second == 1) {
        return warning(": there are no messages of several ranks to travel as one",
                       "Start several ranks on each node.");
    }
    if (is_scattered(job)) {
        return warning(
            ", dealt out in turns: neighbours by number are on different nodes",
            "Fill one node after the other (srun -m block, mpirun --map-by core), or see "
            "what nodeaware place says for this application.");
    }
    if (!is_even) {
        return warning(": the others wait for the fullest one",
                       "Start as many ranks on each node, as --ntasks-per-node or --map-by "
                       "ppr:8:node does.");
    }
    return {"nodes", Verdict::ok, shape, ""};
}

} // namespace nodeaware::tool::doctor
