#include "runtime/communicators/grid_order.hpp"

#include "runtime/job/log.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "strategies/placement/choice.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace nodeaware::grid_order {

namespace {

/// The rank of the communicator that each place of the grid gets; empty: as in MPI, each its own.
using RankAt = std::vector<int>;

bool is_intracommunicator(MPI_Comm comm) {
    int is_inter = 0;
    MPI_CALL(Comm_test_inter, comm, &is_inter);
    return is_inter == 0;
}

/// How many places the grid has; 0: it has none, or MPI refuses the arguments.
int places_of(const GridArguments& grid) {
    if (grid.dimensions < 1 || grid.sizes == nullptr || grid.periods == nullptr) { return 0; }
    int size = 0;
    MPI_CALL(Comm_size, grid.comm, &size);
    int64_t places = 1;
    for (int i = 0; i < grid.dimensions; ++i) {
        if (grid.sizes[i] < 1) { return 0; }
        places *= grid.sizes[i];
        if (places > size) { return 0; }
    }
    return static_cast<int>(places);
}

/// By the order of their first rank, as placements have them.
place::Placement numbered(const std::vector<int>& nodes) {
    std::map<int, int> numbers;
    place::Placement placement;
    for (const int node : nodes) {
        placement.push_back(
            numbers.try_emplace(node, static_cast<int>(numbers.size())).first->second);
    }
    return placement;
}

/// Without dimensions in which nobody has a neighbour.
place::Grid shape_of(const GridArguments& grid) {
    place::Grid shape;
    for (int i = 0; i < grid.dimensions; ++i) {
        if (grid.sizes[i] == 1) { continue; }
        shape.dimensions.push_back(grid.sizes[i]);
        shape.is_periodic.push_back(grid.periods[i] != 0);
    }
    return shape;
}

place::Choice choose(const place::Grid& shape, const place::Placement& start) {
    constexpr size_t most_for_a_thorough_search = 2048; // above, it takes seconds
    if (shape.dimensions.empty()) { return {start, "", {}, {}}; }
    const auto search = start.size() > most_for_a_thorough_search ? place::Search::boxes_alone
                                                                  : place::Search::thorough;
    return place::choose_placement(place::grid_graph(shape), start, shape, search);
}

/// Each node's ranks, in their order, on the node's places.
RankAt ranks_by_node(const place::Placement& start, const place::Placement& placement) {
    std::vector<std::vector<int>> ranks_of(
        static_cast<size_t>(*std::max_element(start.begin(), start.end())) + 1);
    for (size_t i = start.size(); i-- > 0;) {
        ranks_of[static_cast<size_t>(start[i])].push_back(static_cast<int>(i));
    }
    RankAt rank_at;
    for (const int node : placement) {
        rank_at.push_back(ranks_of[static_cast<size_t>(node)].back());
        ranks_of[static_cast<size_t>(node)].pop_back();
    }
    return rank_at;
}

/// What was found last, for programs that ask MPI_Cart_map and then make the grid, or many alike.
struct Kept {
    place::Grid shape;
    std::vector<int> nodes;
    RankAt rank_at;
};
std::mutex mutex; ///< threads may make grids of different communicators
Kept& kept() {
    static auto* const last = new Kept; // never destroyed: MPI_Finalize may come late
    return *last;
}

void keep(const GridArguments& grid, const std::vector<int>& nodes, const RankAt& rank_at) {
    const std::lock_guard guard(mutex);
    kept() = {shape_of(grid), nodes, rank_at};
}

std::optional<RankAt> find_kept(const GridArguments& grid, const std::vector<int>& nodes) {
    const place::Grid shape = shape_of(grid);
    const std::lock_guard guard(mutex);
    const Kept& last = kept();
    const bool is_it = last.shape.dimensions == shape.dimensions &&
                       last.shape.is_periodic == shape.is_periodic && last.nodes == nodes;
    return is_it ? std::optional(last.rank_at) : std::nullopt;
}

void tell(const place::Choice& choice) {
    log(LogLevel::info,
        "a grid of {} ranks is renumbered ({}): messages between nodes {} -> {}, most of a node "
        "{} -> {}",
        choice.placement.size(), choice.way, choice.before.messages, choice.after.messages,
        choice.before.worst_messages, choice.after.worst_messages);
}

/// `nodes`: of those that take part. Whoever looks finds the same.
RankAt find_order(const GridArguments& grid, const std::vector<int>& nodes, bool tells) {
    if (auto last = find_kept(grid, nodes)) { return std::move(*last); }
    const place::Placement start = numbered(nodes);
    const place::Choice choice = choose(shape_of(grid), start);
    const bool is_better = !choice.way.empty();
    if (is_better && tells) { tell(choice); }
    RankAt rank_at = is_better ? ranks_by_node(start, choice.placement) : RankAt();
    keep(grid, nodes, rank_at);
    return rank_at;
}

/// The nodes of those that take part; nothing if there are ranks from outside of the job, which
/// every rank sees alike, and whose own library may have other settings.
std::optional<std::vector<int>> nodes_of(const World& world, const GridArguments& grid,
                                         int places) {
    auto nodes = world.nodes_of(grid.comm);
    if (nodes) { nodes->resize(static_cast<size_t>(places)); }
    return nodes;
}

int64_t hash_of(const GridArguments& grid) {
    uint64_t hash = 0;
    for (int i = 0; i < grid.dimensions; ++i) {
        const auto dimension =
            2 * static_cast<uint64_t>(grid.sizes[i]) + (grid.periods[i] != 0 ? 1 : 0);
        hash = (hash ^ dimension) * 0x9E3779B97F4A7C15U;
    }
    return static_cast<int64_t>(hash >> 1U);
}

/// Whether all ranks say so, and all of the same. Collective over `comm`.
bool all_agree(MPI_Comm comm, bool is_wanted, int64_t what) {
    const std::array<int64_t, 3> mine = {is_wanted ? 1 : 0, what, -what};
    std::array<int64_t, 3> least{};
    const int code = mpi.Allreduce(mine.data(), least.data(), static_cast<int>(mine.size()),
                                   MPI_INT64_T, MPI_MIN, comm);
    return code == MPI_SUCCESS && least[0] == 1 && least[1] == -least[2];
}

class GroupHandle {
  public:
    GroupHandle() = default;
    ~GroupHandle() {
        if (handle != MPI_GROUP_NULL) { mpi.Group_free(&handle); }
    }
    GroupHandle(const GroupHandle&) = delete;
    GroupHandle& operator=(const GroupHandle&) = delete;

