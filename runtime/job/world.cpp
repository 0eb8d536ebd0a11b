#include "runtime/job/world.hpp"

#include "runtime/job/address_space.hpp"
#include "runtime/job/launcher.hpp"
#include "runtime/job/log.hpp"
#include "runtime/job/machine.hpp"
#include "runtime/job/machine_ranks.hpp"
#include "runtime/job/model.hpp"
#include "strategies/device_copies.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace nodeaware {

namespace {

/// Some of them: a file may be anything.
std::string in_one_line(const std::vector<std::string>& complaints) {
    constexpr size_t most = 8;
    constexpr size_t length = 400;
    std::string text;
    for (size_t i = 0; i < std::min(complaints.size(), most); ++i) {
        const bool is_long = complaints[i].size() > length;
        text += (i == 0 ? "" : "; ") + complaints[i].substr(0, length) + (is_long ? "..." : "");
    }
    if (complaints.size() > most) {
        text += "; and " + std::to_string(complaints.size() - most) + " more";
    }
    const auto is_control = [](unsigned char letter) { return letter < ' ' || letter == 0x7f; };
    std::replace_if(text.begin(), text.end(), is_control, '?');
    return text;
}

/// Rank 0 reads the options and tells the others. Complaints are left to rank 0.
std::string read_and_broadcast(int rank) {
    std::string text;
    std::string complaint;
    bool strict = false;
    if (rank == 0) {
        const ReadOptions read = read_options(process_environment());
        strict = read.options.strict;
        complaint = in_one_line(read.complaints);
        text = settings_text(read);
        if (!complaint.empty() && strict) { text.clear(); }
    }
    int size = static_cast<int>(text.size());
    MPI_CALL(Bcast, &size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && !complaint.empty()) {
        if (strict) { throw BadSettings(complaint); }
        write_log(LogLevel::warn, complaint + " (ignored)");
    }
    if (size == 0) { throw BadSettings("rank 0 does not accept the settings"); }
    text.resize(static_cast<size_t>(size));
    MPI_CALL(Bcast, text.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
    return text;
}

/// Whatever the other settings say. MPI gets memory of devices as the application passes it.
void leave_all_to_mpi(Options& options) {
    options.strategy.fill({Choice::Kind::native, nullptr});
    options.reorders_grids = false;
    options.device_aware = DeviceAware::yes;
    options.parameters.device_copy = DeviceCopy::md;
}

/// Which of the virtual nodes, whose sizes are used in turn, the `position`-th rank of a machine
/// belongs to.
int virtual_node(const Options& options, int position, int ranks) {
    std::vector<int> room;
    for (int left = ranks; left > 0; left -= room.back()) {
        room.push_back(std::min(left, options.ppn[room.size() % options.ppn.size()]));
    }
    size_t node = 0;
    for (int i = 0;; ++i) {
        while (room[node] == 0) { node = (node + 1) % room.size(); }
        if (i == position) { return static_cast<int>(node); }
        --room[node];
        if (options.ppn_is_cyclic) { node = (node + 1) % room.size(); }
    }
}

int part_of_machine(const Options& options, const Binding& place, int position, int ranks) {
    if (!options.ppn.empty()) { return virtual_node(options, position, ranks); }
    switch (options.region) {
    case Region::socket: return place.socket;
    case Region::numa: return place.numa;
    default: return 0;
    }
}

/// Names nodes by (first rank of the machine, part of the machine).
void find_nodes(World& world, const MachineRanks& machine, int part) {
    const int mine[2] = {machine.first_rank, part};
    std::vector<int> all(2 * static_cast<size_t>(world.size));
    MPI_CALL(Allgather, mine, 2, MPI_INT, all.data(), 2, MPI_INT, MPI_COMM_WORLD);
    std::map<std::pair<int, int>, int> number_of;
    std::set<int> machines;
    for (size_t i = 0; i < all.size(); i += 2) {
        machines.insert(all[i]);
        const auto key = std::pair(all[i], all[i + 1]);
        world.node_of.push_back(
            number_of.try_emplace(key, static_cast<int>(number_of.size())).first->second);
    }
    world.machines = static_cast<int>(machines.size());
}

/// What all ranks have to heed because one must.
struct Needs {
    bool threads_at_once;
    uint64_t most_bytes; ///< of an arena
};

/// Where address space is limited (ulimit -v), an arena is a small part of it: there may be many.
Needs find_needs() {
    int level = MPI_THREAD_SINGLE;
    MPI_CALL(Query_thread, &level);
    constexpr uint64_t share = 128;
    constexpr uint64_t unit = 4096;
    constexpr uint64_t unlimited = 1 << 30;
    const uint64_t limit = address_space::limit();
    const uint64_t most = limit == 0 ? unlimited : std::min(limit / share / unit, unlimited);
    const int mine[2] = {level, -static_cast<int>(most)};
    int all[2] = {};
    MPI_CALL(Allreduce, mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return {all[0] == MPI_THREAD_MULTIPLE, static_cast<uint64_t>(-all[1]) * unit};
}

void warn_of_useless_region(const Options& options, const Binding& place) {
    const bool bound = options.region == Region::socket ? place.socket >= 0 : place.numa >= 0;
    if (options.region != Region::node && options.ppn.empty() && !bound) {
        log(LogLevel::warn, "NODEAWARE_REGION needs ranks that are bound to cores; rank 0 is not: "
                            "regions are whole nodes "
                            "where ranks are not bound");
    }
}

/// What the ranks of a process that uses threads do at the same time may want the same slab.
DeviceCopy device_copy_of(const World& world) {
    const Parameters& parameters = world.options.parameters;
    const bool is_useless =
        parameters.device_copy == DeviceCopy::automatic && !sharing_may_pay(parameters.costs);
    const bool is_possible = !world.threads_at_once && parameters.device_slab_bytes > 0;
    return is_possible && !is_useless ? parameters.device_copy : DeviceCopy::md;
}

} // namespace

World World::discover() {
    World world;
    MPI_CALL(Comm_rank, MPI_COMM_WORLD, &world.rank);
    MPI_CALL(Comm_size, MPI_COMM_WORLD, &world.size);
    world.settings = read_and_broadcast(world.rank);
    world.options = apply_settings(world.settings);
    if (world.options.observes) { leave_all_to_mpi(world.options); }
    const std::string complaint = open_log(world.options, world.rank);
    if (!world.options.log_file.empty()) {
        world.complain_of_settings(complaint.empty() ? "" : "NODEAWARE_LOG_FILE: " + complaint);
    }
    if (world.options.disable) { return world; }
    const std::string misled =
        complaint_of_launcher(world.size, is_open_mpi() ? "Open MPI" : "MPICH");
    if (!misled.empty()) { log(LogLevel::warn, "{}", misled); }
    const MachineRanks machine = find_machine_ranks(world.rank, world.size);
    const Binding place = describe_machine().place;
    world.ranks_here = machine.ranks;
    world.oversubscribed = machine.ranks > place.cores;
    find_nodes(world, machine,
               part_of_machine(world.options, place, machine.position, machine.ranks));
    const Needs needs = find_needs();
    world.threads_at_once = needs.threads_at_once;
    uint64_t& arena_bytes = world.options.parameters.arena_bytes;
    arena_bytes = std::min(arena_bytes, needs.most_bytes);
    MPI_CALL(Comm_group, MPI_COMM_WORLD, &world.group);
    if (world.rank == 0) { warn_of_useless_region(world.options, place); }
    LoadedCosts loaded = load_costs(world);
    world.options.parameters.costs = loaded.costs;
    world.model_table = std::move(loaded.table);
    world.options.parameters.device_copy = device_copy_of(world);
    return world;
}

bool World::leaves_to_mpi(Operation operation) const {
    const Choice::Kind kind = options.choice(operation).kind;
    return kind == Choice::Kind::native || (kind == Choice::Kind::automatic && machines == 1);
}

size_t World::nodes() const { return std::set(node_of.begin(), node_of.end()).size(); }

bool World::complain_once(const std::string& complaint) const {
    const int mine = complaint.empty() ? size : rank;
    int first = 0;
    MPI_CALL(Allreduce, &mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank) { write_log(LogLevel::warn, complaint); }
    return first < size;
}

bool World::complain_of_settings(const std::string& complaint) const {
    const bool is_wrong = complain_once(complaint);
    if (is_wrong && options.strict) { throw BadSettings("a file cannot be written"); }
    return is_wrong;
}

std::optional<std::vector<int>> World::ranks_of(MPI_Comm comm) const {
    int count = 0;
    MPI_CALL(Comm_size, comm, &count);
    MPI_Group members = MPI_GROUP_NULL;
    MPI_CALL(Comm_group, comm, &members);
    std::vector<int> theirs(static_cast<size_t>(count));
    std::iota(theirs.begin(), theirs.end(), 0);
    std::vector<int> ours(static_cast<size_t>(count));
    MPI_CALL(Group_translate_ranks, members, count, theirs.data(), group, ours.data());
    MPI_CALL(Group_free, &members);
    const bool all_are_ours = std::find(ours.begin(), ours.end(), MPI_UNDEFINED) == ours.end();
    return all_are_ours ? std::optional(std::move(ours)) : std::nullopt;
}

std::optional<std::vector<int>> World::nodes_of(MPI_Comm comm) const {
    const auto ranks = ranks_of(comm);
    return ranks ? std::optional(nodes_of(*ranks)) : std::nullopt;
}

std::vector<int> World::nodes_of(const std::vector<int>& ranks) const {
    std::vector<int> nodes;
    nodes.reserve(ranks.size());
    for (const int rank : ranks) { nodes.push_back(node_of[static_cast<size_t>(rank)]); }
    return nodes;
}

} // namespace nodeaware
