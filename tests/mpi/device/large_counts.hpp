#pragma once

#include "tests/mpi/device/case.hpp"

/// The functions for large counts, in all three forms.
inline void large_counts(const Form& form) {
    const Blocks blocks(4);
    const auto wide = [](const std::vector<int>& numbers) {
        return std::vector<MPI_Count>(numbers.begin(), numbers.end());
    };
    const auto places = [](const std::vector<int>& numbers) {
        return std::vector<MPI_Aint>(numbers.begin(), numbers.end());
    };
    const std::vector<MPI_Count> send_counts = wide(blocks.send_counts);
    const std::vector<MPI_Count> receive_counts = wide(blocks.receive_counts);
    const std::vector<MPI_Aint> send_places = places(blocks.send_places);
    const std::vector<MPI_Aint> receive_places = places(blocks.receive_places);
    for (int way = 0; way < 3; ++way) {
        const Array source(form.from, blocks.sent.size());
        const Array target(form.to, blocks.expected.size());
        source.write(blocks.sent);
        target.write(blocks.untouched());
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_SUCCESS;
        call("an exchange of MPI_Count", [&] {
            const auto with = [&](auto function, auto... more) {
                return code = function(source.data(), send_counts.data(), send_places.data(),
                                       MPI_INT, target.data(), receive_counts.data(),
                                       receive_places.data(), MPI_INT, MPI_COMM_WORLD, more...);
            };
            if (way == 0) { return with(MPI_Alltoallv_c); }
            if (way == 1) { return with(MPI_Ialltoallv_c, &request); }
            return with(MPI_Alltoallv_init_c, MPI_INFO_NULL, &request);
        });
        if (way == 2 && code == MPI_SUCCESS) {
            call("MPI_Start", [&] { return code = MPI_Start(&request); });
        }
        if (way > 0 && code == MPI_SUCCESS) {
            call("MPI_Wait", [&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
        }
        if (way == 2 && request != MPI_REQUEST_NULL) { MPI_Request_free(&request); }
        require(target.read() == blocks.expected, "MPI_Count: wrong bytes");
    }
}
