#include "tools/nodeaware/launchers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

constexpr Launcher open_mpi = {
    MpiFlavor::openmpi,
    {"n np c N H host hostfile machinefile default-hostfile x map-by bind-to rank-by wdir wd path "
     "prefix npernode npersocket ppr rankfile rf cpus-per-proc cpus-per-rank tune am "
     "output-filename report-uri stdin xml-file app timeout slot-list cpu-set cpu-list "
     "preload-files dvm-uri ompi-server server-wait-time max-restarts mca-base-env-list "
     "output display runtime-options pmca personality launch-agent max-vm-size tmpdir "
     "wait-to-connect num-connect-retries system-server-uri cartofile cf debugger hnp "
     "report-events report-pid xterm forward-signals pset stream-buffering with-ft spawn-timeout "
     "keepalive singleton memory",
     "mca gmca omca gomca prtemca pmixmca gpmixmca gprtemca"},
    "output-filename output xml-file report-uri report-pid report-events",
    {},
    "app"};

constexpr Launcher hydra = {
    MpiFlavor::mpich,
    {"n np ppn perhost f hosts host hostfile machinefile wdir path genvlist envlist configfile "
     "iface bind-to map-by membind rmk launcher launcher-exec bootstrap bootstrap-exec topolib "
     "demux ranks-per-proc usize arch soft outfile-pattern errfile-pattern prepend-pattern "
     "pattern regex timeout gpus-per-proc gpu-subdevs-per-proc genvuser port proxy-id grr "
     "s tune print-rank-map-format stdin nameserver localhost order-nodes gtool gtoolfile envexcl "
     "genvexcl tmpdir umask bootstrap-exec-args pmi-connect hosts-group machine "
     "branch-count",
     "genv env info"},
    "outfile-pattern errfile-pattern",
    {},
    "configfile"};

constexpr Launcher slurm = {
    std::nullopt,
    {"n ntasks N nodes c cpus-per-task p partition t time A account w nodelist x exclude J "
     "job-name o output e error i input D chdir m distribution r relative C constraint G gpus q "
     "qos d dependency ntasks-per-node ntasks-per-core ntasks-per-socket gpus-per-node "
     "gpus-per-task gres mem mem-per-cpu mem-per-gpu mpi export jobid reservation T threads W wait "
     "cluster-constraint M clusters cpu-freq hint threads-per-core sockets-per-node "
     "cores-per-socket B extra-node-info L licenses network open-mode prolog epilog task-prolog "
     "task-epilog switches signal tmp uid gid comment begin deadline gpu-bind "
     "core-spec S het-group acctg-freq bb bbf b delay-boot gres-flags mail-type "
     "mail-user mcs-label power priority profile slurmd-debug thread-spec time-min wckey mincpus "
     "cpus-per-gpu gpu-freq gpus-per-socket ntasks-per-gpu container container-id tres-per-task "
     "tres-bind cpu-bind cpu_bind mem-bind mem_bind accel-bind msg-timeout prefer segment F "
     "nodefile "
     "pack-group",
     "", 0, false, false, true},
    "output error o e",
    "oe",
    "multi-prog"};

constexpr std::string_view other_values =
    "n np N d j cc S r a c g b l nrs tasks_per_rs cpu_per_rs gpu_per_rs rs_per_host bind "
    "launch_distribution ppn depth cpu-bind hosts hostfile env mem-bind output error o";
constexpr Launcher others = {std::nullopt, {other_values, ""}};
constexpr Launcher flux = {std::nullopt, {other_values, "", 1}, "output error"}; // flux run
constexpr Launcher jsrun = {
    std::nullopt,
    {"n np d j r a c g b l nrs tasks_per_rs cpu_per_rs gpu_per_rs rs_per_host bind hosts E env o k "
     "launch_distribution stdio_stdout stdio_stderr t stdio_input",
     ""},
    "o k stdio_stdout stdio_stderr",
    "ok"};

