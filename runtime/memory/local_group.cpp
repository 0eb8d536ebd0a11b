#include "runtime/memory/local_group.hpp"

#include "runtime/mpi/tags.hpp"

namespace nodeaware {

void LocalGroup::broadcast(void* bytes, size_t size) const {
    const int count = static_cast<int>(size);
    if (!is_leader()) {
        MPI_CALL(Recv, bytes, count, MPI_BYTE, ranks_.front(), tags::setup, comm_,
                 MPI_STATUS_IGNORE);
        return;
    }
    for (size_t i = 1; i < ranks_.size(); ++i) {
        MPI_CALL(Send, bytes, count, MPI_BYTE, ranks_[i], tags::setup, comm_);
    }
}

bool LocalGroup::all(bool mine) const {
    int answer = mine ? 1 : 0;
    if (is_leader()) {
        for (size_t i = 1; i < ranks_.size(); ++i) {
            int other = 0;
            MPI_CALL(Recv, &other, 1, MPI_INT, ranks_[i], tags::setup, comm_, MPI_STATUS_IGNORE);
            answer = answer != 0 && other != 0 ? 1 : 0;
        }
    } else {
        MPI_CALL(Send, &answer, 1, MPI_INT, ranks_.front(), tags::setup, comm_);
    }
    broadcast(&answer, sizeof answer);
    return answer != 0;
}

} // namespace nodeaware
