// Sends blocks of which trace_test knows which are equal: of each exchange the blocks have another
// size. Memory behind the buffers, and places of empty blocks, must not be touched.

#include "tests/mpi/harness.hpp"
#include "tests/mpi/page.hpp"

#include <climits>

#include <array>
#include <vector>

namespace {

using nodeaware::test::Harness;
using nodeaware::test::Page;

/// What is sent to rank i in the call-th call.
int of_pairs(int i, int /*call*/) { return i / 2; }
int of_each(int i, int /*call*/) { return i; }
int equal_at_first(int i, int call) { return call == 1 ? 0 : i; }
int equal(int /*i*/, int call) { return call; }

class Program {
  public:
    Program(int* argc, char*** argv)
        : harness_(argc, argv), size_(harness_.size()), counts_(ranks()), places_(ranks()) {}

    template <class Value> void alltoallv(int count, Value value) {
        place(count, size_);
        std::vector<int> sent(ranks() * size_t(count));
        std::vector<int> received(sent.size());
        for (int call = 1; call <= 5; ++call) {
            fill(sent.data(), count, size_, call, value);
            MPI_Alltoallv(sent.data(), counts_.data(), places_.data(), MPI_INT, received.data(),
                          counts_.data(), places_.data(), MPI_INT, MPI_COMM_WORLD);
        }
    }

    void alltoall(int count, bool is_blocking) {
        const Page page(ranks() * size_t(count));
        std::vector<int> received(ranks() * size_t(count));
        MPI_Request request = MPI_REQUEST_NULL;
        for (int call = 1; call <= 5; ++call) {
            fill(page.first(), count, size_, call, of_pairs);
            if (is_blocking) {
                MPI_Alltoall(page.first(), count, MPI_INT, received.data(), count, MPI_INT,
                             MPI_COMM_WORLD);
            } else {
                MPI_Ialltoall(page.first(), count, MPI_INT, received.data(), count, MPI_INT,
                              MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
    }

    void in_place(int count) {
        std::vector<int> both(ranks() * size_t(count));
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both.data(), count, MPI_INT,
                     MPI_COMM_WORLD);
    }

    /// Only even ranks get something.
    void with_empty_blocks(int count) {
        const Page page(3 * size_t(count));
        fill(page.first(), count, 3, 1, equal);
        std::vector<int> received(ranks() * size_t(count));
        std::vector<int> from(ranks(), harness_.rank() % 2 == 0 ? count : 0);
        std::vector<int> places(ranks());
        for (int i = 0; i < size_; ++i) {
            counts_[size_t(i)] = i % 2 == 0 ? count : 0;
            places_[size_t(i)] = i % 2 == 0 ? i / 2 * count : INT_MAX - i;
            places[size_t(i)] = i * count;
        }
        MPI_Alltoallv(page.first(), counts_.data(), places_.data(), MPI_INT, received.data(),
                      from.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
    }

    /// Addresses are in the datatypes alone.
    void from_bottom(int count) {
        std::vector<int> sent(ranks() * size_t(count), 7);
        std::vector<int> received(sent.size());
        std::vector<MPI_Datatype> types(ranks());
        std::vector<MPI_Datatype> ints(ranks(), MPI_INT);
        std::vector<int> from(ranks(), count);
        for (size_t i = 0; i < ranks(); ++i) {
            MPI_Aint address = 0;
            MPI_Get_address(&sent[i * size_t(count)], &address);
            MPI_Type_create_hindexed(1, &count, &address, MPI_INT, &types[i]);
            MPI_Type_commit(&types[i]);
            counts_[i] = 1;
            places_[i] = 0;
        }
        std::vector<int> to(ranks());
        for (size_t i = 0; i < ranks(); ++i) { to[i] = int(i * size_t(count) * sizeof(int)); }
        MPI_Alltoallw(MPI_BOTTOM, counts_.data(), places_.data(), types.data(), received.data(),
                      from.data(), to.data(), ints.data(), MPI_COMM_WORLD);
        for (MPI_Datatype& type : types) { MPI_Type_free(&type); }
    }

    /// What lies between the numbers is nobody's.
    void with_gaps(int count) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(MPI_INT, 0, 4 * sizeof(int), &type);
        MPI_Type_commit(&type);
        std::vector<int> sent(4 * ranks() * size_t(count));
        std::vector<int> received(ranks() * size_t(count));
        MPI_Alltoall(sent.data(), count, type, received.data(), count, MPI_INT, MPI_COMM_WORLD);
        MPI_Type_free(&type);
    }

    /// A ring; or a line, whose ends have one neighbour that is none.
    void with_neighbors(int count, bool is_ring, bool is_blocking) {
        const int periodic = is_ring ? 1 : 0;
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size_, &periodic, 0, &comm);
        const Page page(2 * size_t(count));
        std::vector<int> received(2 * size_t(count));
        fill(page.first(), count, 2, 1, equal);
        const bool is_first = harness_.rank() == 0 && !is_ring;
        const bool is_last = harness_.rank() == size_ - 1 && !is_ring;
        // Before where the call says that the buffer is, or far behind it.
        const std::array<int, 2> counts = {count, count};
        const std::array<int, 2> places = {is_first ? INT_MAX : -count,
                                           is_last ? INT_MAX : -2 * count};
        const std::array<int, 2> to = {0, count};
        int* const end = page.first() + 2 * static_cast<ptrdiff_t>(count);
        MPI_Request request = MPI_REQUEST_NULL;
        for (int call = 1; call <= 2; ++call) {
            if (is_blocking) {
                MPI_Neighbor_alltoallv(end, counts.data(), places.data(), MPI_INT, received.data(),
                                       counts.data(), to.data(), MPI_INT, comm);
            } else {
                MPI_Ineighbor_alltoallv(end, counts.data(), places.data(), MPI_INT, received.data(),
                                        counts.data(), to.data(), MPI_INT, comm, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
        MPI_Neighbor_alltoall(page.first(), count, MPI_INT, received.data(), count, MPI_INT, comm);
        MPI_Comm_free(&comm);
    }

    int finish() { return harness_.finish(); }

  private:
    size_t ranks() const { return static_cast<size_t>(size_); }

    void place(int count, int blocks) {
        for (int i = 0; i < blocks; ++i) {
            counts_[size_t(i)] = count;
            places_[size_t(i)] = i * count;
        }
    }
    template <class Value>
    static void fill(int* sent, int count, int blocks, int call, Value value) {
        for (int i = 0; i < blocks * count; ++i) { sent[i] = value(i / count, call); }
    }

    Harness harness_;
    int size_;
    std::vector<int> counts_;
    std::vector<int> places_;
};

} // namespace

int main(int argc, char** argv) {
    Program program(&argc, &argv);
    program.alltoallv(10, of_pairs);
    program.alltoallv(11, equal_at_first);
    program.alltoallv(12, of_each);
    program.alltoallv(5000, equal); // of which only parts are read
    program.alltoall(13, true);
    program.alltoall(14, false);
    program.in_place(15);
    program.with_empty_blocks(16);
    program.from_bottom(17);
    program.with_gaps(18);
    program.with_neighbors(19, true, true);
    program.with_neighbors(20, false, true);
    program.with_neighbors(21, false, false);
    return program.finish();
}
