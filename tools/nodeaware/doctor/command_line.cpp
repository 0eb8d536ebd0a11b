#include "tools/nodeaware/doctor/command_line.hpp"

#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/launchers.hpp"

#include <algorithm>
#include <array>
#include <elf.h>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace nodeaware::tool::doctor {

namespace {

namespace fs = std::filesystem;
using Kind = ProgramFacts::Kind;
using Words = std::vector<std::string>;

/// Behind a launcher that has no program.
constexpr const char* probe_name = "nodeaware_probe";

/// The first bytes of a file, as far as they say for which processor it is.
std::string beginning_of(const fs::path& file) {
    std::string bytes(EI_NIDENT + 4, '\0'); // e_ident, e_type, e_machine
    std::ifstream stream(file, std::ios::binary);
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
    return bytes;
}

Kind kind_of(const fs::path& file) {
    const std::string bytes = beginning_of(file);
    if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG))) { return Kind::script; }
    const std::string own = beginning_of("/proc/self/exe");
    const auto processor = [](const std::string& of) {
        return of.substr(EI_CLASS, 2) + of.substr(std::min<size_t>(EI_NIDENT + 2, of.size()));
    };
    if (processor(bytes) != processor(own)) { return Kind::foreign; }
    if (is_statically_linked(file)) { return Kind::linked_statically; }
    return Kind::linked_dynamically;
}

bool has_privileges(const fs::path& file) {
    struct stat is {};
    if (stat(file.c_str(), &is) != 0) { return false; }
    const bool is_others = ((is.st_mode & S_ISUID) != 0 && is.st_uid != getuid()) ||
                           ((is.st_mode & S_ISGID) != 0 && is.st_gid != getgid());
    return is_others || getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

bool is_mpi_program(const std::string& word) {
    const fs::path file = find_program(word);
    return !file.empty() && mpi_of(file).has_value();
}

size_t end_of_part(const Words& command, size_t begin, bool has_launcher) {
    if (!has_launcher) { return command.size(); }
    return static_cast<size_t>(
        std::find(command.begin() + static_cast<std::ptrdiff_t>(begin), command.end(), ":") -
        command.begin());
}

/// In "apptainer exec --bind /a image.sif ./app": behind the image, which is a file or has "://".
size_t find_in_container(const Words& command, size_t begin, size_t end) {
    for (size_t at = begin + 2; at + 1 < end; ++at) {
        const std::string& word = command[at];
        const bool is_value = command[at - 1].starts_with('-');
        std::error_code error;
        if (word.find("://") != std::string::npos || word.ends_with(".sif") ||
            (!is_value && !word.starts_with('-') && fs::exists(word, error))) {
            return at + 1;
        }
    }
    throw LaunchError("which word is the program in the container? Expected: " + command[begin] +
                      " exec IMAGE PROGRAM");
}

/// A script in front of an MPI program stays.
size_t find_behind_scripts(const Words& command, size_t begin, size_t end) {
    if (is_mpi_program(command[begin])) { return begin; }
    for (size_t at = begin + 1; at < end; ++at) {
        if (is_mpi_program(command[at])) { return at; }
    }
    return begin;
}

void add_program_in_container(Job& job, size_t at, size_t end) {
    if (launcher_of(job.command[at]) != nullptr) {
        throw LaunchError("the launcher " + job.command[at] +
                          " is in the container: have nodeaware doctor in front of it, there");
    }
    job.programs.push_back({at, end});
    job.facts.push_back({job.command[at], Kind::in_container, std::nullopt, false});
}

void add_program(Job& job, const LaunchedProgram& program, bool has_launcher) {
    const size_t end = end_of_part(job.command, program.at, has_launcher);
    if (program.is_in_container) {
        const bool is_container = tool_of(job.command[program.at]) != nullptr;
        const size_t inside =
            is_container ? find_in_container(job.command, program.at, end) : program.at;
        return add_program_in_container(job, inside, end);
    }
    const size_t at = find_behind_scripts(job.command, program.at, end);
    if (!has_launcher && at == program.at && !is_mpi_program(job.command[at])) {
        throw LaunchError(
            job.command[at] +
            " is no launcher that is known, and no MPI program stands behind it\nName "
            "launcher and program as in: nodeaware doctor -- mpirun -n 4 ./app");
    }
    job.programs.push_back({at, end});
    job.facts.push_back(look_at(job.command[at]));
}

} // namespace

ProgramFacts look_at(const std::string& word) {
    ProgramFacts facts{word, Kind::missing, std::nullopt, false};
    const fs::path file = find_program(word);
    if (file.empty()) {
        std::error_code error;
        const bool is_there = word.find('/') != std::string::npos && fs::exists(word, error);
        facts.kind = is_there ? Kind::not_executable : Kind::missing;
        return facts;
    }
    facts.kind = kind_of(file);
    if (const auto needed = needed_mpi(file)) {
        std::error_code error;
        facts.mpi = needed->flavor;
        facts.mpi_file = fs::canonical(needed->file, error).string();
    }
    facts.has_privileges = has_privileges(file);
    return facts;
}

Job understand_job(const Words& command, std::optional<MpiFlavor> wanted) {
    Job job;
    job.command = command;
    if (command.empty()) {
        throw LaunchError("no command to look at, as in: nodeaware doctor -- mpirun -n 4 ./app");
    }
    Words with_one_more = command;
    with_one_more.emplace_back(probe_name);
    // With an MPI, nothing is refused for what the files look like.
    const Launch launch = understand(with_one_more, wanted.value_or(MpiFlavor::openmpi));
    if (!launch.listing.empty()) {
        throw LaunchError(launch.listing + ": a file names the programs: expected one of them, as "
                                           "in: nodeaware doctor -- srun -n 4 ./app");
    }
    std::optional<MpiFlavor> flavor = wanted;
    for (const LaunchedProgram& program : launch.programs) {
        if (program.at == command.size()) { continue; }
        add_program(job, program, launch.has_launcher);
        if (!flavor) { flavor = job.facts.back().mpi; }
    }
    if (launch.has_launcher) {
        const std::string& word = command[launch.launcher_at];
        job.is_srun = fs::path(word).filename() == "srun";
        job.launcher = launcher_of(word)->flavor;
        for (const LaunchedProgram& program : launch.programs) {
            const auto words =
                words_that_write(*launcher_of(word), command, program.begin, program.at);
            job.writing.insert(job.writing.end(), words.begin(), words.end());
        }
        if (!flavor) { flavor = job.launcher; }
    }
    job.flavor = flavor ? *flavor : mpi_of("/proc/self/exe").value_or(MpiFlavor::openmpi);
    return job;
}

std::vector<std::string> with_probe(const Job& job, const Words& probe) {
    Words command;
    const auto copy = [&](size_t begin, size_t end) {
        for (size_t at = begin; at < end; ++at) {
            const auto& writing = job.writing;
            const bool writes = std::find(writing.begin(), writing.end(), at) != writing.end();
            if (!writes) { command.push_back(job.command[at]); }
        }
    };
    size_t at = 0;
    for (const Job::Part& program : job.programs) {
        copy(at, program.begin);
        command.insert(command.end(), probe.begin(), probe.end());
        at = program.end;
    }
    copy(at, job.command.size());
    if (job.programs.empty()) { command.insert(command.end(), probe.begin(), probe.end()); }
    return command;
}

} // namespace nodeaware::tool::doctor
