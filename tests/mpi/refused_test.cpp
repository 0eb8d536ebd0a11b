// refused_test
//
// One rank alone makes a collective call with a wrong argument, which MPI refuses, and then the
// right one: ranks must go on counting alike what they have in common. A call that fails after it
// has taken part counts like the others'. Run with NODEAWARE_STRATEGY=p2p:gathered.

#include "tests/mpi/harness.hpp"

#include <vector>

namespace nodeaware::test {

namespace {

class Refused {
  public:
    explicit Refused(Harness& harness) : harness_(harness) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    ~Refused() { MPI_Comm_free(&comm_); }
    Refused(const Refused&) = delete;
    Refused& operator=(const Refused&) = delete;

    /// Messages that are worth learning, and a meeting after them. Now and then rank `number` of
    /// the `number`-th time calls something wrong first.
    void work(int iterations) {
        for (int iteration = 0; iteration < iterations; ++iteration) {
            exchange(iteration);
            if (harness_.rank() == iteration % harness_.size()) { call_wrongly(iteration); }
            meet(iteration);
        }
    }

    /// The first nonblocking operation of a communicator has to wait for a meeting.
    void begin_wrongly() {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(comm_, &comm);
        std::vector<int> sent(static_cast<size_t>(harness_.size()), harness_.rank());
        std::vector<int> received(sent.size());
        MPI_Request request = MPI_REQUEST_NULL;
        if (harness_.rank() == harness_.size() - 1) {
            expect_class(MPI_Ialltoall(sent.data(), -1, MPI_INT, received.data(), 1, MPI_INT, comm,
                                       &request),
                         MPI_ERR_COUNT, "MPI_Ialltoall");
        }
        for (int time = 0; time < 3; ++time) {
            MPI_Barrier(comm);
            received.assign(sent.size(), -1);
            MPI_Ialltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int peer = 0; peer < harness_.size(); ++peer) {
                harness_.expect(received[static_cast<size_t>(peer)] == peer, "a wrong block came");
            }
            int one = 1;
            int sum = 0;
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            harness_.expect(sum == harness_.size(), "a wrong sum after MPI_Ialltoall");
        }
        MPI_Comm_free(&comm);
    }

    /// The last rank asks for less than comes, and has nobody to pass it on to.
    void truncate() {
        int values[2] = {1, 2};
        const bool is_last = harness_.rank() == harness_.size() - 1;
        const int result = MPI_Bcast(values, is_last ? 1 : 2, MPI_INT, 0, comm_);
        if (is_last) { expect_class(result, MPI_ERR_TRUNCATE, "MPI_Bcast of too much"); }
    }

  private:
    void expect_class(int result, int expected, const std::string& what) {
        int error_class = MPI_SUCCESS;
        MPI_Error_class(result, &error_class);
        harness_.expect(error_class == expected,
                        what + " returns class " + std::to_string(error_class));
    }

    void exchange(int iteration) {
        const int size = harness_.size();
        std::vector<int> sent(static_cast<size_t>(size), iteration * 100 + harness_.rank());
        std::vector<int> received(sent.size(), -1);
        std::vector<MPI_Request> requests;
        for (int peer = 0; peer < size; ++peer) {
            const auto i = static_cast<size_t>(peer);
            MPI_Irecv(&received[i], 1, MPI_INT, peer, 1, comm_, &requests.emplace_back());
            MPI_Isend(&sent[i], 1, MPI_INT, peer, 1, comm_, &requests.emplace_back());
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        for (int peer = 0; peer < size; ++peer) {
            harness_.expect(received[static_cast<size_t>(peer)] == iteration * 100 + peer,
                            "a wrong message came");
        }
    }

    void call_wrongly(int iteration) {
        int value = 0;
        int other = 0;
        switch (iteration % 3) {
        case 0:
            expect_class(MPI_Bcast(&value, -1, MPI_INT, 0, comm_), MPI_ERR_COUNT, "MPI_Bcast");
            break;
        case 1:
            expect_class(MPI_Allreduce(&value, &other, 1, MPI_INT, MPI_OP_NULL, comm_), MPI_ERR_OP,
                         "MPI_Allreduce");
            break;
        default:
            expect_class(MPI_Reduce(&value, &other, 1, MPI_INT, MPI_SUM, harness_.size(), comm_),
                         MPI_ERR_ROOT, "MPI_Reduce");
        }
    }

    void meet(int iteration) {
        int value = harness_.rank() == 0 ? iteration : -1;
        MPI_Bcast(&value, 1, MPI_INT, 0, comm_);
        harness_.expect(value == iteration, "a wrong value");
        int sum = 0;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm_);
        harness_.expect(sum == iteration * harness_.size(), "a wrong sum");
    }

    Harness& harness_;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    nodeaware::test::Harness harness(&argc, &argv);
    {
        nodeaware::test::Refused refused(harness);
        refused.begin_wrongly();
        refused.work(30);
        refused.truncate();
        refused.work(30);
    }
    return harness.finish();
}
