#pragma once

#include "tests/mpi/device/array.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline int rank = 0;
inline int ranks = 0;
inline int wrong = 0;
inline int errors = 0;
inline bool may_fail = false;
inline bool is_left_to_mpi = false;
inline bool is_by_arena = false;
inline StandInCounts in_calls{}; ///< what the library has done

inline void require(bool is_right, const std::string& what) {
    if (is_right) { return; }
    ++wrong;
    if (!may_fail) { std::printf("rank %d: %s\n", rank, what.c_str()); }
}

/// What the application uses stays as it is; and it may use none. Meanwhile a stream of its
/// records.
template <class Call> void call(const char* name, Call call) {
    void* const used = rank % 3 == 0 ? nullptr : contexts[static_cast<std::size_t>(rank % 2)];
    cuCtxSetCurrent(used);
    const StandInCounts before = stand_in_counts();
    const StandInThread thread = stand_in_thread();
    const int retained = stand_in_retained();
    stand_in_begin_capture();
    stand_in_may_fail(true);
    const int code = call();
    stand_in_may_fail(false);
    const bool is_recorded = stand_in_end_capture();
    const StandInCounts after = stand_in_counts();
    in_calls.calls += after.calls - before.calls;
    in_calls.queries += after.queries - before.queries;
    in_calls.copies += after.copies - before.copies;
    in_calls.bytes += after.bytes - before.bytes;
    in_calls.unpinned += after.unpinned - before.unpinned;
    in_calls.launches += after.launches - before.launches;
    if (code != MPI_SUCCESS) {
        ++errors;
        if (!may_fail) { std::printf("rank %d: %s fails\n", rank, name); }
    }
    void* left = nullptr;
    cuCtxGetCurrent(&left);
    require(left == used, std::string(name) + " leaves another context");
    require(stand_in_retained() == retained, std::string(name) + " keeps a context");
    const StandInThread now = stand_in_thread();
    require(now.contexts == thread.contexts, std::string(name) + " leaves more contexts");
    if (may_fail) { return; }
    require(is_recorded, std::string(name) + " spoils what a stream records");
    require(now.capture_mode == thread.capture_mode, std::string(name) + " leaves another mode");
}

inline int value(int source, int destination, int i) {
    return source * 10000 + destination * 100 + i;
}
/// From 0 up to `most`.
inline int count(int source, int destination, int most) {
    return (source * 3 + destination * 2) % 5 * (most / 4);
}

/// Messages of all ranks to all, with gaps between the blocks.
struct Blocks {
    std::vector<int> send_counts, receive_counts, send_places, receive_places, sent, expected;

    explicit Blocks(int most, bool are_alike = false) {
        constexpr int gap = 3;
        for (int peer = 0; peer < ranks; ++peer) {
            send_counts.push_back(are_alike ? most : count(rank, peer, most));
            receive_counts.push_back(are_alike ? most : count(peer, rank, most));
            send_places.push_back(static_cast<int>(sent.size()));
            receive_places.push_back(static_cast<int>(expected.size()));
            for (int i = 0; i < send_counts.back(); ++i) { sent.push_back(value(rank, peer, i)); }
            for (int i = 0; i < receive_counts.back(); ++i) {
                expected.push_back(value(peer, rank, i));
            }
            if (are_alike) { continue; }
            sent.resize(sent.size() + gap, -7);
            expected.resize(expected.size() + gap, -1);
        }
    }
    std::vector<int> untouched() const { return std::vector<int>(expected.size(), -1); }
};

/// An exchange is over, and so is all that it has begun.
inline void require_clean(const StandInCounts& before) {
    const StandInCounts after = stand_in_counts();
    require(after.under_way == 0, "copies are under way");
    require(after.freed_too_early == 0, "memory is freed while copies use it");
    require(after.pinned_and_copied == 0, "what is pinned is another page after a fork");
    if (may_fail) { return; }
    require(after.events == 0, "events are left");
    const bool is_pinned = std::getenv("GPU_STAND_IN_PINS_NOTHING") == nullptr;
    require(!is_pinned || after.unpinned == before.unpinned, "copies of memory that is not pinned");
    require(after.pinned_again == 0, "pinned again");
    require(after.synchronous_again == 0, "copies are made synchronous again");
    require(after.pinned_and_gone == 0, "what is pinned is gone");
}

struct Form {
    Kind from;
    Kind to;
    bool is_nonblocking = false;
};

inline void finish(MPI_Request request, int code, const char* name) {
    if (code == MPI_SUCCESS) {
        call(name, [&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
    }
}
