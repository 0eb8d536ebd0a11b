// grid_order_test SIZES MOST
//
// Cartesian grids whose ranks are renumbered (NODEAWARE_REORDER=cart): numbers, error handlers,
// errors, and which communicators keep their order. SIZES: the nodes' sizes, one after the other,
// each with its ranks in turn (or cyclic:SIZES). MOST: messages between nodes of a grid of all 16
// ranks, 4 x 4; negative: so many, as MPI has it.

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace nodeaware::test {

namespace {

/// The node of each rank of MPI_COMM_WORLD.
std::vector<int> parse_nodes(std::string text, int ranks) {
    const bool is_cyclic = text.rfind("cyclic:", 0) == 0;
    if (is_cyclic) { text.erase(0, 7); }
    std::vector<int> sizes;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) { sizes.push_back(std::stoi(word)); }
    std::vector<int> room;
    for (int left = ranks; left > 0; left -= room.back()) {
        room.push_back(std::min(left, sizes[room.size() % sizes.size()]));
    }
    std::vector<int> nodes;
    for (size_t node = 0; static_cast<int>(nodes.size()) < ranks;) {
        while (room[node] == 0) { node = (node + 1) % room.size(); }
        nodes.push_back(static_cast<int>(node));
        --room[node];
        if (is_cyclic) { node = (node + 1) % room.size(); }
    }
    return nodes;
}

struct Shape {
    std::vector<int> sizes;
    std::vector<int> periods;

    int dimensions() const { return static_cast<int>(sizes.size()); }
    int places() const {
        return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
    }
};

class Test {
  public:
    Test(Harness& harness, const std::string& nodes)
        : harness_(harness), nodes_(parse_nodes(nodes, harness.size())) {}

    /// Messages between nodes of a grid of `comm` that may be reordered.
    int grid(MPI_Comm comm, const Shape& shape) {
        MPI_Comm grid = MPI_COMM_NULL;
        const int code = MPI_Cart_create(comm, shape.dimensions(), shape.sizes.data(),
                                         shape.periods.data(), 1, &grid);
        harness_.expect(code == MPI_SUCCESS, "a grid that may be reordered");
        int mapped = -7;
        MPI_Cart_map(comm, shape.dimensions(), shape.sizes.data(), shape.periods.data(), &mapped);
        int before = 0;
        PMPI_Comm_rank(comm, &before);
        harness_.expect((grid != MPI_COMM_NULL) == (before < shape.places()), "who takes part");
        if (grid == MPI_COMM_NULL) {
            int by_mpi = -7; // Open MPI gives a rank without a place one where there is only one
            PMPI_Cart_map(comm, shape.dimensions(), shape.sizes.data(), shape.periods.data(),
                          &by_mpi);
            harness_.expect(mapped == by_mpi, "MPI_Cart_map of a rank without a place");
            return 0;
        }
        int rank = -1;
        PMPI_Comm_rank(grid, &rank);
        harness_.expect(mapped == rank, "MPI_Cart_map answers as MPI_Cart_create");
        expect_topology(grid, shape, rank);
        const int messages = count_messages(grid, shape, rank);
        expect_exchange(grid, shape);
        MPI_Comm_free(&grid);
        return messages;
    }

    void keeps_order(MPI_Comm made, const char* what) {
        int rank = -1;
        PMPI_Comm_rank(made, &rank);
        harness_.expect(rank == harness_.rank(), what);
        MPI_Comm_free(&made);
    }

    void others_keep_their_order() {
        const Shape shape{{4, 4}, {0, 0}};
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Cart_create(MPI_COMM_WORLD, 2, shape.sizes.data(), shape.periods.data(), 0, &made);
        keeps_order(made, "a grid that may not be reordered");
        // MPICH's ranks would wait for each other for ever, in different calls.
        if (is_open_mpi()) {
            MPI_Cart_create(MPI_COMM_WORLD, 2, shape.sizes.data(), shape.periods.data(),
                            harness_.rank() % 2, &made);
            keeps_order(made, "a grid that some ranks do not want to be reordered");
        }
        const int next = (harness_.rank() + 4) % harness_.size();
        const int last = (harness_.rank() + harness_.size() - 4) % harness_.size();
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &made);
        keeps_order(made, "a graph");
    }

    /// The error handler of the grid is that of the communicator that it was made from.
    void handlers();
    void errors();

  private:
    void expect_topology(MPI_Comm grid, const Shape& shape, int rank) {
        const auto count = static_cast<size_t>(shape.dimensions());
        std::vector<int> sizes(count);
        std::vector<int> periods(count);
        std::vector<int> own(count);
        std::vector<int> of_rank(count);
        PMPI_Cart_get(grid, shape.dimensions(), sizes.data(), periods.data(), own.data());
        PMPI_Cart_coords(grid, rank, shape.dimensions(), of_rank.data());
        bool are_periods_right = true;
        for (size_t i = 0; i < count; ++i) {
            are_periods_right = are_periods_right && (periods[i] != 0) == (shape.periods[i] != 0);
        }
        harness_.expect(sizes == shape.sizes && are_periods_right, "the shape of the grid");
        harness_.expect(own == of_rank, "the own place");
        MPI_Comm row = MPI_COMM_NULL;
        std::vector<int> remains(count);
        remains.back() = 1;
        MPI_Cart_sub(grid, remains.data(), &row);
        int place = -1;
        PMPI_Comm_rank(row, &place);
        harness_.expect(place == own.back(), "a row of the grid");
        MPI_Comm_free(&row);
    }

    int count_messages(MPI_Comm grid, const Shape& shape, int rank) {
        std::vector<int> members(static_cast<size_t>(shape.places()));
        PMPI_Allgather(&harness_world_, 1, MPI_INT, members.data(), 1, MPI_INT, grid);
        int messages = 0;
        const int node = node_of(members[static_cast<size_t>(rank)]);
        for (int dimension = 0; dimension < shape.dimensions(); ++dimension) {
            int lower = 0;
            int upper = 0;
            PMPI_Cart_shift(grid, dimension, 1, &lower, &upper);
            for (const int neighbor : {lower, upper}) {
                if (neighbor == MPI_PROC_NULL || neighbor == rank) { continue; }
                messages += node_of(members[static_cast<size_t>(neighbor)]) != node ? 1 : 0;
            }
        }
        std::sort(members.begin(), members.end());
        harness_.expect(std::adjacent_find(members.begin(), members.end()) == members.end(),
                        "each rank has one place");
        int all = 0;
        PMPI_Allreduce(&messages, &all, 1, MPI_INT, MPI_SUM, grid);
        return all;
    }

    void expect_exchange(MPI_Comm grid, const Shape& shape) {
        const size_t neighbors = 2 * shape.sizes.size();
        const std::vector<int> sent(neighbors, harness_.rank());
        std::vector<int> received(neighbors, -1);
        std::vector<int> expected(neighbors, -1);
        MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, grid);
        PMPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, expected.data(), 1, MPI_INT, grid);
        harness_.expect(received == expected, "an exchange with neighbours");
    }

    int node_of(int world) const { return nodes_[static_cast<size_t>(world)]; }

    Harness& harness_;
    std::vector<int> nodes_;
    const int harness_world_ = harness_.rank();
};

