#pragma once

#include "tests/mpi/device/case.hpp"

#include <array>
#include <memory>

/// Some at once, of memories of all kinds, which are completed in all ways. Their datatypes are
/// gone by then, and what has been sent may be written to.
inline void several_at_once(int first) {
    constexpr std::size_t number = 8;
    constexpr int each = 3;
    const Blocks blocks(each, true);
    std::vector<std::unique_ptr<Array>> sources, targets;
    std::array<MPI_Request, number> requests{};
    for (std::size_t i = 0; i < number; ++i) {
        const std::size_t kind =
            static_cast<std::size_t>(first) + i + static_cast<std::size_t>(rank);
        sources.push_back(std::make_unique<Array>(kinds[kind % kinds.size()], blocks.sent.size()));
        targets.push_back(
            std::make_unique<Array>(kinds[(kind * 2 + 1) % kinds.size()], blocks.expected.size()));
        sources.back()->write(blocks.sent);
        targets.back()->write(blocks.untouched());
        MPI_Datatype three = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(each, MPI_INT, &three);
        MPI_Type_commit(&three);
        requests[i] = MPI_REQUEST_NULL;
        call("MPI_Ialltoall", [&] {
            return MPI_Ialltoall(sources[i]->data(), 1, three, targets[i]->data(), 1, three,
                                 MPI_COMM_WORLD, &requests[i]);
        });
        MPI_Type_free(&three);
    }
    std::array<int, number> places{};
    int index = 0;
    int flag = 0;
    call("MPI_Waitany",
         [&] { return MPI_Waitany(number, requests.data(), &index, MPI_STATUS_IGNORE); });
    call("MPI_Waitsome", [&] {
        return MPI_Waitsome(number, requests.data(), &index, places.data(), MPI_STATUSES_IGNORE);
    });
    call("MPI_Test", [&] {
        int code = MPI_SUCCESS;
        while (code == MPI_SUCCESS && flag == 0) {
            code = MPI_Test(&requests[number - 1], &flag, MPI_STATUS_IGNORE);
        }
        return code;
    });
    flag = 0;
    call("MPI_Request_get_status", [&] {
        int code = MPI_SUCCESS;
        while (code == MPI_SUCCESS && flag == 0 && requests[number - 2] != MPI_REQUEST_NULL) {
            code = MPI_Request_get_status(requests[number - 2], &flag, MPI_STATUS_IGNORE);
        }
        return code;
    });
    call("MPI_Waitall", [&] { return MPI_Waitall(number, requests.data(), MPI_STATUSES_IGNORE); });
    for (const auto& target : targets) {
        require(target->read() == blocks.expected, "several at once: wrong bytes");
    }
}

/// The communicator is gone before what was begun on it is over.
inline void freed_in_flight(Kind from, Kind to, int each) {
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
    const Blocks blocks(each, true);
    const Array source(from, blocks.sent.size());
    const Array target(to, blocks.expected.size());
    source.write(blocks.sent);
    target.write(blocks.untouched());
    // What has to be prepared for nonblocking ones is, by this.
    call("MPI_Alltoall", [&] {
        return MPI_Alltoall(source.data(), each, MPI_INT, target.data(), each, MPI_INT, twin);
    });
    target.write(blocks.untouched());
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    call("MPI_Ialltoall", [&] {
        return code = MPI_Ialltoall(source.data(), each, MPI_INT, target.data(), each, MPI_INT,
                                    twin, &request);
    });
    call("MPI_Comm_free", [&] { return MPI_Comm_free(&twin); });
    finish(request, code, "MPI_Wait");
    require(target.read() == blocks.expected, "communicator freed: wrong bytes");
}
