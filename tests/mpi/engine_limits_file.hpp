#pragma once

#include "tests/mpi/engine_limits.hpp"

#include <array>
#include <cstdlib>

namespace nodeaware::test {

/// Requests of files, among those of messages.
inline void file(Program& program, int /*count*/) {
    std::array<char, 64> name = {"/tmp/nodeaware_test_XXXXXX"};
    const int descriptor = mkstemp(name.data());
    MPI_File opened = MPI_FILE_NULL;
    MPI_File_open(MPI_COMM_SELF, name.data(), MPI_MODE_RDWR, MPI_INFO_NULL, &opened);
    const int peer = program.last - program.rank;
    constexpr int tag = 31;
    for (int i = 0; i < 4; ++i) {
        int written = 100 + i;
        int received = -1;
        std::array<MPI_Request, 3> requests{};
        std::array<MPI_Status, 3> statuses{};
        MPI_Irecv(&received, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_File_iwrite_at(opened, i * MPI_Offset{sizeof i}, &written, 1, MPI_INT, &requests[1]);
        MPI_Isend(&i, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[2]);
        if (i % 2 == 0) {
            MPI_Waitall(3, requests.data(), statuses.data());
        } else {
            for (size_t k = 0; k < 3; ++k) { MPI_Wait(&requests[k], &statuses[k]); }
        }
        int count = 0;
        MPI_Get_count(&statuses[1], MPI_INT, &count);
        program.harness.expect(received == i && count == 1, "wrong message or count");
        int read = -1;
        MPI_File_iread_at(opened, i * MPI_Offset{sizeof i}, &read, 1, MPI_INT, &requests[0]);
        MPI_Wait(requests.data(), statuses.data());
        program.harness.expect(read == written, "wrong in the file");
    }
    MPI_File_close(&opened);
    close(descriptor);
    unlink(name.data());
}

} // namespace nodeaware::test
