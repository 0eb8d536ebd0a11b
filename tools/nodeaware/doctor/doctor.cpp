#include "runtime/job/options.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/doctor/command_line.hpp"
#include "tools/nodeaware/doctor/judge.hpp"
#include "tools/nodeaware/doctor/output.hpp"
#include "tools/nodeaware/doctor/record.hpp"
#include "tools/nodeaware/doctor/trial.hpp"
#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/numbers.hpp"
#include "tools/nodeaware/preload.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace nodeaware::tool {

namespace {

using namespace doctor;
using Json = nlohmann::ordered_json;

struct DoctorArguments {
    std::string mpi; ///< names_of_flavors(); empty: as it looks
    double most_seconds = 120;
    bool json = false;
};

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

void read_records(const std::string& output, Facts& facts) {
    const Unpacked records = unpacked(record_mark, output);
    facts.run.unreadable = records.damaged;
    for (const std::string& text : records.texts) {
        if (auto job = read_job(text)) {
            facts.jobs.push_back(std::move(*job));
        } else {
            ++facts.run.unreadable;
        }
    }
}

/// Where launchers find the name of a file to write to, besides their options.
void drop_files_of_launchers() {
    for (const char* const name :
         {"SLURM_STDOUTMODE", "SLURM_STDERRMODE", "OMPI_MCA_orte_output_filename"}) {
        unsetenv(name);
    }
}

/// The probe in place of the program, with the library if it is there.
RunFacts run_in_job(const Job& job, const std::vector<std::string>& probe, const char* mark,
                    const Facts& facts, double most_seconds, std::string& output) {
    const std::vector<std::string> command = with_probe(job, probe);
    const std::vector<std::string> full =
        with_preload(command, understand(command, job.flavor), {facts.library, settings_here()});
    RunFacts run;
    run.command = quoted(full);
    Trial trial;
    try {
        trial = try_out(full, mark, most_seconds);
    } catch (const LaunchError& error) {
        run.obstacle = in_one_line(error.what());
        run.lacks_launcher = true;
        return run;
    }
    run.was_started = true;
    run.is_out_of_time = trial.is_out_of_time;
    run.wants_terminal = trial.wants_terminal;
    run.status = trial.status;
    run.seconds = trial.seconds;
    run.last_words = telling_words_of(trial.errors);
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
    drop_files_of_launchers();
    std::string output;
    facts.run = run_in_job(job, {probe}, record_mark, facts, most_seconds, output);
    read_records(output, facts);
    const bool is_one_job = facts.jobs.size() == 1 && facts.jobs.front().ranks > 1;
    if (!is_one_job || worst_of(judge(facts)) == Verdict::wrong) { return; }
    facts.exchange_run =
        run_in_job(job, {probe, exchange_word}, exchange_mark, facts, most_seconds, output);
    const Unpacked told = unpacked(exchange_mark, output);
    if (!told.texts.empty()) { facts.exchange = read_exchange(told.texts.front()); }
}

Facts gather(const DoctorArguments& arguments, const std::vector<std::string>& command) {
    const Job job = understand_job(command, flavor_named(arguments.mpi));
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
                    without_controls(line.found).c_str());
        if (!line.remedy.empty()) {
            std::printf("%-8s %-10s -> %s\n", "", "", without_controls(line.remedy).c_str());
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

void run(const DoctorArguments& arguments, const std::vector<std::string>& command) {
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
                  "without running the program, but all that stands in front of it: "
                  "nodeaware doctor -- mpirun -n 4 ./app");
    auto arguments = std::make_shared<DoctorArguments>();
    command->add_flag("--json", arguments->json, "Print JSON");
    command
        ->add_option("--mpi", arguments->mpi,
                     "The MPI of the job, where the program's file and the launcher do not tell, "
                     "or tell it wrong")
        ->check(CLI::IsMember(names_of_flavors()));
    command
        ->add_option(
            "--time-limit", arguments->most_seconds,
            "Seconds after which the launcher is ended, in each of two runs: the ranks tell "
            "what they have, and exchange data")
        ->check(positive_number())
        ->capture_default_str();
    command->callback([arguments, &command_line] { run(*arguments, command_line); });
}

} // namespace nodeaware::tool
