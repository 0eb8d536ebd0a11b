#include "runtime/communicators/grid_order.hpp"

#include "runtime/job/log.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "strategies/placement/choice.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <optional>
#include <utility>

namespace nodeaware::grid_order {

namespace {

/// The rank of the communicator that each place of the grid gets; empty: as in MPI, each its own.
struct Order {
    std::vector<int> rank_at;
    place::Choice choice;
};

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

/// `nodes`: of all ranks of the communicator. Each rank finds it alone, and all alike.
Order order_of(const GridArguments& grid, std::vector<int> nodes, int places) {
    nodes.resize(static_cast<size_t>(places));
    // Above it, every rank would be busy for seconds.
    constexpr size_t most_for_a_thorough_search = 4096;
    const auto search = nodes.size() > most_for_a_thorough_search ? place::Search::boxes_alone
                                                                  : place::Search::thorough;
    const place::Placement start = numbered(nodes);
    place::Grid shape;
    for (int i = 0; i < grid.dimensions; ++i) {
        shape.dimensions.push_back(grid.sizes[i]);
        shape.is_periodic.push_back(grid.periods[i] != 0);
    }
    Order order{{}, place::choose_placement(place::grid_graph(shape), start, shape, search)};
    if (order.choice.way.empty()) { return order; }
    std::vector<std::vector<int>> ranks_of(
        static_cast<size_t>(*std::max_element(start.begin(), start.end())) + 1);
    for (size_t i = start.size(); i-- > 0;) {
        ranks_of[static_cast<size_t>(start[i])].push_back(static_cast<int>(i));
    }
    for (const int node : order.choice.placement) {
        order.rank_at.push_back(ranks_of[static_cast<size_t>(node)].back());
        ranks_of[static_cast<size_t>(node)].pop_back();
    }
    return order;
}

/// Nothing if there are ranks from outside of the job, which every rank sees alike, and whose own
/// library may have other settings. A rank without memory has the others not reorder, either.
std::optional<Order> find_order(const World& world, const GridArguments& grid, int places) {
    try {
        auto nodes = world.nodes_of(grid.comm);
        return nodes ? std::optional(order_of(grid, std::move(*nodes), places)) : std::nullopt;
    } catch (const std::bad_alloc&) { return Order(); }
}

int64_t hash_of(const Order& order) {
    uint64_t hash = order.rank_at.size();
    for (const int rank : order.rank_at) {
        hash = (hash ^ static_cast<uint64_t>(rank)) * 0x9E3779B97F4A7C15U;
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
int make_ordered(MPI_Comm comm, const std::vector<int>& rank_at, MPI_Comm* made) {
    GroupHandle all;
    GroupHandle ordered;
    int code = mpi.Comm_group(comm, &all.handle);
    if (code == MPI_SUCCESS) {
        code = mpi.Group_incl(all.handle, static_cast<int>(rank_at.size()), rank_at.data(),
                              &ordered.handle);
    }
    return code == MPI_SUCCESS ? mpi.Comm_create(comm, ordered.handle, made) : code;
}

void tell(const GridArguments& grid, const Order& order) {
    int rank = 0;
    MPI_CALL(Comm_rank, grid.comm, &rank);
    if (rank != 0) { return; }
    log(LogLevel::info,
        "a grid of {} ranks is renumbered ({}): messages between nodes {} -> {}, most of a node "
        "{} -> {}",
        order.rank_at.size(), order.choice.way, order.choice.before.messages,
        order.choice.after.messages, order.choice.before.worst_messages,
        order.choice.after.worst_messages);
}

/// Makes `*ordered` (make_ordered) if all ranks want that; else, or where one fails, MPI is to make
/// the grid, on all ranks. Collective over the communicator.
bool agree_and_order(const GridArguments& grid, const Order& order, bool is_wanted,
                     MPI_Comm* ordered) {
    // What fails here is MPI's to tell in its own call.
    const ErrorsReturn errors_return(grid.comm);
    if (!all_agree(grid.comm, is_wanted && !order.rank_at.empty(), hash_of(order))) {
        return false;
    }
    const int code = make_ordered(grid.comm, order.rank_at, ordered);
    const bool have_all = all_agree(grid.comm, code == MPI_SUCCESS, 0);
    if (!have_all && *ordered != MPI_COMM_NULL) { mpi.Comm_free(ordered); }
    return have_all;
}

/// The grid of those that take part, with the error handler that MPI's own would have.
int make_grid(const GridArguments& grid, MPI_Comm ordered, MPI_Comm* made) {
    *made = MPI_COMM_NULL;
    if (ordered == MPI_COMM_NULL) { return MPI_SUCCESS; }
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int code = mpi.Comm_get_errhandler(grid.comm, &handler);
    if (code == MPI_SUCCESS) { code = mpi.Comm_set_errhandler(ordered, handler); }
    if (handler != MPI_ERRHANDLER_NULL) { mpi.Errhandler_free(&handler); }
    if (code == MPI_SUCCESS) {
        code = mpi.Cart_create(ordered, grid.dimensions, grid.sizes, grid.periods, 0, made);
    }
    mpi.Comm_free(&ordered);
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
        const auto order = places > 0 ? find_order(world, grid, places) : std::nullopt;
        MPI_Comm ordered = MPI_COMM_NULL;
        if (!order || !agree_and_order(grid, *order, may_reorder, &ordered)) { return false; }
        *result = make_grid(grid, ordered, made);
        tell(grid, *order);
    } catch (const MpiError& error) { *result = error.code; }
    return true;
}

void map(const World& world, const GridArguments& grid, int* rank) {
    if (!world.options.reorders_grids || !is_intracommunicator(grid.comm)) { return; }
    const int places = places_of(grid);
    auto nodes = world.nodes_of(grid.comm);
    if (places == 0 || !nodes) { return; }
    const Order order = order_of(grid, std::move(*nodes), places);
    int own = 0;
    MPI_CALL(Comm_rank, grid.comm, &own);
    const auto at = std::find(order.rank_at.begin(), order.rank_at.end(), own);
    if (at != order.rank_at.end()) { *rank = static_cast<int>(at - order.rank_at.begin()); }
}

} // namespace nodeaware::grid_order
