#include "tools/nodeaware/launch.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

/// Options of a launcher that are followed by values, without their dashes; all others stand alone
/// or have "=value".
struct Launcher {
    std::optional<MpiFlavor> flavor;
    std::set<std::string> one_value;
    std::set<std::string> two_values;
};

const Launcher open_mpi = {
    MpiFlavor::openmpi,
    {"n",
     "np",
     "c",
     "N",
     "H",
     "host",
     "hostfile",
     "machinefile",
     "default-hostfile",
     "x",
     "map-by",
     "bind-to",
     "rank-by",
     "wdir",
     "wd",
     "path",
     "prefix",
     "npernode",
     "npersocket",
     "ppr",
     "rankfile",
     "rf",
     "cpus-per-proc",
     "cpus-per-rank",
     "tune",
     "am",
     "output-filename",
     "report-uri",
     "stdin",
     "xml-file",
     "app",
     "timeout",
     "slot-list",
     "cpu-set",
     "cpu-list",
     "preload-files",
     "dvm",
     "dvm-uri",
     "ompi-server",
     "server-wait-time",
     "max-restarts",
     "mca-base-env-list",
     "output",
     "display",
     "runtime-options",
     "pmca",
     "personality",
     "launch-agent",
     "max-vm-size",
     "tmpdir",
     "report-child-jobs-separately",
     "show-progress",
     "wait-to-connect",
     "num-connect-retries",
     "system-server-uri"},
    {"mca", "gmca", "omca", "gomca", "prtemca", "pmixmca", "gpmixmca", "gprtemca"}};

const Launcher hydra = {MpiFlavor::mpich,
                        {"n",
                         "np",
                         "ppn",
                         "perhost",
                         "f",
                         "hosts",
                         "host",
                         "hostfile",
                         "machinefile",
                         "wdir",
                         "path",
                         "genvlist",
                         "envlist",
                         "configfile",
                         "iface",
                         "bind-to",
                         "map-by",
                         "membind",
                         "rmk",
                         "launcher",
                         "launcher-exec",
                         "bootstrap",
                         "bootstrap-exec",
                         "topolib",
                         "demux",
                         "ranks-per-proc",
                         "usize",
                         "arch",
                         "soft",
                         "outfile-pattern",
                         "errfile-pattern",
                         "prepend-pattern",
                         "pattern",
                         "regex",
                         "timeout",
                         "gpus-per-proc",
                         "gpu-subdevs-per-proc",
                         "genvuser",
                         "port",
                         "proxy-id",
                         "profile",
                         "grr",
                         "rr",
                         "s",
                         "tune",
                         "print-rank-map-format",
                         "stdin"},
                        {"genv", "env", "info"}};

const Launcher slurm = {std::nullopt,
                        {"n",
                         "ntasks",
                         "N",
                         "nodes",
                         "c",
                         "cpus-per-task",
                         "p",
                         "partition",
                         "t",
                         "time",
                         "A",
                         "account",
                         "w",
                         "nodelist",
                         "x",
                         "exclude",
                         "J",
                         "job-name",
                         "o",
                         "output",
                         "e",
                         "error",
                         "i",
                         "input",
                         "D",
                         "chdir",
                         "m",
                         "distribution",
                         "r",
                         "relative",
                         "C",
                         "constraint",
                         "G",
                         "gpus",
                         "q",
                         "qos",
                         "d",
                         "dependency",
                         "ntasks-per-node",
                         "ntasks-per-core",
                         "ntasks-per-socket",
                         "gpus-per-node",
                         "gpus-per-task",
                         "gres",
                         "mem",
                         "mem-per-cpu",
                         "mem-per-gpu",
                         "mpi",
                         "export",
                         "jobid",
                         "reservation",
                         "T",
                         "threads",
                         "W",
                         "wait",
                         "cluster-constraint",
                         "M",
                         "clusters",
                         "cpu-freq",
                         "hint",
                         "threads-per-core",
                         "sockets-per-node",
                         "cores-per-socket",
                         "B",
                         "extra-node-info",
                         "L",
                         "licenses",
                         "network",
                         "open-mode",
                         "prolog",
                         "epilog",
                         "task-prolog",
                         "task-epilog",
                         "propagate",
                         "switches",
                         "signal",
                         "tmp",
                         "uid",
                         "gid",
                         "comment",
                         "begin",
                         "deadline",
                         "gpu-bind",
                         "bcast",
                         "core-spec",
                         "S",
                         "het-group",
                         "multi-prog-file"},
                        {}};

const Launcher others = {std::nullopt,
                         {"n",          "np",         "N",           "d",     "j",
                          "cc",         "S",          "r",           "a",     "c",
                          "g",          "b",          "l",           "nrs",   "tasks_per_rs",
                          "cpu_per_rs", "gpu_per_rs", "rs_per_host", "bind",  "launch_distribution",
                          "ppn",        "depth",      "cpu-bind",    "hosts", "hostfile",
                          "env",        "mem-bind"},
                         {}};