constexpr OwnWords of_tool(std::string_view one_value, size_t words = 0, bool assigns = false) {
    return {one_value, "", words, assigns, true};
}

/// The command stands behind the name of an image.
constexpr OwnWords in_image(std::string_view one_value) { return {one_value, "", 1}; }

constexpr std::array tools = {
    Tool{"env", of_tool("u unset C chdir", 0, true), Handing::part},
    Tool{"sudo", of_tool("u user g group h host p prompt C D R r t T U", 0, true), Handing::part},
    Tool{"apptainer", {}, Handing::prefixed, "APPTAINERENV_", true},
    Tool{"singularity", {}, Handing::prefixed, "SINGULARITYENV_", true},
    Tool{"ch-run", in_image("b bind c cd g gid join-ct join-pid join-tag m mount u uid unset-env"),
         Handing::everything, "", true},
    Tool{"shifter", {}, Handing::nothing}, // setuid programs are given no preload
    Tool{"sarus", {}, Handing::nothing},
    Tool{"docker", {}, Handing::nothing},
    Tool{"podman", {}, Handing::nothing},
    Tool{"ssh", {}, Handing::nothing},
    Tool{"time", of_tool("f format o output")},
    Tool{"timeout", of_tool("k kill-after s signal", 1)},
    Tool{"nice", of_tool("n adjustment")},
    Tool{"ionice", of_tool("c class n classdata")},
    Tool{"chrt", of_tool("T P D", 1)},
    Tool{"taskset", of_tool("", 1)},
    Tool{"nohup", of_tool("")},
    Tool{"setsid", of_tool("")},
    Tool{"stdbuf", of_tool("i input o output e error")},
    Tool{"numactl", of_tool("i interleave p preferred P preferred-many m membind N cpunodebind C "
                            "physcpubind")},
    Tool{"perf",
         of_tool("e event o output r repeat F freq c count C cpu call-graph x field-separator "
                 "D delay I interval-print m mmap-pages G cgroup j branch-filter",
                 1)},
    Tool{"valgrind", of_tool("")},
    Tool{"strace", of_tool("a e o O s S u E I P X b")},
    Tool{"ltrace", of_tool("a A D e F l n o s u x X w")},
    Tool{"gdb", of_tool("x ex ix iex eval-command command cd d directory tty b l")},
    Tool{"cuda-gdb", of_tool("x ex ix iex eval-command command cd d directory tty b l")},
    Tool{"compute-sanitizer", of_tool("tool log-file save")},
    Tool{"nsys", of_tool("o output t trace s sample c capture-range d duration e env-var", 1)},
    Tool{"ncu", of_tool("o export k kernel-name c launch-count s launch-skip set section metrics")},
    Tool{"vtune", of_tool("c collect r result-dir k knob")},
    Tool{"heaptrack", of_tool("o output")},
    Tool{"hpcrun", of_tool("e event o output")},
    Tool{"tau_exec", of_tool("T")}};

/// Where the MPI is not told, options of either are understood.
const Launcher& generic() {
    const auto both = [](std::string_view first, std::string_view second) {
        return std::string(first).append(" ").append(second);
    };
    static const std::string values = both(open_mpi.own.one_value, hydra.own.one_value);
    static const std::string pairs = both(open_mpi.own.two_values, hydra.own.two_values);
    static const std::string writes = both(open_mpi.writes, hydra.writes);
    static const std::string lists = both(open_mpi.lists, hydra.lists);
    static const Launcher launcher = {std::nullopt, {values, pairs}, writes, {}, lists};
    return launcher;
}

bool is_in(std::string_view list, std::string_view word) {
    for (size_t at = 0; at < list.size();) {
        const size_t end = std::min(list.find(' ', at), list.size());
        if (list.substr(at, end - at) == word) { return true; }
        at = end + 1;
    }
    return false;
}

