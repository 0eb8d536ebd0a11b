#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace nodeaware::test {

/// What the calls use; all blocks have two integers, so that two ranks are neighbours twice.
struct Buffers {
    explicit Buffers(int size)
        : sent(static_cast<size_t>(4 * size)), received(sent), counts(sent.size(), 2), places(sent),
          types(sent.size(), MPI_INT), offsets(sent.size()) {
        for (size_t i = 0; i < places.size(); ++i) {
            places[i] = static_cast<int>(2 * i);
            offsets[i] = static_cast<MPI_Aint>(2 * i * sizeof(int));
        }
        byte_places = places;
        for (int& place : byte_places) { place *= static_cast<int>(sizeof(int)); }
        MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    }
    ~Buffers() { MPI_Type_free(&uncommitted); }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;

    std::vector<int> sent, received, counts, places, byte_places;
    std::vector<MPI_Datatype> types;
    std::vector<MPI_Aint> offsets;
    MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
};

/// A way to err: changes the arguments of a correct call.
struct Arguments {
    explicit Arguments(Buffers& buffers)
        : sendbuf(buffers.sent.data()), recvbuf(buffers.received.data()),
          sendcounts(buffers.counts), recvcounts(buffers.counts), sendtypes(buffers.types),
          recvtypes(buffers.types) {}
    const void* sendbuf;
    void* recvbuf;
    std::vector<int> sendcounts, recvcounts; ///< the first counts for operations with one
    std::vector<MPI_Datatype> sendtypes, recvtypes;
    bool lists = true; ///< false: NULL instead of lists
    bool same_lists = false;
};

#define EITHER(name, ...) (natively ? PMPI_##name(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

enum Operation {
    alltoall,
    alltoallv,
    alltoallw,
    n_alltoall,
    n_alltoallv,
    n_alltoallw,
    n_allgather,
    n_allgatherv,
    operations
};
constexpr const char* names[] = {"alltoall",           "alltoallv",          "alltoallw",
                                 "neighbor_alltoall",  "neighbor_alltoallv", "neighbor_alltoallw",
                                 "neighbor_allgather", "neighbor_allgatherv"};

class Call {
  public:
    Call(Operation operation, Buffers& buffers, Arguments& a)
        : operation_(operation), buffers_(buffers), a_(a),
          sendcounts_(a.lists ? a.sendcounts.data() : nullptr),
          recvcounts_(a.same_lists ? sendcounts_ : a.recvcounts.data()),
          sendtypes_(a.sendtypes.data()),
          recvtypes_(a.same_lists ? sendtypes_ : a.recvtypes.data()) {}

    int run(MPI_Comm comm, bool natively) const {
        const int* const places = buffers_.places.data();
        const int* const bytes = buffers_.byte_places.data();
        const MPI_Aint* const offsets = buffers_.offsets.data();
        switch (operation_) {
        case alltoall:
            return EITHER(Alltoall, a_.sendbuf, sendcounts_[0], sendtypes_[0], a_.recvbuf,
                          recvcounts_[0], recvtypes_[0], comm);
        case alltoallv:
            return EITHER(Alltoallv, a_.sendbuf, sendcounts_, places, sendtypes_[0], a_.recvbuf,
                          recvcounts_, places, recvtypes_[0], comm);
        case alltoallw:
            return EITHER(Alltoallw, a_.sendbuf, sendcounts_, bytes, sendtypes_, a_.recvbuf,
                          recvcounts_, bytes, recvtypes_, comm);
        case n_alltoall:
            return EITHER(Neighbor_alltoall, a_.sendbuf, sendcounts_[0], sendtypes_[0], a_.recvbuf,
                          recvcounts_[0], recvtypes_[0], comm);
        case n_alltoallv:
            return EITHER(Neighbor_alltoallv, a_.sendbuf, sendcounts_, places, sendtypes_[0],
                          a_.recvbuf, recvcounts_, places, recvtypes_[0], comm);
        case n_alltoallw:
            return EITHER(Neighbor_alltoallw, a_.sendbuf, sendcounts_, offsets, sendtypes_,
                          a_.recvbuf, recvcounts_, offsets, recvtypes_, comm);
        case n_allgather:
            return EITHER(Neighbor_allgather, a_.sendbuf, sendcounts_[0], sendtypes_[0], a_.recvbuf,
                          recvcounts_[0], recvtypes_[0], comm);
        default:
            return EITHER(Neighbor_allgatherv, a_.sendbuf, sendcounts_[0], sendtypes_[0],
                          a_.recvbuf, recvcounts_, places, recvtypes_[0], comm);
        }
    }

    /// The nonblocking form.
    int begin(MPI_Comm comm, bool natively, MPI_Request* request) const {
        const int* const places = buffers_.places.data();
        const int* const bytes = buffers_.byte_places.data();
        const MPI_Aint* const offsets = buffers_.offsets.data();
        switch (operation_) {
        case alltoall:
            return EITHER(Ialltoall, a_.sendbuf, sendcounts_[0], sendtypes_[0], a_.recvbuf,
                          recvcounts_[0], recvtypes_[0], comm, request);
        case alltoallv:
            return EITHER(Ialltoallv, a_.sendbuf, sendcounts_, places, sendtypes_[0], a_.recvbuf,
                          recvcounts_, places, recvtypes_[0], comm, request);
        case alltoallw:
            return EITHER(Ialltoallw, a_.sendbuf, sendcounts_, bytes, sendtypes_, a_.recvbuf,
                          recvcounts_, bytes, recvtypes_, comm, request);
        case n_alltoall:
            return EITHER(Ineighbor_alltoall, a_.sendbuf, sendcounts_[0], sendtypes_[0], a_.recvbuf,
                          recvcounts_[0], recvtypes_[0], comm, request);
        case n_alltoallv:
            return EITHER(Ineighbor_alltoallv, a_.sendbuf, sendcounts_, places, sendtypes_[0],
                          a_.recvbuf, recvcounts_, places, recvtypes_[0], comm, request);
        case n_alltoallw:
            return EITHER(Ineighbor_alltoallw, a_.sendbuf, sendcounts_, offsets, sendtypes_,
                          a_.recvbuf, recvcounts_, offsets, recvtypes_, comm, request);
        case n_allgather:
            return EITHER(Ineighbor_allgather, a_.sendbuf, sendcounts_[0], sendtypes_[0],
                          a_.recvbuf, recvcounts_[0], recvtypes_[0], comm, request);
        default:
            return EITHER(Ineighbor_allgatherv, a_.sendbuf, sendcounts_[0], sendtypes_[0],
                          a_.recvbuf, recvcounts_, places, recvtypes_[0], comm, request);
        }
    }

  private:
    Operation operation_;
    Buffers& buffers_;
    Arguments& a_;
    const int* sendcounts_;
    const int* recvcounts_;
    const MPI_Datatype* sendtypes_;
    const MPI_Datatype* recvtypes_;
};

inline bool is_with_neighbors(Operation operation) { return operation >= n_alltoall; }
inline bool is_row(Operation operation) {
    return operation == alltoallv || operation == alltoallw || operation == n_alltoallv ||
           operation == n_alltoallw;
}
inline bool gathers(Operation operation) { return operation >= n_allgather; }

} // namespace nodeaware::test
