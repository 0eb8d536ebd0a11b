// message_threads_test exchange ROUNDS | waiting | pool ROUNDS
//
// Threads of each rank that send and receive at the same time, each with a communicator of its own
// and all with one that they share, while another thread makes collective calls. And threads that
// wait for what comes only once another thread of their rank has sent something. And threads that
// share what comes from one rank with one tag, while that begins to be moved by the library.

#include "tests/mpi/harness.hpp"
#include "tests/mpi/message_threads.hpp"

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr int threads = 3;

/// What goes on beside messages.
int collective_calls(MPI_Comm comm, int rounds) {
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    const auto ranks = static_cast<size_t>(size);
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<int> sent(ranks);
        std::vector<int> received(ranks, -1);
        for (int peer = 0; peer < size; ++peer) {
            sent[static_cast<size_t>(peer)] = round + 100 * rank + peer;
        }
        if (round % 2 == 0) {
            MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm);
        } else {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Ialltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (int peer = 0; peer < size; ++peer) {
            if (received[static_cast<size_t>(peer)] != round + 100 * peer + rank) { ++wrong; }
        }
        int sum = 0;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (sum != size * (size - 1) / 2) { ++wrong; }
        if (round % 16 == 5) { // messages on one that comes and goes
            MPI_Comm copy = MPI_COMM_NULL;
            MPI_Comm_dup(comm, &copy);
            MessageRounds messages(copy, 7, 3);
            for (int i = 0; i < 4; ++i) { messages.fixed(); }
            wrong += messages.wrong();
            MPI_Comm_free(&copy);
        }
        MPI_Barrier(comm);
    }
    return wrong;
}

void exchange(Harness& harness, int rounds) {
    std::vector<MPI_Comm> own(threads + 1, MPI_COMM_NULL);
    for (MPI_Comm& comm : own) { MPI_Comm_dup(MPI_COMM_WORLD, &comm); }
    MPI_Comm shared = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -harness.rank(), &shared);
    std::atomic<int> wrong = 0;
    std::vector<std::unique_ptr<MessageRounds>> alone;
    std::vector<std::unique_ptr<MessageRounds>> together;
    for (int i = 0; i < threads; ++i) {
        alone.push_back(std::make_unique<MessageRounds>(own[static_cast<size_t>(i)], i, 0));
        together.push_back(std::make_unique<MessageRounds>(shared, 10 + i, 100 * (i + 1)));
    }
    for (int round = 0; round < 12; ++round) { // the same again and again, so the library learns it
        for (auto& messages : alone) { messages->fixed(); }
        for (auto& messages : together) { messages->fixed(); }
    }
    std::vector<std::thread> running;
    running.reserve(threads + 1);
    for (size_t i = 0; i < threads; ++i) {
        running.emplace_back([&, i] {
            for (int round = 0; round < rounds; ++round) {
                alone[i]->any();
                together[i]->any();
            }
            wrong += alone[i]->wrong() + together[i]->wrong();
            MPI_Comm_free(&own[i]);
        });
    }
    running.emplace_back([&] { wrong += collective_calls(own.back(), rounds / 4); });
    for (std::thread& thread : running) { thread.join(); }
    harness.expect(wrong == 0, std::to_string(wrong) + " wrong messages or results");
    MPI_Comm_free(&own.back());
    MPI_Comm_free(&shared);
}

/// A call that waits until the partner has done something.
struct Waiting {
    std::string_view name;
    std::function<void()> waits;    ///< in a thread of its own
    std::function<void()> is_ended; ///< what the partner does then
};

