#include "runtime/collectives/sparse_plain.hpp"

#include "runtime/memory/elements.hpp"

#include <new>
#include <stdexcept>

namespace nodeaware::sparse {

namespace {

using Send = decltype(Mpi::Isend);
using BarrierFunction = int (*)(MPI_Comm, MPI_Request*);

/// The messages of a call on their way.
class Messages {
  public:
    Messages(MPI_Comm comm, int tag, Received& received)
        : comm_(comm), tag_(tag), received_(received) {}

    /// What cannot be sent is an error of this rank, and the others miss it. `begun(peer)` is told
    /// of what can.
    template <class Begun> void send(std::span<const Outgoing> outgoing, Send begin, Begun begun) {
        for (const Outgoing& message : outgoing) {
            guarded([&] {
                const Elements elements(message.bytes);
                requests_.push_back(MPI_REQUEST_NULL);
                const int code = begin(message.data, elements.count(), elements.type(),
                                       message.peer, tag_, comm_, &requests_.back());
                if (code != MPI_SUCCESS) {
                    requests_.back() = MPI_REQUEST_NULL;
                    throw MpiError(code, "MPI_Isend");
                }
                begun(message.peer);
            });
        }
    }

    /// A message that has come, whoever has sent it; false: there is none.
    bool receive_one() {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        int found = 0;
        MPI_CALL(Improbe, MPI_ANY_SOURCE, tag_, comm_, &found, &message, &status);
        if (found == 0) { return false; }
        MPI_Count bytes = 0;
        MPI_CALL(Get_elements_x, &status, MPI_BYTE, &bytes);
        take(message, status.MPI_SOURCE, static_cast<uint64_t>(bytes));
        return true;
    }

    bool are_sent() {
        int all = 0;
        MPI_CALL(Testall, static_cast<int>(requests_.size()), requests_.data(), &all,
                 MPI_STATUSES_IGNORE);
        return all != 0;
    }

  private:
    template <class Work> void guarded(Work work) {
        try {
            work();
        } catch (const MpiError& error) {
            received_.fail(error.code);
        } catch (const std::bad_alloc&) { received_.fail(MPI_ERR_NO_MEM); }
    }

    /// Without memory for it, the message is taken all the same, for its sender waits.
    void take(MPI_Message message, int source, uint64_t bytes) {
        std::byte* to = nullptr;
        guarded([&] {
            to = received_.add_memory(bytes);
            received_.messages.push_back({source, to, bytes});
        });
        const Elements elements(to == nullptr ? 0 : bytes);
        const int code =
            mpi.Mrecv(to, elements.count(), elements.type(), &message, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) { received_.fail(code); }
    }

    MPI_Comm comm_;
    int tag_;
    Received& received_;
    std::vector<MPI_Request> requests_;
};

} // namespace

void personalized(MPI_Comm comm, int tag, std::span<const Outgoing> outgoing, std::span<int> counts,
                  Received& received) {
    int ranks = 0;
    int rank = 0;
    MPI_CALL(Comm_size, comm, &ranks);
    MPI_CALL(Comm_rank, comm, &rank);
    const std::span sums = counts.first(static_cast<size_t>(ranks));
    std::fill(sums.begin(), sums.end(), 0);
    Messages messages(comm, tag, received);
    messages.send(outgoing, mpi.Isend, [&](int peer) { ++sums[static_cast<size_t>(peer)]; });
    before_blocking();
    MPI_CALL(Allreduce, MPI_IN_PLACE, sums.data(), ranks, MPI_INT, MPI_SUM, comm);
    int missing = sums[static_cast<size_t>(rank)];
    wait_for([&] {
        while (missing > 0 && messages.receive_one()) { --missing; }
        return missing == 0 && messages.are_sent();
    });
    received.sort();
}

void nonblocking(MPI_Comm comm, int tag, std::span<const Outgoing> outgoing, Received& received) {
    static const auto begin_barrier = reinterpret_cast<BarrierFunction>(find_mpi("MPI_Ibarrier"));
    if (begin_barrier == nullptr) { throw std::runtime_error("this MPI has no MPI_Ibarrier"); }
    Messages messages(comm, tag, received);
    messages.send(outgoing, mpi.Issend, [](int /*peer*/) {});
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool has_begun_barrier = false;
    wait_for([&] {
        while (messages.receive_one()) {}
        if (!has_begun_barrier) {
            if (!messages.are_sent()) { return false; }
            const int code = begin_barrier(comm, &barrier);
            if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Ibarrier"); }
            has_begun_barrier = true;
        }
        int is_over = 0;
        MPI_CALL(Test, &barrier, &is_over, MPI_STATUS_IGNORE);
        return is_over != 0;
    });
    received.sort();
}

} // namespace nodeaware::sparse
