#pragma once

#include "tests/mpi/engine_limits.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <sys/stat.h>

namespace nodeaware::test {

/// Rank 0 sends what is to travel with a message of its node-mate, which does not come, and then
/// waits outside of MPI until it is received.
class Outside {
  public:
    explicit Outside(Program& program) : program_(program) {}

    /// Until a file is there. Its node-mate waits for something else in MPI.
    void by_file() const {
        constexpr int go_on = 12;
        std::array<char, 64> name = {"/tmp/nodeaware_test_XXXXXX"};
        if (program_.rank == 0) {
            close(mkstemp(name.data()));
            unlink(name.data());
        }
        PMPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
        const auto is_there = [&] {
            struct stat found = {};
            return stat(name.data(), &found) == 0;
        };
        int value = 3;
        if (program_.rank == 0) {
            send();
            wait(is_there);
        } else if (program_.rank == program_.last) {
            receive();
            std::ofstream(name.data()) << "received";
            MPI_Send(&value, 1, MPI_INT, 1, go_on, MPI_COMM_WORLD);
        } else if (program_.rank == 1) {
            MPI_Recv(&value, 1, MPI_INT, program_.last, go_on, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(program_.side);
        if (program_.rank == 0) { unlink(name.data()); }
    }

    /// Until its receiver has written to memory that all share. All others wait so, too.
    void by_window() const {
        void* base = nullptr;
        MPI_Win window = MPI_WIN_NULL;
        const MPI_Aint bytes = program_.rank == 0 ? sizeof(std::atomic<int>) : 0;
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        MPI_Aint size = 0;
        int unit = 0;
        MPI_Win_shared_query(window, 0, &size, &unit, &base);
        auto* const flag = static_cast<std::atomic<int>*>(base);
        if (program_.rank == 0) { flag->store(0); }
        MPI_Barrier(program_.side);
        if (program_.rank == 0) { send(); }
        if (program_.rank == program_.last) {
            receive();
            flag->store(1);
        }
        wait([&] { return flag->load() != 0; });
        MPI_Barrier(program_.side);
        MPI_Win_free(&window);
    }

  private:
    void send() const {
        const int value = 77;
        MPI_Send(&value, 1, MPI_INT, program_.last, Program::learned_tag, MPI_COMM_WORLD);
    }
    void receive() const {
        int value = 0;
        MPI_Recv(&value, 1, MPI_INT, 0, Program::learned_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        program_.harness.expect(value == 77, "a wrong value");
    }
    template <class Ready> void wait(Ready ready) const {
        constexpr double most_seconds = 60; // then it would be for ever
        const double start = MPI_Wtime();
        while (!ready() && MPI_Wtime() - start < most_seconds) { usleep(1000); }
        program_.harness.expect(ready(), "not received while its sender is outside of MPI");
    }

    Program& program_;
};

inline void outside(Program& program, int /*count*/) {
    const Outside cases(program);
    cases.by_file();
    cases.by_window();
}

} // namespace nodeaware::test
