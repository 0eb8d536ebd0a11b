#pragma once

#include "runtime/mpi/mpi.hpp"
#include "runtime/progress/backoff.hpp"
#include "runtime/requests/library.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// Sparse exchanges: every rank knows to whom it sends, nobody what it receives. Messages are bytes
/// in memory of the host; empty ones are messages, too.
namespace nodeaware::sparse {

struct Outgoing {
    int peer = 0;
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
};

struct Incoming {
    int peer = 0;
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
};

/// What a rank has received: of one source in the order in which that lists it.
struct Received {
    std::vector<Incoming> messages;
    std::vector<std::unique_ptr<std::byte[]>> memory; ///< that they lie in
    int error = MPI_SUCCESS; ///< the first of this rank; it takes part in the rest all the same

    void fail(int code) {
        if (error == MPI_SUCCESS) { error = code; }
    }
    /// Throws std::bad_alloc.
    std::byte* add_memory(uint64_t bytes) {
        memory.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
        return memory.back().get();
    }
    void sort() {
        std::stable_sort(messages.begin(), messages.end(),
                         [](const auto& a, const auto& b) { return a.peer < b.peer; });
    }
};

/// Waits, and all else of the library goes on meanwhile, if it has been started.
template <class Ready> void wait_for(Ready ready) {
    if (library != nullptr) { return library->progress.wait_until(ready); }
    for (uint32_t round = 0; !ready(); ++round) { backoff::pause(round, true); }
}

/// Before a collective function of MPI, in which this rank may stay for long.
inline void before_blocking() {
    if (library != nullptr) { library->progress.before_blocking(); }
}

} // namespace nodeaware::sparse
