#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/doctor/command_line.hpp"
#include "tools/nodeaware/doctor/judge.hpp"
#include "tools/nodeaware/doctor/trial.hpp"
#include "tools/nodeaware/doctor/words.hpp"
#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/preload.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

namespace nodeaware::tool {

namespace {

using namespace doctor;
using Json = nlohmann::ordered_json;

struct Arguments {
    std::string mpi; ///< "openmpi" or "mpich"; empty: as it looks
    double most_seconds = 120;
    bool json = false;
};

std::optional<MpiFlavor> flavor_of(const Arguments& arguments) {
    if (arguments.mpi.empty()) { return std::nullopt; }
    return arguments.mpi == tool::name_of(MpiFlavor::openmpi) ? MpiFlavor::openmpi
                                                              : MpiFlavor::mpich;
}

std::string in_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

void find_library_for(const Job& job, Facts& facts) {
    try {
        const std::filesystem::path library = find_library(job.flavor);
        facts.library = library.string();
        const std::string core = "libnodeaware-" + std::string(tool::name_of(job.flavor)) + ".so";
        facts.glibc_needed = needed_glibc(library.parent_path() / core);
    } catch (const LaunchError& error) { facts.no_library = in_one_line(error.what()); }
}

/// Settings of this environment, right or wrong: a launcher need not hand them on.
std::vector<std::string> settings_here() {
    std::vector<std::string> settings = process_environment();
    std::erase_if(settings, [](const std::string& one) { return !one.starts_with("NODEAWARE_"); });
    return settings;
}

/// The last lines that say anything, without those of what the probe logs itself.
std::string last_words_of(const std::string& errors) {
    constexpr size_t most_lines = 3;
    constexpr size_t most_letters = 300;
    std::vector<std::string> lines;
    std::istringstream stream(errors);
    for (std::string line; std::getline(stream, line);) {
        const bool is_empty = line.find_first_not_of(" \t\r-=*") == std::string::npos;
        const bool is_own = line.find("nodeaware: shared memory: ") != std::string::npos ||
                            line.find("nodeaware: model table ") != std::string::npos;
        if (!is_empty && !is_own) { lines.push_back(line.substr(0, most_letters)); }
    }
    if (lines.size() > most_lines) { lines.erase(lines.begin(), lines.end() - most_lines); }
    return joined(lines, " | ");
}

/// What the library has logged, at last: of the last way that was tried.
std::string memory_words_of(const std::string& errors) {
    const std::string begin = "shared memory: ";
    const size_t at = errors.rfind(begin);
    if (at == std::string::npos) { return ""; }
    return errors.substr(at + begin.size(), errors.find('\n', at) - at - begin.size());
}

void read_records(const std::string& output, Facts& facts) {
    std::istringstream stream(output);
    for (std::string line; std::getline(stream, line);) {
        const size_t at = line.find(record_mark);
        if (at == std::string::npos) { continue; }
        auto job = read_job(line.substr(at + std::string(record_mark).size()));
        if (job) {
            facts.jobs.push_back(std::move(*job));
        } else {
            ++facts.run.unreadable;
        }
    }
}

/// The probe's line with this mark, if there is one.
std::optional<std::string> behind_mark(const std::string& output, const std::string& mark) {
    const size_t at = output.find(mark);
    if (at == std::string::npos) { return std::nullopt; }
    const size_t begin = at + mark.size();
    return output.substr(begin, output.find('\n', begin) - begin);
}

/// The probe in place of the program, with the library if it is there.
RunFacts run_in_job(const Job& job, const std::vector<std::string>& probe, const Facts& facts,
                    double most_seconds, std::string& output) {
    const std::vector<std::string> command = with_probe(job, probe);
    const std::vector<std::string> full =
        with_preload(command, understand(command, job.flavor), {facts.library, settings_here()});
    Trial trial = try_out(full, most_seconds);
    RunFacts run;
    run.command = quoted(full);
    run.was_started = true;
    run.is_out_of_time = trial.is_out_of_time;
    run.status = trial.status;
    run.seconds = trial.seconds;
    run.last_words = last_words_of(trial.errors);
    run.memory_words = memory_words_of(trial.errors);
    output = std::move(trial.output);
    return run;
}

void run_probe(const Job& job, double most_seconds, Facts& facts) {
    std::string probe;
    try {
        probe = find_own_program("nodeaware_probe", job.flavor).string();
    } catch (const LaunchError& error) {
        facts.run.obstacle = in_one_line(error.what());
        return;
    }
    std::string output;
    facts.run = run_in_job(job, {probe}, facts, most_seconds, output);
    read_records(output, facts);
    const bool is_one_job = facts.jobs.size() == 1 && facts.jobs.front().ranks > 1;
    if (!is_one_job || worst_of(judge(facts)) == Verdict::wrong) { return; }
    facts.exchange_run = run_in_job(job, {probe, exchange_word}, facts, most_seconds, output);
    if (const auto text = behind_mark(output, exchange_mark)) {
        facts.exchange = read_exchange(*text);
    }
}

Facts gather(const Arguments& arguments, const std::vector<std::string>& command) {
    const Job job = understand_job(command, flavor_of(arguments));
    Facts facts;
    facts.programs = job.facts;
    facts.flavor = job.flavor;
    facts.launcher = job.launcher;
    facts.is_srun = job.is_srun;
    find_library_for(job, facts);
    const ReadOptions read = read_options(process_environment());
    if (!read.complaints.empty()) { facts.bad_setting = read.complaints.front(); }
    run_probe(job, arguments.most_seconds, facts);
    return facts;
}

void print_text(const std::vector<Line>& lines) {
    for (const Line& line : lines) {
        std::printf("%-8s %-10s %s\n", doctor::name_of(line.verdict), line.name.c_str(),
                    line.found.c_str());
        if (!line.remedy.empty()) {
            std::printf("%-8s %-10s -> %s\n", "", "", line.remedy.c_str());
        }
    }
    switch (worst_of(lines)) {
    case Verdict::ok: std::printf("The library will work in this job.\n"); break;
    case Verdict::warning:
        std::printf("The library will work in this job; see the warnings.\n");
        break;
    default: std::printf("The library will not work in this job as it is.\n");
    }
}

void print_json(const std::vector<Line>& lines, const Facts& facts) {
    Json list = Json::array();
    for (const Line& line : lines) {
        list.push_back({{"name", line.name},
                        {"verdict", doctor::name_of(line.verdict)},
                        {"found", line.found},
                        {"remedy", line.remedy}});
    }
    const Json report = {{"version", NODEAWARE_VERSION},
                         {"mpi", tool::name_of(facts.flavor)},
                         {"command", facts.run.command},
                         {"verdict", doctor::name_of(worst_of(lines))},
                         {"lines", list}};
    std::printf("%s\n", report.dump(2, ' ', true, Json::error_handler_t::replace).c_str());
}

void run(const Arguments& arguments, const std::vector<std::string>& command) {
    const Facts facts = gather(arguments, command);
    const std::vector<Line> lines = judge(facts);
    if (arguments.json) {
        print_json(lines, facts);
    } else {
        print_text(lines);
    }
    if (worst_of(lines) == Verdict::wrong) { throw CLI::RuntimeError(1); }
}

} // namespace

void add_doctor_command(CLI::App& app, const std::vector<std::string>& command_line) {
    CLI::App* command = app.add_subcommand(
        "doctor", "Say whether the library will work in a job, and what to do where it will not, "
                  "without running the program: nodeaware doctor -- mpirun -n 4 ./app");
    auto arguments = std::make_shared<Arguments>();
    command->add_flag("--json", arguments->json, "Print JSON");
    command
        ->add_option("--mpi", arguments->mpi,
                     "The MPI of the job, where the program's file and the launcher do not tell, "
                     "or tell it wrong")
        ->check(
            CLI::IsMember({tool::name_of(MpiFlavor::openmpi), tool::name_of(MpiFlavor::mpich)}));
    command
        ->add_option("--time-limit", arguments->most_seconds,
                     "Seconds after which the launcher is ended")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->callback([arguments, &command_line] { run(*arguments, command_line); });
}

} // namespace nodeaware::tool
