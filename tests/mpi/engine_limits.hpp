#pragma once

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace nodeaware::test {

/// Memory of this process, in KiB.
class Memory {
  public:
    /// The peak counts from here.
    Memory() {
        std::ofstream("/proc/self/clear_refs") << "5";
        start_ = value("VmRSS:");
    }
    long growth() const { return std::max(0L, value("VmHWM:") - start_); }

  private:
    static long value(const std::string& wanted) {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;) {
            if (word != wanted) { continue; }
            long kibibytes = 0;
            status >> kibibytes;
            return kibibytes;
        }
        return 0;
    }
    long start_ = 0;
};

/// Processor time of this process.
inline double processor_seconds() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return double(time.tv_sec) + double(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What a case costs a rank.
struct Cost {
    double seconds = 0;
    double processor_seconds = 0;
    double memory = 0; ///< KiB
};

/// A program whose small messages the library has taken over. The first ranks of the first and of
/// the last node are where the cases happen.
class Program {
  public:
    explicit Program(Harness& harness) : harness(harness), rank(harness.rank()) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &side);
        last = harness.size() - 1;
    }

    /// All ranks exchange with all others, until the library has had occasion to take over.
    void learn(MPI_Comm comm) const {
        for (int i = 0; i < 20; ++i) {
            exchange(i, comm);
            int sum = 0;
            MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
        }
    }
    void exchange(int value, MPI_Comm comm) const {
        const auto size = static_cast<size_t>(harness.size());
        std::vector<int> received(size, -1);
        std::vector<MPI_Request> requests(2 * size);
        for (int peer = 0; peer < harness.size(); ++peer) {
            MPI_Irecv(&received[static_cast<size_t>(peer)], 1, MPI_INT, peer, learned_tag, comm,
                      &requests[static_cast<size_t>(peer)]);
        }
        for (int peer = 0; peer < harness.size(); ++peer) {
            MPI_Isend(&value, 1, MPI_INT, peer, learned_tag, comm,
                      &requests[size + static_cast<size_t>(peer)]);
        }
        MPI_Waitall(static_cast<int>(2 * size), requests.data(), MPI_STATUSES_IGNORE);
        harness.expect(std::count(received.begin(), received.end(), value) == harness.size(),
                       "wrong values while learning");
    }

    /// Does the work with and without the library, and compares the memory.
    template <class Work> void compare(const char* name, Work work) const {
        // First by MPI, whose own memory then is what it will be.
        const std::vector<Cost> native = measure([&] { work(false); });
        const std::vector<Cost> ours = measure([&] { work(true); });
        for (size_t i = 0; i < ours.size(); ++i) {
            if (rank == 0) {
                std::printf("%s, rank %zu: %s; native %s\n", name, i, text_of(ours[i]).c_str(),
                            text_of(native[i]).c_str());
            }
            harness.expect(rank != 0 || ours[i].memory < native[i].memory + most_memory,
                           std::string(name) + ": too much memory");
        }
    }

    void close() { MPI_Comm_free(&side); }

    static constexpr int learned_tag = 7;

    Harness& harness;
    int rank;
    int last = 0; ///< on another node than rank 0
    /// Of the same ranks in another order: what happens there is no occasion to give back what
    /// was taken over.
    MPI_Comm side = MPI_COMM_NULL;

  private:
    static constexpr double most_memory = 98304; ///< KiB; two thirds may be copies on their way

    static std::string text_of(const Cost& cost) {
        char text[80];
        std::snprintf(text, sizeof text, "%.2f s (%.2f s of a processor), %.0f KiB", cost.seconds,
                      cost.processor_seconds, cost.memory);
        return text;
    }

    template <class Work> std::vector<Cost> measure(Work work) const {
        PMPI_Barrier(side);
        const Memory memory;
        const double start = MPI_Wtime();
        const double processor_start = processor_seconds();
        work();
        const Cost cost{MPI_Wtime() - start, processor_seconds() - processor_start,
                        static_cast<double>(memory.growth())};
        std::vector<Cost> costs(static_cast<size_t>(harness.size()));
        PMPI_Allgather(&cost, 3, MPI_DOUBLE, costs.data(), 3, MPI_DOUBLE, MPI_COMM_WORLD);
        return costs;
    }
};

inline int send(bool ours, const void* data, int count, MPI_Datatype type, int peer, int tag) {
    return (ours ? MPI_Send : PMPI_Send)(data, count, type, peer, tag, MPI_COMM_WORLD);
}
inline int receive(bool ours, void* data, int count, MPI_Datatype type, int peer, int tag) {
    return (ours ? MPI_Recv : PMPI_Recv)(data, count, type, peer, tag, MPI_COMM_WORLD,
                                         MPI_STATUS_IGNORE);
}

