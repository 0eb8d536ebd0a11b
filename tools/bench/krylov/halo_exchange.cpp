#include "halo_exchange.hpp"

#include "tools/bench/mpi_forms.hpp"

namespace bench::krylov {

HaloExchange::HaloExchange(MPI_Comm comm, const std::array<int, 3>& grid,
                           const std::vector<HaloMessage>& messages)
    : comm_(comm), last_(static_cast<int>(messages.size()) - 1) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    for (int number = 0; number <= last_; ++number) {
        const HaloMessage& message = messages[static_cast<std::size_t>(number)];
        const int neighbour = grid_neighbour(rank, grid, message.direction, false);
        if (neighbour < 0) continue;
        const std::vector<double> values(static_cast<std::size_t>(message.values));
        parts_.push_back({message.direction, neighbour, number, values, values});
    }
    requests_.resize(2 * parts_.size());
}

std::int64_t HaloExchange::bytes() const {
    std::size_t values = 0;
    for (const Part& part : parts_) values += part.sent.size();
    return static_cast<std::int64_t>(values * sizeof(double));
}

void HaloExchange::begin() {
    MPI_Request* request = requests_.data();
    for (Part& part : parts_) {
        // Sent in the opposite direction.
        check(MPI_Irecv(part.received.data(), static_cast<int>(part.received.size()), MPI_DOUBLE,
                        part.neighbour, last_ - part.number, comm_, request++),
              "MPI_Irecv");
    }
    for (const Part& part : parts_) {
        check(MPI_Isend(part.sent.data(), static_cast<int>(part.sent.size()), MPI_DOUBLE,
                        part.neighbour, part.number, comm_, request++),
              "MPI_Isend");
    }
}

void HaloExchange::finish() {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
}

} // namespace bench::krylov
