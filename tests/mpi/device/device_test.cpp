// Exchanges between memories of devices, of hosts, and of both: nothing but MPI's own functions may
// touch the former.

#include "tests/mpi/device/stand_in.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int rank = 0;
int ranks = 0;

int value(int source, int destination, int i) { return source * 1000 + destination * 10 + i; }

/// One array of ints here or there.
class Array {
  public:
    Array(std::size_t length, bool on_device) : length_(length) {
        const std::size_t bytes = length * sizeof(int);
        if (on_device) {
            memory_ = static_cast<int*>(stand_in_allocate(bytes));
        } else {
            host_.resize(length);
            memory_ = host_.data();
        }
    }

    int* data() { return memory_; }
    std::vector<int> read() const {
        stand_in_open(true);
        std::vector<int> content(memory_, memory_ + length_);
        stand_in_open(false);
        return content;
    }
    void write(const std::vector<int>& content) {
        stand_in_open(true);
        std::memcpy(memory_, content.data(), content.size() * sizeof(int));
        stand_in_open(false);
    }

  private:
    std::size_t length_;
    int* memory_ = nullptr;
    std::vector<int> host_;
};

/// Alltoallv with counts that differ; the number of wrong results.
int exchange(bool from_device, bool to_device, bool in_place) {
    std::vector<int> send_counts, receive_counts, send_places, receive_places, sent, expected;
    for (int peer = 0; peer < ranks; ++peer) {
        send_counts.push_back((rank + peer) % 4);
        receive_counts.push_back((rank + peer) % 4);
        send_places.push_back(static_cast<int>(sent.size()));
        receive_places.push_back(static_cast<int>(expected.size()));
        for (int i = 0; i < send_counts.back(); ++i) { sent.push_back(value(rank, peer, i)); }
        for (int i = 0; i < receive_counts.back(); ++i) {
            expected.push_back(value(peer, rank, i));
        }
    }
    Array source(sent.size(), from_device);
    Array target(expected.size(), to_device);
    source.write(sent);
    if (in_place) { target.write(sent); } // both have the same counts
    MPI_Alltoallv(in_place ? MPI_IN_PLACE : source.data(), send_counts.data(), send_places.data(),
                  MPI_INT, target.data(), receive_counts.data(), receive_places.data(), MPI_INT,
                  MPI_COMM_WORLD);
    return target.read() != expected || source.read() != sent ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int wrong = 0;
    for (int times = 0; times < 3; ++times) {
        for (const bool in_place : {false, true}) {
            wrong += exchange(true, true, in_place);
            wrong += exchange(rank % 2 == 0, true, in_place);
            wrong += exchange(true, rank % 3 == 0, in_place);
            wrong += exchange(false, false, in_place);
        }
    }
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all != 0 && rank == 0) { std::printf("%d wrong results\n", all); }
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