class Pairs {
  public:
    explicit Pairs(Harness& harness)
        : harness_(harness), half_(harness.size() / 2),
          partner_((harness.rank() + half_) % (2 * half_)), large_(400000), into_(400000) {
        for (MPI_Comm* comm : {&waiting_, &going_, &anybody_}) {
            MPI_Comm_dup(MPI_COMM_WORLD, comm);
        }
        const bool is_odd_one = harness.rank() == 2 * half_;
        const int pair = is_odd_one ? half_ : harness.rank() % half_;
        MPI_Comm_split(MPI_COMM_WORLD, pair, harness.rank(), &pair_);
        for (MPI_Comm* comm : {&waiting_, &going_, &anybody_}) {
            MessageRounds messages(*comm, 1, 500);
            for (int i = 0; i < 12; ++i) { messages.fixed(); }
            harness.expect(messages.wrong() == 0, "messages at the beginning");
        }
    }
    ~Pairs() {
        for (MPI_Comm* comm : {&waiting_, &going_, &anybody_, &pair_}) { MPI_Comm_free(comm); }
    }
    Pairs(const Pairs&) = delete;
    Pairs& operator=(const Pairs&) = delete;

    void run() {
        run_pairs();
        harness_.expect(collective_calls(waiting_, 3) == 0, "collective calls at the end");
    }

  private:
    void run_pairs() {
        if (harness_.rank() == 2 * half_) { return; } // the odd one
        for (int round = 0; round < 10; ++round) {
            for (const Waiting& waiting : all()) { run(waiting); }
            meet("MPI_Barrier", [&] { MPI_Barrier(pair_); });
            meet("MPI_Comm_dup", [&] {
                MPI_Comm copy = MPI_COMM_NULL;
                MPI_Comm_dup(pair_, &copy);
                MPI_Comm_free(&copy);
            });
        }
    }

    void run(const Waiting& waiting) {
        std::thread thread(waiting.waits);
        go(waiting.name);
        waiting.is_ended();
        thread.join();
        harness_.expect(got_ == partner_ + 1000, std::string(waiting.name) + ": a wrong message");
        got_ = partner_ + 1000;
    }

    /// Collective over a pair; the second comes once the first has sent it something.
    void meet(std::string_view name, const std::function<void()>& call) {
        if (harness_.rank() < partner_) {
            std::thread thread(call);
            go(name);
            thread.join();
        } else {
            go(name);
            call();
        }
    }

    /// Tells the partner to go on, once the other thread surely waits, and is told so.
    void go(std::string_view name) {
        usleep(2000);
        int told = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&told, 1, MPI_INT, partner_, 2, going_, &request);
        const int rank = harness_.rank();
        MPI_Send(&rank, 1, MPI_INT, partner_, 2, going_);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        harness_.expect(told == partner_, std::string(name) + ": another told to go on");
    }

    void receive(MPI_Comm comm, int source, int tag) {
        MPI_Recv(&got_, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE);
    }
    MPI_Request begun() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&got_, 1, MPI_INT, partner_, 1, waiting_, &request);
        return request;
    }
    void send(MPI_Comm comm) {
        const int value = harness_.rank() + 1000;
        MPI_Send(&value, 1, MPI_INT, partner_, 1, comm);
    }
    int large() const { return static_cast<int>(large_.size()); }

    std::vector<Waiting> all();

    Harness& harness_;
    int half_;    ///< of all ranks
    int partner_; ///< that is as far away
    std::vector<char> large_, into_;
    int got_ = partner_ + 1000;
    MPI_Comm waiting_ = MPI_COMM_NULL; ///< whose messages are waited for
    MPI_Comm going_ = MPI_COMM_NULL;
    MPI_Comm anybody_ = MPI_COMM_NULL; ///< for receives with wildcards
    MPI_Comm pair_ = MPI_COMM_NULL;
};

