// Whether the library is in every rank, and between the program and MPI.

#include "tools/nodeaware/doctor/judge.hpp"
#include "tools/nodeaware/doctor/words.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace nodeaware::tool::doctor {

namespace {

/// For which ranks `tell` says the same; those for which it says nothing are left out.
template <class Tell>
std::map<std::string, std::vector<int>> ranks_by(const JobFacts& job, Tell tell) {
    std::map<std::string, std::vector<int>> ranks;
    for (const RankGroup& group : job.groups) {
        const std::string text = tell(group.facts);
        if (text.empty()) { continue; }
        auto& list = ranks[text];
        list.insert(list.end(), group.ranks.begin(), group.ranks.end());
    }
    for (auto& [text, list] : ranks) { std::sort(list.begin(), list.end()); }
    return ranks;
}

/// "ranks 0-3: this; rank 4: that"
std::string in_words(const std::map<std::string, std::vector<int>>& ranks) {
    std::string text;
    for (const auto& [what, list] : ranks) {
        text += (text.empty() ? "" : "; ") + ranks_in_words(list) + ": " + what;
    }
    return text;
}

bool is_own(const std::string& path) { return name_in(path).starts_with("libnodeaware"); }

/// Why the library is not in this process; empty: it is.
std::string why_not_preloaded(const RankFacts& rank) {
    if (!rank.library.empty()) { return ""; }
    const bool is_wanted = std::any_of(rank.preloads.begin(), rank.preloads.end(), is_own);
    return (is_wanted ? "the loader cannot load it on " : "LD_PRELOAD does not have it on ") +
           rank.host;
}

Line library_missing(const JobFacts& job) {
    const auto missing = ranks_by(job, why_not_preloaded);
    if (missing.empty()) { return {}; }
    const bool has_unloadable = std::any_of(missing.begin(), missing.end(), [](const auto& entry) {
        return entry.first.starts_with("the loader");
    });
    return {"library", Verdict::wrong, "not preloaded; " + in_words(missing),
            has_unloadable
                ? "Install it in a folder that all nodes have, and bind that into "
                  "containers."
                : "Something between the launcher and the program replaces LD_PRELOAD (a "
                  "script, a module, settings of the launcher): it must hand it on. "
                  "A job in which only some ranks have it hangs, or goes wrong."};
}

/// "2.34" as 2034; 0 for what is no version.
int number_of(const std::string& version) {
    const size_t point = version.find('.');
    if (point == std::string::npos) { return 0; }
    return std::atoi(version.c_str()) * 1000 + std::atoi(version.c_str() + point + 1);
}

/// "2.38" in "version `GLIBC_2.38' not found".
std::string glibc_that_is_missing(const std::string& words) {
    const std::string begin = "version `GLIBC_";
    const size_t at = words.find(begin);
    if (at == std::string::npos) { return ""; }
    const size_t version = at + begin.size();
    return words.substr(version, words.find('\'', version) - version);
}

constexpr const char* remedy_for_libc =
    "Build the library where the C library is as old as the oldest that it is to run with (in the "
    "container, on the oldest node); newer ones run it, too.";

} // namespace

Line judge_mpi(const Facts& facts) {
    const JobFacts& job = facts.jobs.front();
    const auto versions = ranks_by(job, [](const RankFacts& rank) { return rank.mpi; });
    if (versions.size() > 1) {
        return {"MPI", Verdict::warning, "not the same for all; " + in_words(versions),
                "Load the same modules, or the same image of a container, on all nodes."};
    }
    const std::string& file = job.first().mpi_file;
    for (const ProgramFacts& program : facts.programs) {
        const bool is_same = program.mpi_file.empty() || program.mpi_file == file;
        if (is_same || program.mpi != facts.flavor || file.empty()) { continue; }
        return {"MPI", Verdict::warning,
                job.first().mpi + " of " + file + ", but " + program.word + " needs " +
                    program.mpi_file,
                "What is said here holds for the former: load the module of the program's MPI, or "
                "have its folder in LD_LIBRARY_PATH, so that the probe has it, too."};
    }
    return {"MPI", Verdict::ok, job.first().mpi, ""};
}

Line judge_library(const Facts& facts) {
    if (facts.library.empty()) {
        return {"library", Verdict::wrong, facts.no_library,
                std::string("Install the library for ") + called(facts.flavor) +
                    " in the same prefix: cmake --install."};
    }
    const JobFacts& job = facts.jobs.front();
    Line missing = library_missing(job);
    if (!missing.name.empty()) { return missing; }
    const auto errors = ranks_by(job, [](const RankFacts& rank) { return rank.core_error; });
    if (!errors.empty()) {
        return {"library", Verdict::wrong, "its core cannot be loaded; " + in_words(errors),
                "Calls are left to MPI there. Install libnodeaware.so and its core together, by "
                "cmake --install, where all nodes see them."};
    }
    const auto identities = ranks_by(job, [](const RankFacts& rank) { return rank.identity; });
    if (identities.size() > 1) {
        const auto places =
            ranks_by(job, [](const RankFacts& rank) { return rank.library + " of " + rank.host; });
        return {"library", Verdict::wrong, "not the same file everywhere; " + in_words(places),
                "Install the same version on all nodes, best in a folder that they share."};
    }
    return {"library", Verdict::ok,
            job.first().library + " with " + name_in(job.first().core) + " on " +
                (job.ranks == 1 ? "its rank" : "all ranks"),
            ""};
}

Line judge_libc(const Facts& facts) {
    const auto wrong = [](const std::string& found) {
        return Line{"C library", Verdict::wrong, found, remedy_for_libc};
    };
    if (facts.jobs.empty()) {
        return wrong("older than " + glibc_that_is_missing(facts.run.last_words) +
                     ", which programs of this installation need");
    }
    const JobFacts& job = facts.jobs.front();
    const int needed = number_of(facts.glibc_needed);
    const auto too_old = ranks_by(job, [&](const RankFacts& rank) {
        if (rank.libc.empty()) { return "it is not the GNU C library" + std::string(); }
        return number_of(rank.libc) < needed ? rank.libc + " on " + rank.host : "";
    });
    if (!too_old.empty()) {
        return wrong("the core needs " + facts.glibc_needed + "; " + in_words(too_old));
    }
    std::set<std::string> versions;
    for (const RankGroup& group : job.groups) { versions.insert(group.facts.libc); }
    return {"C library", Verdict::ok,
            joined({versions.begin(), versions.end()}) +
                (needed > 0 ? "; the core needs " + facts.glibc_needed : ""),
            ""};
}

Line judge_tools(const JobFacts& job) {
    const auto tools = ranks_by(job, [](const RankFacts& rank) { return joined(rank.tools); });
    if (!tools.empty()) {
        return {"tools", Verdict::warning, "have functions of MPI, too; " + in_words(tools),
                "They see other calls than the application makes, or hide them from the library: "
                "preload it first, and measure without them."};
    }
    const auto others = ranks_by(job, [](const RankFacts& rank) {
        std::vector<std::string> list = rank.preloads;
        std::erase_if(list, is_own);
        return joined(list);
    });
    if (!others.empty()) {
        return {"tools", Verdict::warning, "are preloaded, too; " + in_words(others),
                "If anything goes wrong, see first whether it does without them."};
    }
    return {"tools", Verdict::ok, "none between the program and MPI", ""};
}

} // namespace nodeaware::tool::doctor