    MPI_Group handle = MPI_GROUP_NULL;
};

/// A communicator of those that take part, in the order of their places; MPI_COMM_NULL for others.
/// Collective over `comm`.
int make_ordered(MPI_Comm comm, const RankAt& rank_at, MPI_Comm* made) {
    GroupHandle all;
    GroupHandle ordered;
    int code = mpi.Comm_group(comm, &all.handle);
    if (code == MPI_SUCCESS) {
        code = mpi.Group_incl(all.handle, static_cast<int>(rank_at.size()), rank_at.data(),
                              &ordered.handle);
    }
    return code == MPI_SUCCESS ? mpi.Comm_create(comm, ordered.handle, made) : code;
}

/// What rank 0 finds, in `rank_at`, which has room for it; false: nothing. A search takes memory
/// and time, which the other ranks need not spend. Collective over the communicator.
bool share_order(const GridArguments& grid, const std::vector<int>& nodes, RankAt& rank_at) {
    int rank = 0;
    int found = 0;
    if (mpi.Comm_rank(grid.comm, &rank) == MPI_SUCCESS && rank == 0) {
        try {
            const RankAt order = find_order(grid, nodes, true);
            found = order.empty() ? 0 : 1;
            std::copy(order.begin(), order.end(), rank_at.begin());
        } catch (const std::exception&) { found = 0; }
    }
    return mpi.Bcast(&found, 1, MPI_INT, 0, grid.comm) == MPI_SUCCESS && found != 0 &&
           mpi.Bcast(rank_at.data(), static_cast<int>(rank_at.size()), MPI_INT, 0, grid.comm) ==
               MPI_SUCCESS;
}

/// What this rank needs to take part.
struct Part {
    std::vector<int> nodes; ///< of all that have a place
    RankAt rank_at;
    bool is_wanted = false; ///< false: MPI is to do it, on all ranks
};

/// Nothing where ranks from outside take part. Without memory the others are told.
std::optional<Part> part_of(const World& world, const GridArguments& grid, int places,
                            bool may_reorder) {
    try {
        auto nodes = nodes_of(world, grid, places);
        if (!nodes) { return std::nullopt; }
        return Part{std::move(*nodes), RankAt(static_cast<size_t>(places)), may_reorder};
    } catch (const std::bad_alloc&) { return Part(); }
}

/// Makes `*ordered` (make_ordered) if all ranks want that and something is found; else, or where
/// one fails, MPI is to make the grid, on all ranks. Collective over the communicator.
bool agree_and_order(const GridArguments& grid, Part& part, MPI_Comm* ordered) {
    // What fails here is MPI's to tell in its own call.
    const ErrorsReturn errors_return(grid.comm);
    if (!all_agree(grid.comm, part.is_wanted, hash_of(grid)) ||
        !share_order(grid, part.nodes, part.rank_at)) {
        return false;
    }
    const int code = make_ordered(grid.comm, part.rank_at, ordered);
    const bool have_all = all_agree(grid.comm, code == MPI_SUCCESS, 0);
    if (!have_all && *ordered != MPI_COMM_NULL) { mpi.Comm_free(ordered); }
    return have_all;
}

/// The grid of those that take part, with the error handler that MPI's own would have. `ordered`
/// has one that returns, as its parent had when it was made.
int make_grid(const GridArguments& grid, MPI_Comm ordered, MPI_Comm* made) {
    *made = MPI_COMM_NULL;
    if (ordered == MPI_COMM_NULL) { return MPI_SUCCESS; }
    int code = mpi.Cart_create(ordered, grid.dimensions, grid.sizes, grid.periods, 0, made);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (code == MPI_SUCCESS) { code = mpi.Comm_get_errhandler(grid.comm, &handler); }
    if (code == MPI_SUCCESS) { code = mpi.Comm_set_errhandler(*made, handler); }
    if (handler != MPI_ERRHANDLER_NULL) { mpi.Errhandler_free(&handler); }
    mpi.Comm_free(&ordered);
    if (code != MPI_SUCCESS) { mpi.Comm_call_errhandler(grid.comm, code); }
    return code;
}

} // namespace

