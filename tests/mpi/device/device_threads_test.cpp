// Threads that exchange at the same time, each on a communicator and with a device of its own, and
// end what another thread has begun. Every thread has streams and contexts of its own.

#include "tests/mpi/device/array.hpp"

#include <mpi.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int threads = 3;
constexpr int rounds = 12;

int rank = 0;
int ranks = 0;
std::atomic<int> wrong = 0;

void require(bool is_right, const char* what, int round) {
    if (is_right) { return; }
    ++wrong;
    std::printf("rank %d, round %d: %s\n", rank, round, what);
}

/// The blocks of one exchange: as many ints for all.
struct Exchange {
    Exchange(int thread, int round)
        : length(round % 3 == 2 ? 40000 : 5 + thread),
          source(kinds[static_cast<std::size_t>(thread + round) % kinds.size()], all()),
          target(kinds[static_cast<std::size_t>(thread * 2 + round + rank) % kinds.size()], all()) {
        std::vector<int> sent;
        for (int peer = 0; peer < ranks; ++peer) {
            for (int i = 0; i < length; ++i) {
                sent.push_back(value(thread, rank, peer, i + round));
                expected.push_back(value(thread, peer, rank, i + round));
            }
        }
        source.write(sent);
        target.write(std::vector<int>(sent.size(), -1));
    }
    static int value(int thread, int from, int to, int i) {
        return ((thread * ranks + from) * ranks + to) * 100000 + i;
    }
    std::size_t all() const {
        return static_cast<std::size_t>(length) * static_cast<std::size_t>(ranks);
    }

    int length;
    Array source;
    Array target;
    std::vector<int> expected;
    MPI_Request request = MPI_REQUEST_NULL;
};

/// A call of the library, with a context of the application's that stays current.
template <class Call> void call(int thread, int round, Call call) {
    void* const used = thread == 0 ? nullptr : contexts[static_cast<std::size_t>(thread % 2)];
    cuCtxSetCurrent(used);
    const StandInThread before = stand_in_thread();
    require(call() == MPI_SUCCESS, "a call fails", round);
    void* left = nullptr;
    cuCtxGetCurrent(&left);
    const StandInThread after = stand_in_thread();
    require(left == used && after.contexts == before.contexts, "another context is left", round);
    require(after.capture_mode == before.capture_mode, "another mode is left", round);
}

void work(int thread, MPI_Comm comm, std::vector<std::unique_ptr<Exchange>>& begun,
          std::barrier<>& all) {
    for (int round = 0; round < rounds; ++round) {
        Exchange own(thread, round);
        call(thread, round, [&] {
            return MPI_Alltoall(own.source.data(), own.length, MPI_INT, own.target.data(),
                                own.length, MPI_INT, comm);
        });
        require(own.target.read() == own.expected, "wrong bytes", round);
        auto& mine = begun[static_cast<std::size_t>(thread)];
        mine = std::make_unique<Exchange>(thread, round);
        call(thread, round, [&] {
            return MPI_Ialltoall(mine->source.data(), mine->length, MPI_INT, mine->target.data(),
                                 mine->length, MPI_INT, comm, &mine->request);
        });
        all.arrive_and_wait();
        auto& other = begun[static_cast<std::size_t>((thread + 1) % threads)];
        call(thread, round, [&] { return MPI_Wait(&other->request, MPI_STATUS_IGNORE); });
        require(other->target.read() == other->expected, "wrong bytes of another thread's", round);
        all.arrive_and_wait();
        mine.reset();
    }
}

} // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    use_devices();
    std::vector<MPI_Comm> comms(threads, MPI_COMM_NULL);
    for (MPI_Comm& comm : comms) { MPI_Comm_dup(MPI_COMM_WORLD, &comm); }
    std::vector<std::unique_ptr<Exchange>> begun(threads);
    std::barrier all(threads);
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
        running.emplace_back(
            [&, thread] { work(thread, comms[static_cast<std::size_t>(thread)], begun, all); });
    }
    for (std::thread& thread : running) { thread.join(); }
    for (MPI_Comm& comm : comms) { MPI_Comm_free(&comm); }
    const StandInCounts after = stand_in_counts();
    require(after.under_way == 0 && after.events == 0 && after.freed_too_early == 0,
            "something is left", rounds);
    int own = wrong;
    int sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == 0 ? 0 : 1;
}
