#include "pattern_kinds.hpp"

#include "directions.hpp"
#include "grid.hpp"
#include "program.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

namespace bench {
namespace {

using Numbers = std::vector<std::int64_t>;

// Sizes far beyond what an int count can hold are refused later, with the pattern's name; until
// then they only must not wrap around.
std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t limit = std::int64_t{1} << 40;
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? limit : std::min(product, limit);
}

std::vector<Message> uniform(const Numbers& numbers, int ranks, const PatternOptions&) {
    std::vector<Message> messages;
    for (int source = 0; source < ranks; ++source) {
        for (int destination = 0; destination < ranks; ++destination)
            messages.push_back({source, destination, numbers[0]});
    }
    return messages;
}

std::vector<Message> random(const Numbers& numbers, int ranks, const PatternOptions& options) {
    const std::int64_t neighbours = numbers[0];
    const std::int64_t bytes = numbers[1];
    if (neighbours > ranks - 1) {
        throw InputError(std::to_string(neighbours) + " neighbours, but there are only " +
                         std::to_string(ranks - 1) + " other ranks");
    }
    if (bytes < 1) throw InputError("BYTES must be at least 1");
    std::mt19937_64 generator(static_cast<std::uint64_t>(numbers.size() > 2 ? numbers[2] : 1));
    std::vector<Message> messages;
    for (int source = 0; source < ranks; ++source) {
        std::vector<int> others(static_cast<std::size_t>(ranks));
        std::iota(others.begin(), others.end(), 0);
        std::swap(others[static_cast<std::size_t>(source)], others.back());
        others.pop_back();
        for (std::size_t i = 0; i < static_cast<std::size_t>(neighbours); ++i) {
            std::swap(others[i], others[i + generator() % (others.size() - i)]);
            const auto drawn =
                static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(bytes));
            messages.push_back({source, others[i], options.fixed_sizes ? bytes : 1 + drawn});
        }
    }
    return messages;
}

std::vector<Message> halo(const Numbers& numbers, int ranks, bool corners,
                          const PatternOptions& options) {
    for (const std::int64_t number : numbers)
        if (number < 1) throw InputError("NX, NY, NZ and BYTES must be at least 1");
    const std::array<int, 3> grid = grid_of(options, ranks);
    const std::vector<Direction> directions = halo_directions(3, corners);
    std::vector<Message> messages;
    for (int rank = 0; rank < ranks; ++rank) {
        for (const Direction& direction : directions) {
            const int neighbour = grid_neighbour(rank, grid, direction, options.periodic);
            // A halo from the rank itself is a copy that the application makes without MPI.
            if (neighbour < 0 || neighbour == rank) continue;
            std::int64_t bytes = numbers[3];
            for (std::size_t d = 0; d < 3; ++d)
                if (direction[d] == 0) bytes = saturated_product(bytes, numbers[d]);
            messages.push_back({rank, neighbour, bytes});
        }
    }
    return messages;
}

std::vector<Message> halo7(const Numbers& numbers, int ranks, const PatternOptions& options) {
    return halo(numbers, ranks, false, options);
}

std::vector<Message> halo27(const Numbers& numbers, int ranks, const PatternOptions& options) {
    return halo(numbers, ranks, true, options);
}

// Contiguous parts whose sizes differ by at most one, the larger ones first.
int owner(std::int64_t index, std::int64_t size, int ranks) {
    const std::int64_t part = size / ranks;
    const std::int64_t larger = size % ranks;
    const std::int64_t in_larger = larger * (part + 1);
    if (index < in_larger) return static_cast<int>(index / (part + 1));
    return static_cast<int>(larger + (index - in_larger) / part);
}

} // namespace

const std::vector<PatternKind>& pattern_kinds() {
    static const std::vector<PatternKind> kinds{
        {"uniform", "BYTES", "every rank sends BYTES to every rank, itself included", 1, 1,
         uniform},
        {"random", "NEIGHBOURS,BYTES[,SEED]",
         "every rank sends 1..BYTES (--fixed-sizes: BYTES) to NEIGHBOURS random others", 2, 3,
         random},
        {"halo7", "NX,NY,NZ,BYTES",
         "faces of NX x NY x NZ cells per rank, BYTES per cell, on a 3-D grid of ranks "
         "(--periodic)",
         4, 4, halo7},
        {"halo27", "NX,NY,NZ,BYTES", "the same with edges and corners", 4, 4, halo27},
    };
    return kinds;
}

std::vector<Message> spmv_messages(const Matrix& matrix, int ranks) {
    constexpr std::int64_t bytes_per_entry = 8;       // one double
    std::vector<std::pair<int, std::int64_t>> needed; // rank, column of the vector
    needed.reserve(matrix.entries.size());
    for (const Matrix::Entry& entry : matrix.entries)
        needed.emplace_back(owner(entry.row, matrix.rows, ranks), entry.column);
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());

    std::vector<Message> messages;
    for (const auto& [rank, column] : needed) {
        const int source = owner(column, matrix.columns, ranks);
        if (source == rank) continue;
        // Sorted by rank and column, so all that one rank needs from another is together.
        const bool continues = !messages.empty() && messages.back().source == source &&
                               messages.back().destination == rank;
        if (continues) {
            messages.back().bytes += bytes_per_entry;
        } else {
            messages.push_back({source, rank, bytes_per_entry});
        }
    }
    return messages;
}

} // namespace bench
