#include "runtime/job/machine.hpp"
#include "runtime/job/options.hpp"
#include "runtime/job/ranges.hpp"
#include "runtime/job/world.hpp"
#include "runtime/mpi/mpi.hpp"
#include "strategies/topology.hpp"
#include "tools/nodeaware/commands.hpp"
#include "tools/nodeaware/documentation.hpp"
#include "tools/nodeaware/info_gpus.hpp"
#include "tools/nodeaware/info_model.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

using Json = nlohmann::ordered_json;

/// What every rank of a job tells of itself.
struct RankPlace {
    char host[64] = "";
    int socket = -1;
    int numa = -1;
    char binding[128] = "";
};

bool is_under_a_launcher() {
    const std::array names = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    return std::any_of(names.begin(), names.end(),
                       [](const char* name) { return std::getenv(name) != nullptr; });
}

std::string mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) { return "unknown"; }
    const std::string version(text); // Open MPI counts the terminator
    return version.substr(0, version.find('\n'));
}

Json describe_options() {
    Json list = Json::array();
    const ReadOptions read = read_options(process_environment());
    for (size_t i = 0; i < option_table().size(); ++i) {
        const OptionRow& row = option_table()[i];
        list.push_back({{"name", "NODEAWARE_" + std::string(row.name)},
                        {"value", read.settings[i].value},
                        {"source", read.settings[i].source},
                        {"values", row.values},
                        {"default", row.default_value},
                        {"doc", row.doc}});
    }
    return list;
}

Json describe_strategies() {
    Json list = Json::array();
    for (const DescribedStrategy& strategy : described_strategies()) {
        list.push_back({{"name", strategy.name}, {"doc", strategy.doc}});
    }
    return list;
}

Json describe(const MachineDescription& machine) {
    return {{"sockets", machine.sockets},
            {"numa_nodes", machine.numa_nodes},
            {"cores", machine.cores},
            {"hardware_threads", machine.hardware_threads},
            {"binding", machine.binding}};
}

/// Under mpirun: the nodes of the job as the library sees them. Collective; empty on all ranks but
/// 0.
Json describe_job(const MachineDescription& machine) {
    const World world = World::discover();
    RankPlace mine;
    gethostname(mine.host, sizeof mine.host - 1);
    mine.socket = machine.place.socket;
    mine.numa = machine.place.numa;
    std::snprintf(mine.binding, sizeof mine.binding, "%s", machine.binding.c_str());
    std::vector<RankPlace> all(static_cast<size_t>(world.size));
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    Json ranks = Json::array();
    if (world.rank != 0 || world.options.disable) { return ranks; }
    const Topology topology(world.node_of);
    for (int rank = 0; rank < world.size; ++rank) {
        const RankPlace& place = all[static_cast<size_t>(rank)];
        ranks.push_back({{"rank", rank},
                         {"host", place.host},
                         {"node", topology.node_of(rank)},
                         {"local_rank", topology.local_of(rank)},
                         {"socket", place.socket},
                         {"numa", place.numa},
                         {"binding", place.binding}});
    }
    return ranks;
}

void print_list(const char* title, const Json& list) {
    std::printf("\n%s\n", title);
    for (const Json& entry : list) {
        std::printf("  %-14s %s\n", entry["name"].get<std::string>().c_str(),
                    entry["doc"].get<std::string>().c_str());
    }
}