std::vector<Waiting> Pairs::all() {
    const auto sends = [this] { send(waiting_); };
    const auto takes = [this] {
        MPI_Recv(into_.data(), large(), MPI_CHAR, partner_, 3, waiting_, MPI_STATUS_IGNORE);
    };
    return {
        {"MPI_Recv", [this] { receive(waiting_, partner_, 1); }, sends},
        {"MPI_Recv from any", [this] { receive(anybody_, MPI_ANY_SOURCE, MPI_ANY_TAG); },
         [this] { send(anybody_); }},
        {"MPI_Wait",
         [this] {
             MPI_Request request = begun();
             MPI_Wait(&request, MPI_STATUS_IGNORE);
         },
         sends},
        {"MPI_Waitall",
         [this] {
             MPI_Request request = begun();
             MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
         },
         sends},
        {"MPI_Waitany",
         [this] {
             MPI_Request request = begun();
             int index = 0;
             MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
         },
         sends},
        {"MPI_Waitsome",
         [this] {
             MPI_Request request = begun();
             int done = 0;
             int index = 0;
             MPI_Waitsome(1, &request, &done, &index, MPI_STATUSES_IGNORE);
         },
         sends},
        {"MPI_Probe",
         [this] {
             MPI_Probe(partner_, 1, waiting_, MPI_STATUS_IGNORE);
             receive(waiting_, partner_, 1);
         },
         sends},
        {"MPI_Mprobe",
         [this] {
             MPI_Message message = MPI_MESSAGE_NULL;
             MPI_Mprobe(partner_, 1, waiting_, &message, MPI_STATUS_IGNORE);
             MPI_Mrecv(&got_, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
         },
         sends},
        {"MPI_Test",
         [this] {
             MPI_Request request = begun();
             for (int flag = 0; flag == 0;) { MPI_Test(&request, &flag, MPI_STATUS_IGNORE); }
         },
         sends},
        {"MPI_Ssend", [this] { MPI_Ssend(large_.data(), 1, MPI_CHAR, partner_, 3, waiting_); },
         takes},
        {"MPI_Send", [this] { MPI_Send(large_.data(), large(), MPI_CHAR, partner_, 3, waiting_); },
         takes},
        {"MPI_Sendrecv",
         [this] {
             MPI_Sendrecv(large_.data(), large(), MPI_CHAR, partner_, 3, &got_, 1, MPI_INT,
                          partner_, 1, waiting_, MPI_STATUS_IGNORE);
         },
         [this, takes] {
             send(waiting_);
             takes();
         }},
    };
}

/// The first half of the ranks sends, two threads for each sender of the others receive.
void share(Harness& harness, int rounds) {
    constexpr int each = 10; ///< messages of a sender that a thread receives
    const int half = harness.size() / 2;
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (harness.rank() < half) {
            for (int i = 0; i < 2 * each; ++i) {
                std::vector<MPI_Request> requests;
                for (int peer = half; peer < harness.size(); ++peer) {
                    MPI_Isend(&i, 1, MPI_INT, peer, 1, comm, &requests.emplace_back());
                }
                MPI_Waitall(static_cast<int>(requests.size()), requests.data(),
                            MPI_STATUSES_IGNORE);
                usleep(200);
            }
        } else {
            std::atomic<int> sum = 0;
            std::vector<std::thread> running;
            for (int i = 0; i < 2 * half; ++i) {
                running.emplace_back([&, source = i / 2] {
                    for (int k = 0; k < each; ++k) {
                        int got = 0;
                        MPI_Recv(&got, 1, MPI_INT, source, 1, comm, MPI_STATUS_IGNORE);
                        sum += got;
                    }
                });
            }
            for (std::thread& thread : running) { thread.join(); }
            harness.expect(sum == half * each * (2 * each - 1), "a message twice, or none");
        }
        MPI_Comm_free(&comm);
    }
    harness.expect(collective_calls(MPI_COMM_WORLD, 3) == 0, "collective calls at the end");
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv, MPI_THREAD_MULTIPLE);
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "exchange" && argc > 2) {
        exchange(harness, std::atoi(argv[2]));
    } else if (what == "pool" && argc > 2) {
        share(harness, std::atoi(argv[2]));
    } else if (what == "waiting") {
        Pairs(harness).run();
    } else {
        harness.expect(false, "message_threads_test exchange ROUNDS | waiting | pool ROUNDS");
    }
    return harness.finish();
}