bool has_any(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

bool is_called_launcher(const std::string& name) {
    return name.starts_with("mpirun") || name.starts_with("mpiexec") ||
           name.starts_with("orterun") || name.starts_with("prterun");
}

/// Open MPI's is linked with parts of it, whatever its name is.
bool needs_open_mpis_runtime(const fs::path& file) {
    const auto section = read_dynamic_section(file);
    return section && std::any_of(section->needed.begin(), section->needed.end(),
                                  [](const std::string& library) {
                                      return library.starts_with("libopen-rte.so") ||
                                             library.starts_with("libopen-pal.so") ||
                                             library.starts_with("libprrte.so");
                                  });
}

/// The word of the list that this one is the beginning of, if it is of one only.
std::string_view completed(std::string_view list, std::string_view begin) {
    std::string_view found;
    for (size_t at = 0; at < list.size();) {
        const size_t end = std::min(list.find(' ', at), list.size());
        const std::string_view word = list.substr(at, end - at);
        if (word == begin) { return word; }
        if (word.size() > 1 && word.starts_with(begin)) { found = found.empty() ? word : begin; }
        at = end + 1;
    }
    return found.empty() ? begin : found;
}

/// The word of the list that an option's name stands for.
std::string_view whole_name(const OwnWords& own, std::string_view list, std::string_view name) {
    constexpr size_t shortest = 3; // what is less may be a flag
    return own.by_getopt && name.size() >= shortest ? completed(list, name) : name;
}

/// "4" of "-vn 4" stands in a word of its own, that of "-n4" does not.
bool has_value_behind(const OwnWords& own, std::string_view letters) {
    for (size_t i = 0; i < letters.size(); ++i) {
        if (is_in(own.one_value, letters.substr(i, 1))) { return i + 1 == letters.size(); }
    }
    return false;
}

/// How many words after this option belong to it.
size_t values_after(const OwnWords& own, const std::string& word) {
    if (word.find('=') != std::string::npos) { return 0; }
    const std::string_view name = std::string_view(word).substr(word.find_first_not_of('-'));
    if (is_in(own.two_values, name)) { return 2; }
    const bool is_long = word.starts_with("--");
    if (own.by_getopt && !is_long) { return has_value_behind(own, name) ? 1 : 0; }
    return is_in(own.one_value, whole_name(own, own.one_value, name)) ? 1 : 0;
}

/// "--output=file", "-o", "-ofile".
bool names_file(const Launcher& launcher, const std::string& word) {
    const std::string_view option(word);
    const std::string_view name = option.substr(option.find_first_not_of('-'));
    const bool is_short = name.size() + 1 == option.size() &&
                          launcher.short_writes.find(name.front()) != std::string_view::npos;
    return is_short || is_in(launcher.writes, name.substr(0, name.find('=')));
}

bool is_option(const std::string& word) {
    return word.front() == '-' && word.find_first_not_of('-') != std::string::npos;
}

/// "export" of "--export=NONE".
std::string name_of_option(const std::string& word) {
    const size_t begin = word.find_first_not_of('-');
    return word.substr(begin, word.find('=') - begin);
}

struct Option {
    size_t at;
    size_t values; ///< words behind it
};

/// Those in front of the command that the launcher starts.
std::vector<Option> options_of(const Launcher& launcher, const std::vector<std::string>& command,
                               size_t begin, size_t end) {
    std::vector<Option> options;
    const size_t last = find_command(launcher.own, command, begin, end);
    for (size_t at = begin; at < last && command[at] != "--"; ++at) {
        if (command[at].empty() || !is_option(command[at])) { continue; }
        const size_t values = std::min(values_after(launcher.own, command[at]), last - 1 - at);
        options.push_back({at, values});
        at += values;
    }
    return options;
}

} // namespace

