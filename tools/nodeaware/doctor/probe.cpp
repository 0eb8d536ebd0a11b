// nodeaware_probe: the program that `nodeaware doctor` runs in place of the application's, with the
// library preloaded. It says where it is and what it has, in one record for each job. The library
// would start in MPI_Init, and wait there for ranks that lack it: PMPI_Init leaves it alone. Where
// nothing is wrong `nodeaware_probe exchange` comes next, in which it works.
#include "runtime/job/log.hpp"
#include "runtime/job/model.hpp"
#include "runtime/job/world.hpp"
#include "runtime/memory/local_group.hpp"
#include "runtime/memory/shared_memory.hpp"
#include "strategies/topology.hpp"
#include "tools/nodeaware/doctor/exchange.hpp"
#include "tools/nodeaware/doctor/process.hpp"
#include "tools/nodeaware/doctor/record.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <functional>
#include <sys/statvfs.h>
#include <unistd.h>

namespace {

using namespace nodeaware;
using namespace nodeaware::tool::doctor;

#if defined(NODEAWARE_STANDARD_INTERFACE)
constexpr tool::MpiFlavor flavor = tool::MpiFlavor::abi;
#elif defined(OPEN_MPI)
constexpr tool::MpiFlavor flavor = tool::MpiFlavor::openmpi;
#else
constexpr tool::MpiFlavor flavor = tool::MpiFlavor::mpich;
#endif

void check(int code, const char* function) {
    if (code != MPI_SUCCESS) { throw MpiError(code, function); }
}

/// Every rank's text, on rank 0. Collective.
std::vector<std::string> gather(const std::string& text, int rank, int ranks) {
    const int mine = static_cast<int>(text.size());
    std::vector<int> sizes(static_cast<size_t>(ranks));
    check(PMPI_Gather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD),
          "MPI_Gather");
    std::vector<int> begins(sizes.size());
    for (size_t i = 1; i < sizes.size(); ++i) { begins[i] = begins[i - 1] + sizes[i - 1]; }
    std::string all(rank == 0 ? static_cast<size_t>(begins.back() + sizes.back()) : 0, '\0');
    check(PMPI_Gatherv(text.data(), mine, MPI_CHAR, all.data(), sizes.data(), begins.data(),
                       MPI_CHAR, 0, MPI_COMM_WORLD),
          "MPI_Gatherv");
    std::vector<std::string> texts;
    for (size_t i = 0; rank == 0 && i < sizes.size(); ++i) {
        texts.push_back(all.substr(static_cast<size_t>(begins[i]), static_cast<size_t>(sizes[i])));
    }
    return texts;
}

/// From now on the settings are those that say where ranks are and what is shared: the library is
/// looked at whatever it is told to do, and leaves no files. What becomes of memory is logged.
void keep_settings_of_layout(const ReadOptions& read) {
    for (size_t i = 0; i < option_table().size(); ++i) {
        const std::string name(option_table()[i].name);
        const Setting& setting = read.settings[i];
        const bool is_kept = setting.source != "default" && (name == "ARENA" || name == "PPN" ||
                                                             name == "REGION" || name == "MODEL");
        const std::string variable = "NODEAWARE_" + name;
        if (is_kept) {
            setenv(variable.c_str(), setting.value.c_str(), 1);
        } else {
            unsetenv(variable.c_str());
        }
    }
    setenv("NODEAWARE_LOG", "info", 1);
}

TableFacts table_of(const World& world) {
    TableFacts facts;
    facts.wanted = wanted_table(world.options);
    const tuning::LoadedTable loaded = tuning::find_table_or_default(facts.wanted);
    facts.used = loaded.table.name;
    facts.complaint = loaded.complaint;
    facts.difference = difference(loaded.table.fingerprint, fingerprint_of(world));
    return facts;
}

/// As the library shares memory, and as much as it wants for two communicators. Collective over the
/// node.
MemoryFacts share_memory(const World& world, std::uint64_t bytes, const std::string& host) {
    const Topology topology(world.node_of);
    const LocalGroup group(MPI_COMM_WORLD, topology.ranks_of(topology.node_of(world.rank)),
                           topology.local_of(world.rank));
    MemoryFacts facts{host, false, false, 0};
    {
        const SharedMemory memory = SharedMemory::create(group, bytes);
        facts.is_shared = memory.data() != nullptr;
        facts.is_in_dev_shm = memory.is_in_dev_shm();
    }
    struct statvfs space {};
    if (statvfs("/dev/shm", &space) == 0) { facts.free_bytes = space.f_bavail * space.f_frsize; }
    return facts;
}