bool create(const World& world, const GridArguments& grid, bool may_reorder, MPI_Comm* made,
            int* result) {
    if (!world.options.reorders_grids || grid.comm == MPI_COMM_NULL || made == nullptr) {
        return false;
    }
    try {
        const int places = is_intracommunicator(grid.comm) ? places_of(grid) : 0;
        auto part = places > 0 ? part_of(world, grid, places, may_reorder) : std::nullopt;
        MPI_Comm ordered = MPI_COMM_NULL;
        if (!part || !agree_and_order(grid, *part, &ordered)) { return false; }
        *result = make_grid(grid, ordered, made);
        try {
            keep(grid, part->nodes, part->rank_at);
        } catch (const std::bad_alloc&) {} // it is found again
    } catch (const MpiError& error) { *result = error.code; }
    return true;
}

void map(const World& world, const GridArguments& grid, int* rank) {
    if (!world.options.reorders_grids || !is_intracommunicator(grid.comm)) { return; }
    const int places = places_of(grid);
    if (places == 0) { return; }
    int own = 0;
    MPI_CALL(Comm_rank, grid.comm, &own);
    try {
        const auto nodes = nodes_of(world, grid, places);
        if (!nodes) { return; }
        const RankAt rank_at = find_order(grid, *nodes, false);
        const auto at = std::find(rank_at.begin(), rank_at.end(), own);
        if (at != rank_at.end()) { *rank = static_cast<int>(at - rank_at.begin()); }
    } catch (const std::bad_alloc&) {} // as MPI_Cart_create would do then
}

} // namespace nodeaware::grid_order
