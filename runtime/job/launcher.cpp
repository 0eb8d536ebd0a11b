#include "runtime/job/launcher.hpp"

#include "runtime/job/options.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <unistd.h>

namespace nodeaware {

namespace {

struct Variables {
    std::string_view count;
    std::string_view rank;
};

/// Of launchers that are inside of what comes after them, if both are there.
constexpr std::array<Variables, 3> launchers = {{
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
}};
/// Slurm's number of tasks is in batch scripts, too; that of a step is only where srun has started
/// the process, or the launcher's daemon that has.
constexpr Variables step = {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};

std::optional<std::string_view> value_of(std::string_view name,
                                         const std::vector<std::string>& environment) {
    for (const std::string_view entry : environment) {
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
            return entry.substr(name.size() + 1);
        }
    }
    return std::nullopt;
}

/// 0: no number.
int number_of(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

std::string content_of(pid_t process, const char* name) {
    std::ifstream file("/proc/" + std::to_string(process) + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

enum class Starter { launcher, step_of_slurm, other };

/// Who has started this process: a launcher gives its processes variables that it has not itself.
/// Who has them is a rank, a script, a shell or a server, in which programs may well be alone; so
/// it is taken to be where it cannot be looked at, but for Slurm's daemon, which belongs to root.
Starter starter_of(const std::string& variable) {
    const pid_t parent = getppid();
    if (parent <= 1) { return Starter::other; } // who has started it is gone
    const std::string environment = content_of(parent, "environ");
    if (environment.empty()) {
        return content_of(parent, "comm") == "slurmstepd\n" ? Starter::step_of_slurm
                                                            : Starter::other;
    }
    const bool has_it = ('\0' + environment).find('\0' + variable + '=') != std::string::npos;
    // A rank may have written its title over its environment.
    return has_it || content_of(parent, "maps").find("/libmpi") != std::string::npos
               ? Starter::other
               : Starter::launcher;
}

} // namespace

Launched launched_with_others(const std::vector<std::string>& environment, bool by_slurm) {
    Launched found;
    const auto look_at = [&](const Variables& variables) {
        const auto count = value_of(variables.count, environment);
        if (!count || !found.variable.empty()) { return; }
        found = {std::string(variables.count), std::string(*count),
                 value_of(variables.rank, environment) == "0"};
    };
    for (const Variables& variables : launchers) {
        if (by_slurm) { break; } // those are of what has started srun
        const auto count = value_of(variables.count, environment);
        if (count && number_of(*count) <= 1) { return {}; }
        look_at(variables);
    }
    // Where a user has asked Slurm for no MPI, every process is to be alone.
    if (value_of("SLURM_MPI_TYPE", environment) != "none") { look_at(step); }
    return number_of(found.count) > 1 ? found : Launched{};
}

std::string complaint_of_launcher(int size, std::string_view mpi_name) {
    if (size != 1) { return ""; }
    const std::vector<std::string> environment = process_environment();
    Launched launched = launched_with_others(environment, false);
    if (launched.variable.empty()) { launched = launched_with_others(environment, true); }
    if (launched.variable.empty()) { return ""; }
    const Starter starter = starter_of(launched.variable);
    if (starter == Starter::other) { return ""; }
    if (starter == Starter::step_of_slurm) { launched = launched_with_others(environment, true); }
    if (!launched.is_rank_0) { return ""; }
    const std::string name(mpi_name);
    const std::string remedy = launched.variable == step.count
                                   ? "start it by \"srun --mpi=...\" with a type that " + name +
                                         " knows (srun --mpi=list), or by the mpirun of this " +
                                         name
                                   : "start it by the mpirun of this " + name;
    return "each process is alone in MPI_COMM_WORLD, but the launcher has started " +
           launched.count + " (" + launched.variable + "): it is that of another MPI; " + remedy;
}

} // namespace nodeaware
