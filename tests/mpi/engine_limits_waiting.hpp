#pragma once

#include "tests/mpi/engine_limits.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sys/resource.h>
#include <vector>

namespace nodeaware::test {

/// Large messages that are waited for in other ways than by MPI_Send, to a receiver that sleeps
/// first: none piles up.
class Waiting {
  public:
    explicit Waiting(Program& program) : program_(program), data_(bytes) {}

    void by_sendrecv(int count, bool replaces, int tag) {
        compare(replaces ? "MPI_Sendrecv_replace" : "MPI_Sendrecv", count, tag, [&](bool ours) {
            const auto to = program_.last;
            if (replaces) {
                (ours ? MPI_Sendrecv_replace : PMPI_Sendrecv_replace)(
                    data_.data(), bytes, MPI_CHAR, to, tag, MPI_PROC_NULL, tag, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE);
            } else {
                int nothing = 0;
                (ours ? MPI_Sendrecv : PMPI_Sendrecv)(data_.data(), bytes, MPI_CHAR, to, tag,
                                                      &nothing, 1, MPI_INT, MPI_PROC_NULL, tag,
                                                      MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        });
    }

    /// The memory for buffered messages is detached after each.
    void by_detaching(int count, int tag) {
        std::vector<char> buffer(bytes + MPI_BSEND_OVERHEAD + 1000);
        compare("MPI_Buffer_detach", count, tag, [&](bool ours) {
            void* address = nullptr;
            int size = 0;
            MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
            (ours ? MPI_Bsend : PMPI_Bsend)(data_.data(), bytes, MPI_CHAR, program_.last, tag,
                                            MPI_COMM_WORLD);
            (ours ? MPI_Buffer_detach : PMPI_Buffer_detach)(static_cast<void*>(&address), &size);
        });
    }

    /// Its receiver has posted the receive, and is away in MPI.
    void to_a_receiver_that_is_away(int source, int tag) {
        std::vector<char> buffer(bytes + MPI_BSEND_OVERHEAD + 1000);
        MPI_Request request = MPI_REQUEST_NULL;
        if (program_.rank == program_.last) {
            std::fill(data_.begin(), data_.end(), 0);
            MPI_Irecv(data_.data(), bytes, MPI_CHAR, source, tag, MPI_COMM_WORLD, &request);
        } else if (program_.rank == 0) {
            void* address = nullptr;
            int size = 0;
            usleep(100000); // the other is there
            std::fill(data_.begin(), data_.end(), 1);
            MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
            MPI_Bsend(data_.data(), bytes, MPI_CHAR, program_.last, tag, MPI_COMM_WORLD);
            MPI_Buffer_detach(static_cast<void*>(&address), &size);
            std::fill(buffer.begin(), buffer.end(), 2);
        }
        MPI_Barrier(program_.side);
        if (program_.rank != program_.last) { return; }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        program_.harness.expect(std::count(data_.begin(), data_.end(), 1) == bytes,
                                "wrong bytes of a buffered message to who is away");
    }

    /// A send after many others that nobody receives yet, of the same rank or of another of its
    /// node; its receiver waits for it, in the library or away in MPI.
    void by_receive(int source, int with, int tag, int rank_of_others, bool is_away) {
        constexpr int others = 80;
        std::vector<MPI_Request> requests(others, MPI_REQUEST_NULL);
        const auto receive = [&](int from, int with_tag) {
            MPI_Irecv(data_.data(), bytes, MPI_CHAR, from, with_tag, MPI_COMM_WORLD,
                      requests.data());
        };
        if (program_.rank == program_.last) { receive(source, with); }
        if (program_.rank <= 1) { usleep(100000); } // the other is there
        for (int i = 0; i < others && program_.rank == rank_of_others; ++i) {
            MPI_Isend(data_.data(), bytes, MPI_CHAR, program_.last, tag + 1 + i, MPI_COMM_WORLD,
                      &requests[static_cast<size_t>(i)]);
        }
        if (program_.rank == 0) {
            if (rank_of_others != 0) { usleep(100000); }
            MPI_Send(data_.data(), bytes, MPI_CHAR, program_.last, tag, MPI_COMM_WORLD);
        }
        if (is_away) { MPI_Barrier(program_.side); }
        for (int i = 0; i < others && program_.rank == program_.last; ++i) {
            MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
            receive(rank_of_others, tag + 1 + i);
        }
        MPI_Waitall(others, requests.data(), MPI_STATUSES_IGNORE);
        MPI_Barrier(program_.side);
    }

    /// To very many receives with wildcards of a rank that is away, of a tag each.
    void to_many_receives(int count) {
        std::vector<std::vector<char>> received;
        std::vector<MPI_Request> requests(static_cast<size_t>(count), MPI_REQUEST_NULL);
        for (int i = 0; i < count && program_.rank == program_.last; ++i) {
            received.emplace_back(bytes);
            MPI_Irecv(received.back().data(), bytes, MPI_CHAR, MPI_ANY_SOURCE, 1 + i,
                      MPI_COMM_WORLD, &requests[static_cast<size_t>(i)]);
        }
        if (program_.rank == 0) { usleep(100000); } // the other is there
        for (int i = 0; i < count && program_.rank == 0; ++i) {
            std::fill(data_.begin(), data_.end(), static_cast<char>(i));
            MPI_Send(data_.data(), bytes, MPI_CHAR, program_.last, count - i, MPI_COMM_WORLD);
        }
        MPI_Barrier(program_.side);
        MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
        for (size_t i = 0; i < received.size(); ++i) {
            const auto value = static_cast<char>(received.size() - 1 - i);
            program_.harness.expect(std::count(received[i].begin(), received[i].end(), value) ==
                                        bytes,
                                    "wrong bytes in one of many receives");
        }
    }

  private:
    static constexpr int bytes = 1000000;

    template <class Send> void compare(const char* name, int count, int tag, Send send) {
        program_.compare(name, [&](bool ours) {
            for (int i = 0; i < count && program_.rank == 0; ++i) {
                std::fill(data_.begin(), data_.end(), static_cast<char>(i));
                send(ours);
            }
            bool right = true;
            for (int i = 0; i < count && program_.rank == program_.last; ++i) {
                if (i == 0) { usleep(500000); }
                receive(ours, data_.data(), bytes, MPI_CHAR, 0, tag);
                right =
                    right && std::count(data_.begin(), data_.end(), static_cast<char>(i)) == bytes;
            }
            program_.harness.expect(right, std::string("wrong bytes by ") + name);
        });
    }

    Program& program_;
    std::vector<char> data_;
};

inline void waiting(Program& program, int count) {
    constexpr int usual_tag = 1;
    constexpr int large_tag = 40000; ///< of messages that are always copied
    Waiting messages(program);
    for (const int tag : {usual_tag, large_tag}) {
        messages.by_sendrecv(count, false, tag);
        messages.by_sendrecv(count, true, tag);
        messages.by_detaching(count, tag);
        for (const int source : {0, MPI_ANY_SOURCE}) {
            for (const bool is_away : {false, true}) {
                messages.by_receive(source, tag, tag, 0, is_away);
                messages.by_receive(source, tag, tag, 1, is_away);
            }
            messages.to_a_receiver_that_is_away(source, tag);
        }
        messages.by_receive(0, MPI_ANY_TAG, tag, 1, true);
    }
    messages.to_many_receives(count / 2);
}

/// Where a process may not have much memory of its own (ulimit -d): once a rank is back from a
/// barrier, in which receives with wildcards have waited, it can have it.
inline void limited(Program& program, int count) {
    rlimit limit = {};
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, rlim_t{2500} << 20U);
    program.harness.expect(setrlimit(RLIMIT_DATA, &limit) == 0, "no limit is set");
    constexpr int other_tag = 9999;
    std::vector<char> larger(program.rank == 0 || program.rank == program.last ? 12000000 : 0);
    const auto size = static_cast<int>(larger.size());
    std::vector<int> values(static_cast<size_t>(count), -1);
    std::vector<MPI_Request> requests(values.size() + 1, MPI_REQUEST_NULL);
    for (int i = 0; i < count && program.rank == program.last; ++i) {
        MPI_Irecv(&values[static_cast<size_t>(i)], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                  &requests[static_cast<size_t>(i)]);
    }
    if (program.rank == 0) {
        std::fill(larger.begin(), larger.end(), 'x');
        MPI_Isend(larger.data(), size, MPI_CHAR, program.last, other_tag, MPI_COMM_WORLD,
                  &requests.back());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (program.rank == program.last) {
        MPI_Recv(larger.data(), size, MPI_CHAR, 0, other_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const bool is_right = std::count(larger.begin(), larger.end(), 'x') == size;
        program.harness.expect(is_right, "wrong bytes of a larger message");
        void* const memory = std::malloc(size_t{1500} << 20U);
        program.harness.expect(memory != nullptr, "no memory");
        std::free(memory);
    }
    for (int i = 0; i < count && program.rank == 0; ++i) {
        MPI_Send(&i, 1, MPI_INT, program.last, i, MPI_COMM_WORLD);
    }
    MPI_Waitall(count + 1, requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < count && program.rank == program.last; ++i) {
        program.harness.expect(values[static_cast<size_t>(i)] == i, "a wrong value");
    }
}

/// Many messages with a tag each: sends that are waited for until all are received, and receives
/// that take them in the order in which they came.
inline void many_tags(Program& program, int count) {
    std::vector<int> values(static_cast<size_t>(count), -1);
    std::vector<MPI_Request> requests(values.size(), MPI_REQUEST_NULL);
    const auto at = [](int i) { return static_cast<size_t>(i); };
    for (int i = 0; i < count && program.rank == 0; ++i) {
        values[at(i)] = 3 * i;
        MPI_Issend(&values[at(i)], 1, MPI_INT, program.last, 10 + i, MPI_COMM_WORLD,
                   &requests[at(i)]);
    }
    for (int i = 0; i < count && program.rank == program.last; ++i) {
        MPI_Irecv(&values[at(i)], 1, MPI_INT, 0, 10 + i, MPI_COMM_WORLD, &requests[at(i)]);
    }
    MPI_Barrier(program.side);
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    bool right = true;
    for (int i = 0; i < count && program.rank == program.last; ++i) {
        right = right && values[at(i)] == 3 * i;
    }
    for (int i = 0; i < count && program.rank == 0; ++i) {
        MPI_Isend(&values[at(i)], 1, MPI_INT, program.last, 10 + i, MPI_COMM_WORLD,
                  &requests[at(i)]);
    }
    MPI_Barrier(program.side);
    for (int i = 0; i < count && program.rank == program.last; ++i) {
        int value = -1;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        right = right && value == 3 * i && status.MPI_TAG == 10 + i;
    }
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    program.harness.expect(right, "wrong values with a tag each");
}

} // namespace nodeaware::test
