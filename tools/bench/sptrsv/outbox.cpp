#include "outbox.hpp"

#include "tools/bench/mpi_forms.hpp"
#include "tools/bench/program.hpp"

#include <algorithm>

namespace bench::sptrsv {

Outbox::Outbox(const Delays& delays, const nodeaware::Topology& topology, MPI_Comm comm)
    : delays_(delays), topology_(topology), comm_(comm) {
    check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    random_.seed(delays.seed * 7919 + static_cast<std::uint64_t>(rank_));
}

void Outbox::send(int to, int tag, const std::vector<double>& data) {
    if (delays_.most <= 0) {
        send_now({0, to, tag, &data});
        return;
    }
    const double part = std::uniform_real_distribution<double>(0, 1)(random_);
    late_.push_back({now() + part * delays_.most, to, tag, &data});
}

void Outbox::send_now(const Late& message) {
    ++sent_.all;
    if (topology_.node_of(message.to) != topology_.node_of(rank_)) ++sent_.between_nodes;
    requests_.push_back(MPI_REQUEST_NULL);
    check(MPI_Isend(message.data->data(), static_cast<int>(message.data->size()), MPI_DOUBLE,
                    message.to, message.tag, comm_, &requests_.back()),
          "MPI_Isend");
}

void Outbox::progress() {
    const double time = now();
    const auto is_due = [&](const Late& message) { return message.due <= time; };
    for (const Late& message : late_) {
        if (is_due(message)) send_now(message);
    }
    late_.erase(std::remove_if(late_.begin(), late_.end(), is_due), late_.end());
}

void Outbox::flush() {
    for (; has_late(); progress()) {
        const auto first = std::min_element(
            late_.begin(), late_.end(), [](const Late& a, const Late& b) { return a.due < b.due; });
        sleep_until(first->due);
    }
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
    requests_.clear();
}

} // namespace bench::sptrsv
