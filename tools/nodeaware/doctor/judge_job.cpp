// What the ranks have to work with: memory, settings, the model table.

#include "tools/nodeaware/doctor/judge.hpp"
#include "tools/nodeaware/doctor/words.hpp"

#include <algorithm>

namespace nodeaware::tool::doctor {

namespace {

/// "ranks 2, 3 have NODEAWARE_PPN=4", of what rank 0 does not have, or has in another way.
std::string settings_of_others(const JobFacts& job) {
    const std::vector<std::string>& first = job.first().settings;
    std::string text;
    for (const RankGroup& group : job.groups) {
        if (group.facts.settings == first) { continue; }
        std::vector<std::string> own;
        std::set_difference(group.facts.settings.begin(), group.facts.settings.end(), first.begin(),
                            first.end(), std::back_inserter(own));
        text += (text.empty() ? "" : "; ") + ranks_in_words(group.ranks) + ": " +
                (own.empty() ? "without some that rank 0 has" : joined(own));
    }
    return text;
}

bool is_worth_saying(const std::string& setting) {
    return setting.size() > setting.find('=') + 1; // empty means not set
}

} // namespace

const char* name_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::warning: return "warning";
    default: return "wrong";
    }
}

Line judge_memory(const JobFacts& job, const RunFacts& run) {
    const std::string wanted = bytes_in_words(job.wanted_bytes);
    std::vector<std::string> without;
    std::vector<std::string> scarce;
    bool is_in_dev_shm = false;
    for (const MemoryFacts& node : job.memory) {
        if (!node.is_shared) { without.push_back(node.host); }
        is_in_dev_shm = is_in_dev_shm || node.is_in_dev_shm;
        if (node.is_in_dev_shm && node.free_bytes < 2 * job.wanted_bytes) {
            scarce.push_back(node.host + " has " + bytes_in_words(node.free_bytes));
        }
    }
    if (!without.empty()) {
        return {
            "memory", Verdict::wrong,
            "ranks cannot share " + wanted + " on " + joined(without) +
                (run.memory_words.empty() ? "" : ": " + run.memory_words),
            "Raise the limit that is named; let containers share processes or memory (--pid=host, "
            "--ipc=host, --shm-size); or let the library take less: NODEAWARE_ARENA."};
    }
    if (!scarce.empty()) {
        return {
            "memory", Verdict::warning,
            "in /dev/shm, where little is free: " + joined(scarce) +
                "; each communicator in use takes " + bytes_in_words(job.wanted_bytes / 2),
            "Give /dev/shm more (--shm-size), let ranks see each other's processes (--pid=host), "
            "or let the library take less: NODEAWARE_ARENA."};
    }
    return {"memory", Verdict::ok,
            "ranks of a node share " + wanted + (is_in_dev_shm ? " in /dev/shm" : ""), ""};
}

Line judge_settings(const Facts& facts) {
    const JobFacts* const job = facts.jobs.empty() ? nullptr : &facts.jobs.front();
    std::vector<std::string> complaints =
        job == nullptr ? std::vector<std::string>() : job->complaints;
    if (complaints.empty() && !facts.bad_setting.empty()) { complaints = {facts.bad_setting}; }
    if (!complaints.empty()) {
        return {"settings", Verdict::wrong, joined(complaints, "; "),
                "nodeaware info lists all options with their values."};
    }
    if (job != nullptr && job->is_disabled) {
        return {"settings", Verdict::wrong, "NODEAWARE_DISABLE leaves every call to MPI",
                "Unset it, also in the file that NODEAWARE_CONFIG names."};
    }
    if (job != nullptr && !job->unwritable.empty()) {
        return {
            "settings", Verdict::warning, joined(job->unwritable, "; "),
            "Name files in a folder that is there and can be written to on the node of rank 0."};
    }
    if (job != nullptr && job->is_observing) {
        return {"settings", Verdict::warning, "NODEAWARE_MODE=observe: every call is left to MPI",
                "To reroute calls, unset it, also in the file that NODEAWARE_CONFIG names."};
    }
    if (job != nullptr && job->is_native) {
        return {"settings", Verdict::warning,
                "NODEAWARE_STRATEGY leaves every operation to MPI: native",
                "To reroute calls, unset it, also in the file that NODEAWARE_CONFIG names."};
    }
    const std::string others = job == nullptr ? "" : settings_of_others(*job);
    if (!others.empty()) {
        return {"settings", Verdict::warning,
                "not the same on all ranks, and those of rank 0 count; " + others,
                "Have the launcher hand the same environment to all ranks."};
    }
    std::vector<std::string> list;
    if (job != nullptr) { list = job->first().settings; }
    std::erase_if(list, [](const std::string& setting) { return !is_worth_saying(setting); });
    return {"settings", Verdict::ok, list.empty() ? "as they are by default" : joined(list), ""};
}

