#include "grid.hpp"

#include "mpi_forms.hpp"
#include "program.hpp"

#include <charconv>

namespace bench {

std::array<int, 3> parse_grid(const std::string& text, int ranks) {
    const InputError wrong("--grid " + text + ": expected up to three sizes such as 4x4x2");
    std::array<int, 3> grid{1, 1, 1};
    std::int64_t places = 1;
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t i = 0;; ++i) {
        if (i == grid.size()) throw wrong;
        const auto [next, error] = std::from_chars(at, end, grid[i]);
        if (error != std::errc() || grid[i] < 1) throw wrong;
        places *= grid[i];
        if (next == end) break;
        if (*next != 'x') throw wrong;
        at = next + 1;
    }
    if (places != ranks) {
        throw InputError("--grid " + text + ": there are " + std::to_string(ranks) + " ranks");
    }
    return grid;
}

std::array<int, 3> grid_of(const PatternOptions& options, int ranks) {
    std::array<int, 3> grid = options.grid;
    if (grid[0] == 0) check(MPI_Dims_create(ranks, 3, grid.data()), "MPI_Dims_create");
    return grid;
}

CartesianOrder::CartesianOrder(MPI_Comm comm, const PatternOptions& options) {
    int ranks = 0;
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    const std::array<int, 3> grid = grid_of(options, ranks);
    const int closed = options.periodic ? 1 : 0;
    const std::array<int, 3> periods{closed, closed, closed};
    check(MPI_Cart_create(comm, 3, grid.data(), periods.data(), 1, &grid_), "MPI_Cart_create");
}

} // namespace bench
