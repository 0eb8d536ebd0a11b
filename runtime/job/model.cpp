#include "runtime/job/model.hpp"

#include "runtime/job/log.hpp"
#include "tuning/costs_of.hpp"
#include "tuning/table_file.hpp"
#include "tuning/user_table.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <pwd.h>
#include <set>
#include <string_view>
#include <sys/utsname.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace nodeaware {

namespace {

/// The processor, or, where the system does not tell, its architecture.
std::string host_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(": ");
        const bool is_model = line.starts_with("model name") || line.starts_with("cpu\t"); // POWER
        if (is_model && colon != std::string::npos) { return line.substr(colon + 2); }
    }
    utsname system{};
    return uname(&system) == 0 ? system.machine : "";
}

/// "Open MPI" and "4.1.4" of "Open MPI v4.1.4, package: ...", or "MPICH" and "4.0.2" of
/// "MPICH Version:\t4.0.2\n...".
void describe_mpi(tuning::Fingerprint& print) {
    char raw[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_CALL(Get_library_version, raw, &length);
    const std::string text(raw); // Open MPI counts the terminator
    const size_t digit = text.find_first_of("0123456789");
    if (digit == std::string::npos) {
        print.mpi = text.substr(0, text.find('\n'));
        return;
    }
    print.mpi = text.substr(0, text.find_first_of(" \t:v", text.find("MPI") + 3));
    print.mpi_version = text.substr(digit, text.find_first_not_of("0123456789.", digit) - digit);
}

std::string described(const tuning::Fingerprint& print) {
    std::string text = print.mpi;
    if (!print.mpi_version.empty()) { text += " " + print.mpi_version; }
    if (!print.host_model.empty()) { text += " on " + print.host_model; }
    if (print.processes_per_node > 0) {
        text += ", " + std::to_string(print.processes_per_node) + " ranks per node";
    }
    return text;
}

/// The file that this code is in, the core or the command; empty: unknown.
std::string own_file() {
    Dl_info self{};
    const bool is_known = dladdr(reinterpret_cast<void*>(&own_file), &self) != 0;
    // Of a program it has what the program was called by, which may be no path.
    const bool is_library = is_known && std::strstr(self.dli_fname, ".so") != nullptr;
    char path[PATH_MAX];
    const char* const found = realpath(is_library ? self.dli_fname : "/proc/self/exe", path);
    return found == nullptr ? "" : found;
}

/// PREFIX/etc/nodeaware, of a package /etc/nodeaware; empty where this is not installed.
std::string tables_of_installation() {
    const std::string file = own_file();
    const std::string folder = file.substr(0, file.find_last_of('/') + 1);
    for (const std::string_view inside :
         {"/" NODEAWARE_LIBRARY_FOLDER "/", "/" NODEAWARE_PROGRAM_FOLDER "/"}) {
        if (folder.ends_with(inside)) {
            const std::string prefix = folder.substr(0, folder.size() - inside.size());
            return (prefix == "/usr" ? "" : prefix) + "/etc/nodeaware";
        }
    }
    return "";
}

/// What rank 0 tells the others.
struct SharedCosts {
    bool accepted = true;
    Costs costs;
    std::array<char, 256> table{}; ///< its name, cut off
};
static_assert(std::is_trivially_copyable_v<SharedCosts>);

SharedCosts read_costs(const World& world, std::string& complaint) {
    const std::string name = wanted_table(world.options);
    const tuning::LoadedTable loaded = tuning::find_table_or_default(name);
    if (!loaded.complaint.empty()) {
        complaint = "model table: " + loaded.complaint;
        if (world.options.strict) { return {false, {}}; }
        write_log(LogLevel::warn, complaint);
    }
    const tuning::Fingerprint job = fingerprint_of(world);
    const std::string differs = difference(loaded.table.fingerprint, job);
    const std::string used = name.empty() ? loaded.table.name : name;
    log(LogLevel::info, "model table {}{}{}", used, differs.empty() ? "" : ": ", differs);
    const int ranks_per_device = tuning::ranks_per_device(loaded.table, job.processes_per_node);
    SharedCosts shared{true, tuning::costs_of(loaded.table, ranks_per_device), {}};
    used.copy(shared.table.data(), shared.table.size() - 1);
    return shared;
}

/// That of the user database; empty if there is none.
std::string registered_home() {
    passwd entry = {};
    passwd* found = nullptr;
    std::vector<char> strings(1 << 14);
    const int error = getpwuid_r(getuid(), &entry, strings.data(), strings.size(), &found);
    return error == 0 && found != nullptr ? entry.pw_dir : "";
}

} // namespace

std::string wanted_table(const Options& options) {
    if (!options.model.empty()) { return options.model; }
    return tuning::find_table_of(fingerprint_of_process(),
                                 {user_tables(), tables_of_installation()});
}

/// Ranks need not have HOME (srun --export=NONE).
std::string user_tables() {
    const char* const home = std::getenv("HOME");
    const std::string registered = home == nullptr ? registered_home() : "";
    return tuning::user_table_folder(std::getenv("XDG_CONFIG_HOME"),
                                     home == nullptr ? registered.c_str() : home);
}

tuning::Fingerprint fingerprint_of_process() {
    tuning::Fingerprint print;
    describe_mpi(print);
    print.host_model = host_model();
    return print;
}

tuning::Fingerprint fingerprint_of(const World& world) {
    tuning::Fingerprint print = fingerprint_of_process();
    const std::set<int> nodes(world.node_of.begin(), world.node_of.end());
    print.nodes = static_cast<int>(nodes.size());
    for (const int node : nodes) {
        const auto ranks = std::count(world.node_of.begin(), world.node_of.end(), node);
        print.processes_per_node = std::max(print.processes_per_node, static_cast<int>(ranks));
    }
    return print;
}

std::string difference(const tuning::Fingerprint& table, const tuning::Fingerprint& job) {
    const auto differs = [](const auto& known, const auto& found) {
        return known != std::decay_t<decltype(known)>() && known != found;
    };
    if (!differs(table.mpi, job.mpi) && !differs(table.mpi_version, job.mpi_version) &&
        !differs(table.host_model, job.host_model) &&
        !differs(table.processes_per_node, job.processes_per_node)) {
        return "";
    }
    return "it was measured with " + described(table) + "; this is " + described(job);
}

LoadedCosts load_costs(const World& world) {
    SharedCosts shared;
    std::string complaint = "rank 0 does not accept the model table";
    if (world.rank == 0) { shared = read_costs(world, complaint); }
    MPI_CALL(Bcast, &shared, sizeof shared, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!shared.accepted) { throw BadSettings(complaint); }
    return {shared.costs, shared.table.data()};
}

} // namespace nodeaware