Line judge_table(const JobFacts& job) {
    const TableFacts& table = job.table;
    const std::string calibrate =
        "Measure this machine: the launcher with nodeaware calibrate for a program, at least two "
        "ranks on each of two nodes.";
    if (!table.complaint.empty()) {
        return {"table", Verdict::wrong, table.complaint + "; in its place: " + table.used,
                table.wanted.find('/') == std::string::npos
                    ? "NODEAWARE_MODEL names a file or a published table, see nodeaware info."
                    : calibrate};
    }
    if (table.wanted.empty()) {
        return {"table", Verdict::warning,
                "none of this machine; in its place that of a common cluster, " + table.used,
                calibrate};
    }
    if (!table.difference.empty()) {
        return {"table", Verdict::warning, table.wanted + ": " + table.difference, calibrate};
    }
    return {"table", Verdict::ok, table.wanted, ""};
}

Line judge_exchange(const Facts& facts) {
    const RunFacts& run = *facts.exchange_run;
    const auto wrong = [](const std::string& found, const std::string& remedy) {
        return Line{"exchange", Verdict::wrong, found, remedy};
    };
    const std::string without =
        "See whether it is so without the library, too: NODEAWARE_DISABLE=1.";
    if (run.is_out_of_time) {
        return wrong("MPI_Alltoallv with the library did not come to an end; " + run.last_words,
                     without);
    }
    if (!facts.exchange) {
        return wrong("a job with the library failed, exit status " + std::to_string(run.status) +
                         ": " + run.last_words,
                     without);
    }
    const ExchangeFacts& exchange = *facts.exchange;
    if (exchange.wrong > 0) {
        return wrong("MPI_Alltoallv gave " + counted(exchange.wrong, "wrong value"), without);
    }
    if (!exchange.has_report) {
        return wrong("the library did not start" +
                         (run.last_words.empty() ? "" : ": " + run.last_words),
                     "Install libnodeaware.so and its core together, by cmake --install.");
    }
    if (exchange.is_rerouted) {
        return {"exchange", Verdict::ok,
                "MPI_Alltoallv was rerouted, as a trial by " + std::string(exchange_strategy) +
                    ", and all data were right",
                ""};
    }
    const std::string found = "all data were right, but MPI_Alltoallv, on trial by " +
                              std::string(exchange_strategy) +
                              ", was left to MPI: " + joined(exchange.left_to_mpi);
    const auto nodes = facts.jobs.front().memory.size();
    const bool has_to = nodes == 1 || nodes == static_cast<size_t>(facts.jobs.front().ranks);
    if (has_to) { return {"exchange", Verdict::ok, found, ""}; }
    return {"exchange", Verdict::warning, found, "NODEAWARE_LOG=info says more."};
}

std::vector<Line> judge(const Facts& facts) {
    std::vector<Line> lines;
    for (const ProgramFacts& program : facts.programs) { lines.push_back(judge_program(program)); }
    lines.push_back(judge_launcher(facts));
    if (facts.jobs.empty()) {
        if (facts.library.empty()) { lines.push_back(judge_library(facts)); }
        const bool lacks_libc = facts.run.last_words.find("version `GLIBC_") != std::string::npos;
        if (lacks_libc) { lines.push_back(judge_libc(facts)); }
        if (!facts.bad_setting.empty()) { lines.push_back(judge_settings(facts)); }
        return lines;
    }
    const JobFacts& job = facts.jobs.front();
    const bool is_one_job = facts.jobs.size() == 1;
    lines.push_back(judge_ranks(facts));
    if (is_one_job) { lines.push_back(judge_nodes(job)); }
    lines.push_back(judge_mpi(facts));
    lines.push_back(judge_library(facts));
    lines.push_back(judge_libc(facts));
    lines.push_back(judge_tools(job));
    if (is_one_job) { lines.push_back(judge_memory(job, facts.run)); }
    lines.push_back(judge_settings(facts));
    if (is_one_job) { lines.push_back(judge_table(job)); }
    if (facts.exchange_run) { lines.push_back(judge_exchange(facts)); }
    return lines;
}

Verdict worst_of(const std::vector<Line>& lines) {
    Verdict worst = Verdict::ok;
    for (const Line& line : lines) { worst = std::max(worst, line.verdict); }
    return worst;
}

} // namespace nodeaware::tool::doctor
