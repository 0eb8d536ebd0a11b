// Communicates in all ways that are recorded, and says what each rank has sent, for trace_test to
// compare with the trace.
//
//   trace_program            everything once
//   trace_program threads    messages by two threads at the same time
//   trace_program for_ever   exchanges that do not end

#include "tests/mpi/harness.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using nodeaware::test::Harness;

struct Sent {
    unsigned long long messages = 0;
    unsigned long long bytes = 0;
    void add(unsigned long long of) {
        ++messages;
        bytes += of;
    }
};

class Program {
  public:
    Program(int* argc, char*** argv, int level) : harness_(argc, argv, level) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }

    void exchange() {
        const int size = harness_.size();
        std::vector<int> counts(static_cast<size_t>(size));
        std::vector<int> places(counts.size());
        for (int i = 0; i < size; ++i) {
            counts[static_cast<size_t>(i)] = (i + harness_.rank()) % 3; // as many either way
            places[static_cast<size_t>(i)] = 4 * i;
        }
        std::vector<int> sent = numbers(4 * counts.size());
        std::vector<int> received(sent.size());
        for (int i = 0; i < 5; ++i) {
            MPI_Alltoallv(sent.data(), counts.data(), places.data(), MPI_INT, received.data(),
                          counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
            for (const int count : counts) { count_collective(4ULL * unsigned(count)); }
        }
        keep(received);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ialltoallv(sent.data(), counts.data(), places.data(), MPI_INT, received.data(),
                       counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (const int count : counts) { count_collective(4ULL * unsigned(count)); }
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sent.data(), 2, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size; ++i) { count_collective(8); }
        keep(sent);
        // Refused: nothing is sent.
        MPI_Alltoall(sent.data(), -1, MPI_INT, received.data(), 1, MPI_INT, MPI_COMM_WORLD);
    }

    void exchange_with_neighbors() {
        const int size = harness_.size();
        const int periodic = 1;
        MPI_Comm ring = MPI_COMM_NULL;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
        std::vector<double> sent = {1.0 * harness_.rank(), 2};
        std::vector<double> received(2);
        MPI_Neighbor_alltoall(sent.data(), 1, MPI_DOUBLE, received.data(), 1, MPI_DOUBLE, ring);
        MPI_Neighbor_allgather(sent.data(), 1, MPI_DOUBLE, received.data(), 1, MPI_DOUBLE, ring);
        for (int i = 0; i < 4; ++i) { count_collective(8); }
        keep(received);
        MPI_Comm_free(&ring);
    }

    void send() {
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, harness_.rank() % 2, 0, &half);
        for (const MPI_Comm comm : {MPI_COMM_WORLD, half}) { send_around(comm); }
        MPI_Comm_free(&half);
        std::vector<int> sent = numbers(7);
        std::vector<int> received(sent.size());
        const auto [left, right] = beside(MPI_COMM_WORLD);
        std::array<MPI_Request, 2> requests{};
        MPI_Send_init(sent.data(), 7, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Recv_init(received.data(), 7, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[1]);
        for (int i = 0; i < 6; ++i) {
            MPI_Startall(2, requests.data());
            MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
            messages_.add(28);
        }
        for (MPI_Request& request : requests) { MPI_Request_free(&request); }
        keep(received);
        MPI_Request nobody = MPI_REQUEST_NULL; // no message either
        MPI_Send_init(sent.data(), 7, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &nobody);
        MPI_Startall(1, &nobody);
        MPI_Wait(&nobody, MPI_STATUS_IGNORE);
        MPI_Request_free(&nobody);
        MPI_Send(sent.data(), 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);   // no message
        MPI_Send(sent.data(), 1, MPI_INT, harness_.size(), 0, MPI_COMM_WORLD); // refused
    }

    /// What is recorded with its time alone.
    void meet() {
        const int size = harness_.size();
        int mine = harness_.rank();
        int all = 0;
        std::vector<int> list(static_cast<size_t>(size));
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, harness_.rank() % 2, 0, &half);
        for (int i = 0; i < 3; ++i) { MPI_Scan(&mine, &all, 1, MPI_INT, MPI_SUM, half); }
        MPI_Exscan(&mine, &all, 1, MPI_INT, MPI_OP_NULL, half); // refused
        MPI_Comm_free(&half);
        MPI_Gather(&mine, 1, MPI_INT, list.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatter(list.data(), 1, MPI_INT, &all, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        write_file(mine);
        list.push_back(all);
        keep(list);
    }

    void send_by_threads() {
        std::array<MPI_Comm, 2> comms{};
        for (MPI_Comm& comm : comms) { MPI_Comm_dup(MPI_COMM_WORLD, &comm); }
        std::vector<std::thread> threads;
        threads.reserve(comms.size());
        for (const MPI_Comm comm : comms) {
            threads.emplace_back([this, comm] {
                const auto [left, right] = beside(comm);
                for (int i = 0; i < 50; ++i) {
                    int sent = i;
                    int received = 0;
                    MPI_Sendrecv(&sent, 1, MPI_INT, right, 0, &received, 1, MPI_INT, left, 0, comm,
                                 MPI_STATUS_IGNORE);
                }
            });
        }
        for (std::thread& thread : threads) { thread.join(); }
        for (int i = 0; i < 100; ++i) { messages_.add(4); }
        for (MPI_Comm& comm : comms) { MPI_Comm_free(&comm); }
    }

    [[noreturn]] void exchange_for_ever() {
        while (true) { exchange(); }
    }

    int finish() {
        std::printf("sent %d %llu %llu %llu %llu %d\n", harness_.rank(), collective_.messages,
                    collective_.bytes, messages_.messages, messages_.bytes, from_anywhere_);
        std::printf("result %d %016llx\n", harness_.rank(), result_);
        std::fflush(stdout);
        return harness_.finish();
    }

  private:
    struct Beside {
        int left;
        int right;
    };
    static Beside beside(MPI_Comm comm) {
        int rank = 0;
        int size = 0;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        return {(rank + size - 1) % size, (rank + 1) % size};
    }

    std::vector<int> numbers(size_t count) const {
        std::vector<int> list(count);
        for (size_t i = 0; i < count; ++i) {
            list[i] = static_cast<int>(i) + 1000 * harness_.rank();
        }
        return list;
    }

    void send_around(MPI_Comm comm) {
        const auto [left, right] = beside(comm);
        for (int i = 0; i < 20; ++i) {
            std::vector<int> sent = numbers(static_cast<size_t>(i));
            std::vector<int> received(100);
            std::array<MPI_Request, 2> requests{};
            MPI_Irecv(received.data(), 100, MPI_INT, MPI_ANY_SOURCE, i, comm, &requests[0]);
            MPI_Isend(sent.data(), i, MPI_INT, right, i, comm, &requests[1]);
            MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
            messages_.add(4ULL * unsigned(i));
            ++from_anywhere_;
            keep(received);
            MPI_Sendrecv(sent.data(), i, MPI_INT, left, 100, received.data(), 100, MPI_INT, right,
                         100, comm, MPI_STATUS_IGNORE);
            messages_.add(4ULL * unsigned(i));
            keep(received);
        }
    }

    static void write_file(int value) {
        const std::filesystem::path path =
            std::filesystem::temp_directory_path() / ("trace_program." + std::to_string(getpid()));
        MPI_File file = MPI_FILE_NULL;
        MPI_File_open(MPI_COMM_SELF, path.c_str(),
                      MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &file);
        for (int i = 0; i < 4; ++i) { MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE); }
        MPI_File_close(&file);
    }

    void count_collective(unsigned long long bytes) {
        if (bytes > 0) { collective_.add(bytes); }
    }
    template <class Value> void keep(const std::vector<Value>& values) {
        for (const Value& value : values) {
            unsigned long long bits = 0;
            std::memcpy(&bits, &value, sizeof value);
            result_ = (result_ ^ bits) * 1099511628211ULL;
        }
    }

    Harness harness_;
    Sent collective_;
    Sent messages_;
    int from_anywhere_ = 0;
    unsigned long long result_ = 0;
};

} // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    Program program(&argc, &argv, what == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (what == "threads") {
        program.send_by_threads();
    } else if (what == "for_ever") {
        program.exchange_for_ever();
    } else {
        program.exchange();
        program.exchange_with_neighbors();
        program.send();
        program.meet();
    }
    return program.finish();
}
