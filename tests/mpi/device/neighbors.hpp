#pragma once

#include "tests/mpi/device/case.hpp"

#include <array>
#include <memory>
#include <utility>

/// The `number`-th from there to there.
inline std::vector<int> message(int source, int destination, std::size_t number, int length) {
    std::vector<int> content(static_cast<std::size_t>(length));
    for (int k = 0; k < length; ++k) {
        content[static_cast<std::size_t>(k)] =
            value(source, destination, k + 13 * static_cast<int>(number));
    }
    return content;
}

/// Each rank to some others, as absolute addresses in memories of several kinds.
inline void neighbors(Kind kind, bool is_nonblocking, MPI_Comm graph,
                      const std::vector<int>& shifts, int length = 9) {
    const std::size_t degree = shifts.size();
    std::vector<std::unique_ptr<Array>> sources, targets;
    std::vector<MPI_Aint> from(degree), to(degree);
    for (std::size_t i = 0; i < degree; ++i) {
        const int destination = (rank + shifts[i]) % ranks;
        const std::vector<int> content = message(rank, destination, i, length);
        const Kind other = i % 3 == 0 ? Kind::host : kind;
        sources.push_back(std::make_unique<Array>(other, length));
        targets.push_back(std::make_unique<Array>(i == 1 ? Kind::host : kind, length));
        sources.back()->write(content);
        targets.back()->write(std::vector<int>(length, -1));
        MPI_Get_address(sources.back()->data(), &from[i]);
        MPI_Get_address(targets.back()->data(), &to[i]);
    }
    const std::vector<int> counts(degree, length);
    const std::vector<MPI_Datatype> types(degree, MPI_INT);
    if (is_nonblocking) {
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_SUCCESS;
        call("MPI_Ineighbor_alltoallw", [&] {
            return code = MPI_Ineighbor_alltoallw(MPI_BOTTOM, counts.data(), from.data(),
                                                  types.data(), MPI_BOTTOM, counts.data(),
                                                  to.data(), types.data(), graph, &request);
        });
        finish(request, code, "MPI_Wait");
    } else {
        call("MPI_Neighbor_alltoallw", [&] {
            return MPI_Neighbor_alltoallw(MPI_BOTTOM, counts.data(), from.data(), types.data(),
                                          MPI_BOTTOM, counts.data(), to.data(), types.data(),
                                          graph);
        });
    }
    for (std::size_t i = 0; i < degree; ++i) {
        const int source = (rank - shifts[i] + ranks) % ranks;
        require(targets[i]->read() == message(source, rank, i, length), "neighbours: wrong bytes");
    }
}

inline MPI_Comm make_graph(const std::vector<int>& shifts) {
    std::vector<int> sources, destinations;
    for (const int shift : shifts) {
        sources.push_back((rank - shift + ranks) % ranks);
        destinations.push_back((rank + shift) % ranks);
    }
    const auto degree = static_cast<int>(shifts.size());
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources.data(), MPI_UNWEIGHTED, degree,
                                   destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
    return graph;
}

/// Those of a host need no copy, and must not overtake those of a device that are before them.
inline void several_to_one() {
    const std::vector<int> shifts = {2, 2, 2, 2};
    MPI_Comm graph = make_graph(shifts);
    neighbors(Kind::device, false, graph, shifts, 50000);
    MPI_Comm_free(&graph);
}

/// A row of ranks, whose ends have a neighbour that does not exist: its block stays as it is.
inline void row_of_ranks(const Form& form) {
    constexpr int length = 5;
    constexpr std::size_t both = 10;
    const int is_ring = 0;
    MPI_Comm row = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &is_ring, 0, &row);
    MPI_Comm_set_errhandler(row, MPI_ERRORS_RETURN);
    const Array source(form.from, length);
    const Array target(form.to, both);
    source.write(message(rank, 0, 0, length));
    target.write(std::vector<int>(both, -1));
    if (form.is_nonblocking) {
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_SUCCESS;
        call("MPI_Ineighbor_allgather", [&] {
            return code = MPI_Ineighbor_allgather(source.data(), length, MPI_INT, target.data(),
                                                  length, MPI_INT, row, &request);
        });
        finish(request, code, "MPI_Wait");
    } else {
        call("MPI_Neighbor_allgather", [&] {
            return MPI_Neighbor_allgather(source.data(), length, MPI_INT, target.data(), length,
                                          MPI_INT, row);
        });
    }
    std::vector<int> expected;
    for (const int peer : {rank - 1, rank + 1}) {
        const bool is_there = peer >= 0 && peer < ranks;
        const std::vector<int> block =
            is_there ? message(peer, 0, 0, length) : std::vector<int>(length, -1);
        expected.insert(expected.end(), block.begin(), block.end());
    }
    require(target.read() == expected, "a row of ranks: wrong bytes");
    MPI_Comm_free(&row);
}