int handled = 0;
MPI_Comm handled_on = MPI_COMM_NULL;
void note(MPI_Comm* comm, int* /*code*/, ...) {
    ++handled;
    handled_on = *comm;
}

void Test::handlers() {
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(parent, handler);
    MPI_Errhandler_free(&handler);
    const Shape shape{{4, 4}, {1, 0}};
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(parent, 2, shape.sizes.data(), shape.periods.data(), 1, &grid);
    handled = 0;
    int value = 0;
    const int code = MPI_Send(&value, -1, MPI_INT, 0, 0, grid);
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    harness_.expect(handled == 1 && handled_on == grid && error_class == MPI_ERR_COUNT,
                    "the handler of the grid");
    MPI_Send(&value, -1, MPI_INT, 0, 0, parent);
    harness_.expect(handled == 2 && handled_on == parent, "the handler of its parent");
    MPI_Comm_free(&grid);
    MPI_Comm_free(&parent);
}

void Test::errors() {
    MPI_Comm parent = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const auto class_of = [](auto create, MPI_Comm comm, int dimensions, const int* sizes) {
        const std::array<int, 2> periods = {0, 1};
        MPI_Comm made = MPI_COMM_NULL;
        int error_class = 0;
        PMPI_Error_class(create(comm, dimensions, sizes, periods.data(), 1, &made), &error_class);
        return error_class;
    };
    const std::array<int, 2> large = {4, 5};
    const std::array<int, 2> negative = {4, -1};
    const auto expect_alike = [&](MPI_Comm comm, int dimensions, const int* sizes) {
        const int mine = class_of(MPI_Cart_create, comm, dimensions, sizes);
        const int of_mpi = class_of(PMPI_Cart_create, comm, dimensions, sizes);
        harness_.expect(mine == of_mpi, "errors are MPI's: class " + std::to_string(mine) +
                                            ", of MPI " + std::to_string(of_mpi) + " (" +
                                            std::to_string(dimensions) + ", " +
                                            std::to_string(sizes[1]) + ")");
    };
    expect_alike(parent, 2, large.data());
    harness_.expect(class_of(MPI_Cart_create, parent, 2, large.data()) != MPI_SUCCESS,
                    "a grid of more places than ranks");
    expect_alike(parent, 2, negative.data());
    expect_alike(parent, -1, large.data());
    expect_alike(MPI_COMM_NULL, 2, large.data());
    // One rank alone errs, and then calls as the others do.
    if (harness_.rank() == 3) { class_of(MPI_Cart_create, parent, 2, large.data()); }
    const Shape shape{{4, 4}, {0, 0}};
    grid(parent, shape);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&parent);
}

int run(int argc, char** argv) {
    Harness harness(&argc, &argv);
    if (argc != 3 || harness.size() != 16) {
        harness.expect(false, "usage: grid_order_test SIZES MOST, with 16 ranks");
        return harness.finish();
    }
    Test test(harness, argv[1]);
    const int most = std::stoi(argv[2]);
    const int messages = test.grid(MPI_COMM_WORLD, {{4, 4}, {0, 0}});
    const std::string found = std::to_string(messages) + " messages between nodes";
    harness.expect(most < 0 ? messages == -most : messages <= most, found);
    for (const Shape& shape : {Shape{{4, 4}, {1, 0}}, Shape{{2, 4, 2}, {0, 1, 1}}, Shape{{13}, {1}},
                               Shape{{3, 5}, {0, 0}}, Shape{{16, 1}, {0, 0}}, Shape{{1}, {0}}}) {
        test.grid(MPI_COMM_WORLD, shape);
    }
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, harness.rank() % 5 == 0, -harness.rank(), &reversed);
    int size = 0;
    MPI_Comm_size(reversed, &size);
    test.grid(reversed, {{2, size / 2}, {0, 0}});
    MPI_Comm_free(&reversed);
    test.others_keep_their_order();
    test.handlers();
    test.errors();
    return harness.finish();
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) { return nodeaware::test::run(argc, argv); }