/// Blocking sends of 4 bytes, received one by one.
inline void flood(Program& program, int count) {
    program.compare("flood", [&](bool ours) {
        for (int i = 0; i < count && program.rank == 0; ++i) {
            send(ours, &i, 1, MPI_INT, program.last, 1);
        }
        bool right = true;
        for (int i = 0; i < count && program.rank == program.last; ++i) {
            int value = -1;
            receive(ours, &value, 1, MPI_INT, 0, 1);
            right = right && value == i;
        }
        program.harness.expect(right, "wrong values in a flood");
    });
}

/// Messages like those that were learned, to a receiver that sleeps first: their sender waits for
/// it, as by MPI, and keeps none.
inline void sleeper(Program& program, int count) {
    constexpr int bytes = 1000;
    constexpr long most_memory = 65536;
    std::vector<char> message(bytes);
    PMPI_Barrier(program.side);
    const Memory memory;
    bool right = true;
    for (int i = 0; i < count; ++i) {
        if (program.rank == 0) {
            std::memcpy(message.data(), &i, sizeof i);
            MPI_Send(message.data(), bytes, MPI_BYTE, program.last, Program::learned_tag,
                     MPI_COMM_WORLD);
        } else if (program.rank == program.last) {
            if (i == 0) { sleep(1); }
            MPI_Recv(message.data(), bytes, MPI_BYTE, 0, Program::learned_tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            right = right && std::memcmp(message.data(), &i, sizeof i) == 0;
        }
    }
    program.harness.expect(right, "wrong values after a sleep");
    program.harness.expect(program.rank != 0 || memory.growth() < most_memory,
                           "messages pile up at their sender");
}

/// The same to a receiver that first waits for the sender's last message, and then takes them in
/// another order.
inline void run_ahead(Program& program, int count) {
    constexpr int tags = 3;
    program.compare("ahead", [&](bool ours) {
        for (int i = 0; i < count && program.rank == 0; ++i) {
            send(ours, &i, 1, MPI_INT, program.last, i % tags);
        }
        if (program.rank == 0) { send(ours, &count, 1, MPI_INT, program.last, tags); }
        if (program.rank != program.last) { return; }
        int value = -1;
        receive(ours, &value, 1, MPI_INT, 0, tags);
        bool right = value == count;
        for (int tag = tags - 1; tag >= 0; --tag) {
            for (int i = tag; i < count; i += tags) {
                receive(ours, &value, 1, MPI_INT, 0, tag);
                right = right && value == i;
            }
        }
        program.harness.expect(right, "wrong values in a flood that runs ahead");
    });
}

/// Sends of a megabyte that are all begun before the first is received.
inline void begun(Program& program, int count) {
    constexpr int bytes = 1000000;
    program.compare("begun", [&](bool ours) {
        const std::vector<char> sent(bytes, 1);
        std::vector<MPI_Request> requests;
        for (int i = 0; i < count && program.rank == 0; ++i) {
            (ours ? MPI_Isend : PMPI_Isend)(sent.data(), bytes, MPI_CHAR, program.last, 1,
                                            MPI_COMM_WORLD, &requests.emplace_back());
        }
        if (program.rank == program.last) { usleep(300000); }
        std::vector<char> data(bytes);
        bool right = true;
        for (int i = 0; i < count && program.rank == program.last; ++i) {
            data.back() = 0;
            receive(ours, data.data(), bytes, MPI_CHAR, 0, 1);
            right = right && data.back() == 1;
        }
        (ours ? MPI_Waitall : PMPI_Waitall)(static_cast<int>(requests.size()), requests.data(),
                                            MPI_STATUSES_IGNORE);
        program.harness.expect(right, "wrong bytes of sends that were begun");
    });
}

/// Blocking sends of a megabyte to a receiver that has other things to do.
inline void slow_consumer(Program& program, int count) {
    constexpr int bytes = 1000000;
    program.compare("slow consumer", [&](bool ours) {
        std::vector<char> data(bytes);
        bool right = true;
        for (int i = 0; i < count && program.rank == 0; ++i) {
            std::fill(data.begin(), data.end(), static_cast<char>(i));
            send(ours, data.data(), bytes, MPI_CHAR, program.last, 1);
        }
        for (int i = 0; i < count && program.rank == program.last; ++i) {
            usleep(2000);
            receive(ours, data.data(), bytes, MPI_CHAR, 0, 1);
            right = right && std::count(data.begin(), data.end(), static_cast<char>(i)) == bytes;
        }
        program.harness.expect(right, "wrong bytes at a slow consumer");
    });
}

} // namespace nodeaware::test