void print_text(const Json& info) {
    std::printf("nodeaware %s\n", info["version"].get<std::string>().c_str());
    std::printf("MPI       %s\n", info["build"]["mpi"].get<std::string>().c_str());
    std::printf("CUDA      %s\n", info["cuda"].get<std::string>().c_str());
    std::printf("NVTX      %s\n", info["build"]["nvtx"].get<std::string>().c_str());
    const Json& machine = info["machine"];
    fmt::print("machine   {} sockets, {} NUMA nodes, {} cores, {} hardware threads; this process "
               "may use {}\n",
               machine["sockets"].get<int>(), machine["numa_nodes"].get<int>(),
               machine["cores"].get<int>(), machine["hardware_threads"].get<int>(),
               machine["binding"].get<std::string>());
    if (info.contains("ranks")) {
        fmt::print("\n{:>6} {:<20} {:>5} {:>6} {:>7} {:>5} {}\n", "rank", "host", "node", "local",
                   "socket", "NUMA", "binding");
        for (const Json& rank : info["ranks"]) {
            fmt::print("{:>6} {:<20} {:>5} {:>6} {:>7} {:>5} {}\n", rank["rank"].get<int>(),
                       rank["host"].get<std::string>(), rank["node"].get<int>(),
                       rank["local_rank"].get<int>(), rank["socket"].get<int>(),
                       rank["numa"].get<int>(), rank["binding"].get<std::string>());
        }
    }
    print_gpus(info["gpus"]);
    std::printf("\nOptions (environment, or a file named by NODEAWARE_CONFIG)\n");
    for (const Json& option : info["options"]) {
        fmt::print("  {}={}  [{}]\n      {}\n      values: {}\n", option["name"].get<std::string>(),
                   option["value"].get<std::string>(), option["source"].get<std::string>(),
                   option["doc"].get<std::string>(), option["values"].get<std::string>());
    }
    for (const Json& complaint : info["complaints"]) {
        std::printf("  ! %s\n", complaint.get<std::string>().c_str());
    }
    print_model(info["model"]);
    print_list("Strategies", info["strategies"]);
    std::printf("\nOperations\n ");
    for (const Json& operation : info["operations"]) {
        std::printf(" %s", operation.get<std::string>().c_str());
    }
    std::printf("\n");
}

/// What is to be printed.
struct Form {
    bool json = false;
    bool markdown = false;
    bool config = false;
};

void show_info(bool as_json) {
    Json info;
    info["version"] = NODEAWARE_VERSION;
    info["build"] = {{"mpi", mpi_version()}, {"nvtx", ranges::are_built() ? "yes" : "none"}};
    const MachineDescription machine = describe_machine();
    info["machine"] = describe(machine);
    const bool in_job = is_under_a_launcher();
    int rank = 0;
    if (in_job) {
        MPI_Init(nullptr, nullptr);
        load_mpi([](const char* name) { return dlsym(RTLD_DEFAULT, name); });
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        info["ranks"] = describe_job(machine);
    }
    const FoundGpus gpus = find_gpus(machine.place, in_job);
    info["cuda"] = gpus.summary;
    info["gpus"] = gpus.list;
    if (in_job) { MPI_Finalize(); }
    info["options"] = describe_options();
    info["complaints"] = read_options(process_environment()).complaints;
    info["model"] = describe_model();
    info["strategies"] = describe_strategies();
    info["operations"] = operation_names;
    if (rank != 0) { return; }
    if (as_json) {
        std::printf("%s\n", info.dump(2).c_str());
    } else {
        print_text(info);
    }
}

void show(const Form& form) {
    if (form.markdown) {
        std::fputs(markdown().c_str(), stdout);
    } else if (form.config) {
        const ReadOptions read = read_options(process_environment());
        for (const std::string& complaint : read.complaints) {
            std::fprintf(stderr, "nodeaware: %s\n", complaint.c_str());
        }
        std::fputs(configuration_file(read).c_str(), stdout);
    } else {
        show_info(form.json);
    }
}

} // namespace

void add_info_command(CLI::App& app) {
    CLI::App* command =
        app.add_subcommand("info", "Print version, machine, options with their values, and "
                                   "strategies; under mpirun also where the ranks are");
    auto form = std::make_shared<Form>();
    CLI::Option* const json = command->add_flag("--json", form->json, "Print JSON");
    CLI::Option* const tables =
        command
            ->add_flag("--markdown", form->markdown,
                       "Only print options, strategies and operations, as Markdown")
            ->excludes(json);
    command
        ->add_flag("--config", form->config,
                   "Only print the options with their values, as a file for NODEAWARE_CONFIG")
        ->excludes(json)
        ->excludes(tables);
    command->callback([form] { show(*form); });
}

} // namespace nodeaware::tool
