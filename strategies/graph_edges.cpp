#include "strategies/graph_edges.hpp"

#include "strategies/short_numbers.hpp"

#include <cstdint>
#include <limits>

namespace nodeaware::graph {

namespace {

constexpr uint64_t leaves = 1;
constexpr uint64_t has_weight = 2;
constexpr unsigned flags = 2; ///< bits

/// Who is at the other end.
constexpr uint64_t the_sender = 0;
constexpr uint64_t no_rank = 1;
constexpr uint64_t first_rank = 2;

uint64_t number_of(int rank, int sender) {
    if (rank == sender) { return the_sender; }
    return rank == Edge::nobody ? no_rank : first_rank + static_cast<uint64_t>(rank);
}

std::optional<int> rank_of(uint64_t number, int sender, int ranks) {
    if (number == the_sender) { return sender; }
    if (number == no_rank) { return Edge::nobody; }
    if (number - first_rank >= static_cast<uint64_t>(ranks)) { return std::nullopt; }
    return static_cast<int>(number - first_rank);
}

/// Numbers near zero, of either sign, are small.
uint64_t unsigned_of(int weight) {
    const auto wide = static_cast<int64_t>(weight);
    return wide < 0 ? static_cast<uint64_t>(-2 * wide - 1) : static_cast<uint64_t>(2 * wide);
}

std::optional<int> weight_of(uint64_t number) {
    if (number > std::numeric_limits<uint32_t>::max()) { return std::nullopt; }
    const auto half = static_cast<int64_t>(number / 2);
    return static_cast<int>(number % 2 == 0 ? half : -half - 1);
}

} // namespace

void append_edge(std::vector<std::byte>& told, const Edge& edge, int sender) {
    short_numbers::append(told, number_of(edge.other, sender) << flags |
                                    (edge.has_weight ? has_weight : 0) |
                                    (edge.leaves ? leaves : 0));
    if (edge.has_weight) { short_numbers::append(told, unsigned_of(edge.weight)); }
}

std::optional<std::vector<Edge>> read_edges(std::span<const std::byte> told, int sender,
                                            int ranks) {
    std::vector<Edge> edges;
    while (!told.empty()) {
        const auto word = short_numbers::take(told);
        const auto other = word ? rank_of(*word >> flags, sender, ranks) : std::nullopt;
        if (!other) { return std::nullopt; }
        Edge edge{*other, (*word & leaves) != 0, (*word & has_weight) != 0, 0};
        if (edge.has_weight) {
            const auto number = short_numbers::take(told);
            const auto weight = number ? weight_of(*number) : std::nullopt;
            if (!weight) { return std::nullopt; }
            edge.weight = *weight;
        }
        edges.push_back(edge);
    }
    return edges;
}

} // namespace nodeaware::graph