bool has_suffix_word(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

/// The launcher that this word runs, told by the name of the file behind all links, or nullptr.
const Launcher* launcher_of(const std::string& word) {
    const std::string called = fs::path(word).filename().string();
    const fs::path file = find_program(word);
    std::error_code error;
    const std::string real = file.empty() ? called : fs::canonical(file, error).filename().string();
    if (has_suffix_word(real, {"orterun", "prterun", "openmpi"})) { return &open_mpi; }
    if (has_suffix_word(real, {"hydra", "mpich"})) { return &hydra; }
    if (called == "srun") { return &slurm; }
    if (called == "aprun" || called == "jsrun" || called == "ibrun" || called == "flux") {
        return &others;
    }
    if (called.starts_with("mpirun") || called.starts_with("mpiexec")) {
        // Not told by its name: ask the MPI that it is linked with, if it is; else options of
        // either are understood.
        static Launcher generic = open_mpi;
        generic.flavor = file.empty() ? std::nullopt : mpi_of(file);
        generic.one_value.insert(hydra.one_value.begin(), hydra.one_value.end());
        generic.two_values.insert(hydra.two_values.begin(), hydra.two_values.end());
        return &generic;
    }
    return nullptr;
}

/// How many words after this option belong to it.
size_t values_after(const Launcher& launcher, const std::vector<std::string>& command, size_t at) {
    const std::string& word = command[at];
    if (word.find('=') != std::string::npos) { return 0; }
    const std::string name = word.substr(word.find_first_not_of('-'));
    if (launcher.two_values.count(name) > 0) { return 2; }
    if (launcher.one_value.count(name) > 0) { return 1; }
    return 0;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// The position of the program of one part of the command line (parts are separated by ":"), or
/// `end`.
size_t find_first_program(const Launcher& launcher, const std::vector<std::string>& command,
                          size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) {
        if (command[at] == "--") { return at + 1; }
        if (!is_option(command[at])) { return at; }
        at += values_after(launcher, command, at);
    }
    return end;
}

/// A tool in front of the program (numactl, time, perf, ...) is left alone where the program can be
/// told: the first word that is a file which needs MPI.
size_t skip_tools(const std::vector<std::string>& command, size_t begin, size_t end,
                  std::optional<MpiFlavor>& flavor) {
    static const std::set<std::string> shells = {"sh",  "bash", "dash", "zsh",
                                                 "ksh", "csh",  "tcsh", "fish"};
    if (shells.count(fs::path(command[begin]).filename().string()) > 0) {
        return begin;
    } // its words are its own
    for (size_t at = begin; at < end; ++at) {
        const fs::path file = find_program(command[at]);
        if (file.empty()) { continue; }
        if (const auto found = mpi_of(file)) {
            flavor = found;
            return at;
        }
    }
    return begin;
}

std::string text_of(MpiFlavor flavor) {
    return flavor == MpiFlavor::openmpi ? "Open MPI" : "MPICH";
}

} // namespace

fs::path find_program(const std::string& word) {
    const auto runs = [](const fs::path& file) {
        std::error_code error;
        return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
    };
    if (word.find('/') != std::string::npos) { return runs(word) ? fs::path(word) : fs::path(); }
    const char* path = std::getenv("PATH");
    std::istringstream directories(path == nullptr ? "/bin:/usr/bin" : path);
    for (std::string directory; std::getline(directories, directory, ':');) {
        fs::path file = fs::path(directory.empty() ? "." : directory) / word;
        if (runs(file)) { return file; }
    }
    return {};
}

Launch understand(const std::vector<std::string>& command) {
    if (command.empty()) {
        throw LaunchError(
            "no command behind --, as in: nodeaware run [options] -- mpirun -n 4 ./app");
    }
    const Launcher* launcher = launcher_of(command.front());
    Launch launch;
    for (size_t begin = launcher == nullptr ? 0 : 1; begin < command.size();) {
        const auto colon =
            std::find(command.begin() + static_cast<ptrdiff_t>(begin), command.end(), ":");
        const size_t end =
            launcher == nullptr ? command.size() : static_cast<size_t>(colon - command.begin());
        const size_t first =
            launcher == nullptr ? begin : find_first_program(*launcher, command, begin, end);
        if (first >= end) { throw LaunchError("no program found in: " + command.front() + " ..."); }
        std::optional<MpiFlavor> flavor;
        launch.programs.push_back(skip_tools(command, first, end, flavor));
        if (flavor && launch.flavor && *flavor != *launch.flavor) {
            throw LaunchError("the programs of this command need different MPIs");
        }
        if (flavor) { launch.flavor = flavor; }
        begin = end + 1;
    }
    const auto of_launcher = launcher == nullptr ? std::nullopt : launcher->flavor;
    if (launch.flavor && of_launcher && *launch.flavor != *of_launcher) {
        throw LaunchError("the program needs " + text_of(*launch.flavor) + ", but " +
                          command.front() + " belongs to " + text_of(*of_launcher));
    }
    if (!launch.flavor) { launch.flavor = of_launcher; }
    return launch;
}

std::vector<std::string> with_preload(const std::vector<std::string>& command, const Launch& launch,
                                      const Preload& preload) {
    std::string libraries = preload.library;
    if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0') {
        libraries += std::string(":") + others;
    }
    std::vector<std::string> result;
    for (size_t i = 0; i < command.size(); ++i) {
        if (std::find(launch.programs.begin(), launch.programs.end(), i) != launch.programs.end()) {
            result.emplace_back("env");
            result.insert(result.end(), preload.environment.begin(), preload.environment.end());
            if (!preload.library.empty()) { result.push_back("LD_PRELOAD=" + libraries); }
        }
        result.push_back(command[i]);
    }
    return result;
}

} // namespace nodeaware::tool