const Launcher* launcher_of(const std::string& word) {
    const std::string called = fs::path(word).filename().string();
    if (called == "srun") { return &slurm; }
    if (called == "flux") { return &flux; }
    if (called == "jsrun") { return &jsrun; }
    if (called == "aprun" || called == "ibrun") { return &others; }
    const fs::path file = find_program(word);
    std::error_code error;
    const std::string real = file.empty() ? called : fs::canonical(file, error).filename().string();
    if (!is_called_launcher(called) && !is_called_launcher(real)) { return nullptr; }
    if (!file.empty() && mpi_of(file)) { return nullptr; }
    const std::string names = called + " " + real;
    if (has_any(names, {"orterun", "prterun", "openmpi"})) { return &open_mpi; }
    if (has_any(names, {"hydra", "mpich"})) { return &hydra; }
    return needs_open_mpis_runtime(file) ? &open_mpi : &generic();
}

const Tool* tool_of(const std::string& word) {
    const std::string called = fs::path(word).filename().string();
    const auto* const tool = std::find_if(tools.begin(), tools.end(),
                                          [&](const Tool& row) { return row.name == called; });
    if (tool == tools.end()) { return nullptr; }
    const fs::path file = find_program(word);
    return !file.empty() && mpi_of(file) ? nullptr : tool;
}

size_t find_command(const OwnWords& own, const std::vector<std::string>& command, size_t begin,
                    size_t end) {
    size_t first = end;
    size_t words = own.words;
    bool has_options = true;
    for (size_t at = begin; at < end; ++at) {
        const std::string& word = command[at];
        if (has_options && word == "--") {
            has_options = false;
        } else if (has_options && !word.empty() && is_option(word)) {
            at += values_after(own, word);
        } else if (own.assigns && word.find('=') != std::string::npos) {
            continue;
        } else if (words > 0) {
            --words;
        } else if (!own.takes_programs || launcher_of(word) != nullptr ||
                   tool_of(word) != nullptr || !find_program(word).empty()) {
            return at;
        } else {
            // Perhaps the value of an option that is not known here.
            first = std::min(first, at);
        }
    }
    return first;
}

std::vector<size_t> words_that_write(const Launcher& launcher,
                                     const std::vector<std::string>& command, size_t begin,
                                     size_t end) {
    std::vector<size_t> words;
    for (const Option& option : options_of(launcher, command, begin, end)) {
        const bool writes = names_file(launcher, command[option.at]);
        for (size_t i = 0; writes && i <= option.values; ++i) { words.push_back(option.at + i); }
    }
    return words;
}

size_t find_listing_option(const Launcher& launcher, const std::vector<std::string>& command,
                           size_t begin) {
    const auto lists = [&](const Option& option) {
        const std::string name = name_of_option(command[option.at]);
        return is_in(launcher.lists, whole_name(launcher.own, launcher.lists, name));
    };
    while (begin < command.size()) {
        const auto colon =
            std::find(command.begin() + static_cast<ptrdiff_t>(begin), command.end(), ":");
        const auto end = static_cast<size_t>(colon - command.begin());
        const std::vector<Option> options = options_of(launcher, command, begin, end);
        const auto found = std::find_if(options.begin(), options.end(), lists);
        if (found != options.end()) { return found->at; }
        begin = end + 1;
    }
    return command.size();
}

bool hands_environment_on(const Launcher& launcher, const std::vector<std::string>& command,
                          size_t begin) {
    if (&launcher != &slurm && &launcher != &hydra) { return false; }
    const char* const by_environment = std::getenv("SLURM_EXPORT_ENV");
    std::string exported =
        &launcher == &slurm && by_environment != nullptr ? by_environment : "ALL";
    for (const Option& option : options_of(launcher, command, begin, command.size())) {
        const std::string& word = command[option.at];
        const std::string name = name_of_option(word);
        if (is_in("genvnone envnone genvlist envlist", name)) { return false; }
        if (name != "export") { continue; }
        exported = option.values > 0 ? command[option.at + 1] : word.substr(word.find('=') + 1);
    }
    std::transform(exported.begin(), exported.end(), exported.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return ("," + exported + ",").find(",ALL,") != std::string::npos;
}

} // namespace nodeaware::tool