std::vector<RankGroup> grouped(const std::vector<std::string>& texts) {
    std::vector<RankGroup> groups;
    std::map<std::string, size_t> position;
    for (size_t rank = 0; rank < texts.size(); ++rank) {
        const auto [entry, is_new] = position.emplace(texts[rank], groups.size());
        if (is_new) { groups.push_back({{}, read_rank(texts[rank]).value()}); }
        groups[entry->second].ranks.push_back(static_cast<int>(rank));
    }
    return groups;
}

/// Of rank 0's settings, those that name files which cannot be written, and why.
std::vector<std::string> unwritable_files(const Options& options) {
    const std::array<std::pair<const char*, const std::string*>, 3> files{
        {{"REPORT", &options.report_path},
         {"LOG_FILE", &options.log_file},
         {"TUNING", &options.tuning}}};
    std::vector<std::string> found;
    for (const auto& [name, pattern] : files) {
        if (pattern->empty()) { continue; }
        const std::string path = expand_path(*pattern, 0);
        const int error = tuning::error_of_file(path);
        if (error != 0) {
            found.push_back(std::string("NODEAWARE_") + name + ": " + path + ": " +
                            std::strerror(error));
        }
    }
    return found;
}

/// Of all ranks, on rank 0. Collective.
JobFacts facts_of_job(RankFacts& own) {
    const ReadOptions read = read_options(process_environment());
    keep_settings_of_layout(read);
    const World world = World::discover();
    const tuning::Fingerprint print = fingerprint_of_process();
    own.mpi = print.mpi + " " + print.mpi_version;
    JobFacts job;
    job.ranks = world.size;
    job.machines = world.machines;
    job.node_of = world.node_of;
    job.complaints = read.complaints;
    if (world.rank == 0) { job.unwritable = unwritable_files(read.options); }
    job.is_disabled = read.options.disable;
    job.is_observing = read.options.observes;
    job.is_native =
        std::all_of(read.options.strategy.begin(), read.options.strategy.end(),
                    [](const Choice& choice) { return choice.kind == Choice::Kind::native; });
    job.has_virtual_nodes = !world.options.ppn.empty();
    job.wanted_bytes = 2 * world.options.parameters.arena_bytes;
    const Topology topology(world.node_of);
    const MemoryFacts memory = share_memory(world, job.wanted_bytes, own.host);
    const std::vector<std::string> texts = gather(to_text(own), world.rank, world.size);
    const std::vector<std::string> memories = gather(to_text(memory), world.rank, world.size);
    if (world.rank == 0) {
        job.groups = grouped(texts);
        job.table = table_of(world);
        for (int node = 0; node < topology.nodes(); ++node) {
            const auto first = static_cast<size_t>(topology.ranks_of(node).front());
            job.memory.push_back(read_memory(memories[first]).value());
        }
    }
    return job;
}

/// The name is one of this process in the whole job: each of many may say something.
void say(const char* mark, const std::string& host, const std::string& text) {
    const size_t number = std::hash<std::string>()(host);
    for (const std::string& line :
         packed(mark, std::to_string(number) + "." + std::to_string(getpid()), text)) {
        const bool is_written = std::fputs(line.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
        if (!is_written) { throw std::runtime_error("stdout cannot be written"); }
    }
}

void look_around(int argc, char** argv) {
    RankFacts own = facts_of_process(flavor);
    check(PMPI_Init(&argc, &argv), "MPI_Init");
    const char* const missing = load_mpi(
        [](const char* name) { return dlsym(RTLD_DEFAULT, (std::string("P") + name).c_str()); });
    if (missing != nullptr) { throw std::runtime_error(std::string("this MPI has no ") + missing); }
    const JobFacts job = facts_of_job(own);
    if (!job.groups.empty()) { say(record_mark, own.host, to_text(job)); }
    check(PMPI_Finalize(), "MPI_Finalize");
}

void run(int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != exchange_word) { return look_around(argc, argv); }
    const std::string told = exchange(argc, argv);
    if (!told.empty()) { say(exchange_mark, "", told); }
}

} // namespace

int main(int argc, char** argv) {
    try {
        run(argc, argv);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nodeaware_probe: %s\n", error.what());
        PMPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
}
