#pragma once

#include "interpose/next.hpp"

/// What the wrappers of functions that start and complete requests share, in C and in Fortran. With
/// no request of the library in existence each costs one branch.
namespace nodeaware::interpose {

/// The core, if it has requests.
inline const abi::Core* core_with_requests() {
    const abi::Core* core = active_core();
    return core != nullptr && core->requests->load(std::memory_order_relaxed) > 0 ? core : nullptr;
}

inline void complete(int count, const abi::MPI_Request* requests) {
    if (const abi::Core* core = core_with_requests()) {
        const Inside inside;
        core->complete(count, requests);
    }
}

inline void progress(int count, const abi::MPI_Request* requests) {
    if (const abi::Core* core = core_with_requests()) {
        const Inside inside;
        core->progress(count, requests);
    }
}

/// Calls `test` until it is true, if operations of the library are among the requests; then it
/// returns true. Otherwise MPI can wait by itself.
template <class Test> bool test_until(int count, const abi::MPI_Request* requests, Test test) {
    const abi::Core* core = core_with_requests();
    if (core == nullptr) { return false; }
    const Inside inside;
    for (uint32_t round = 0;; ++round) {
        const bool ours = core->progress(count, requests);
        if (!ours && round == 0) { return false; }
        if (test()) { return true; }
        core->pause(round);
    }
}

/// `call` starts the requests in MPI.
template <class Call> int start(int count, abi::MPI_Request* requests, Call call) {
    const abi::Core* core = core_with_requests();
    if (core == nullptr) { return call(); }
    const Inside inside;
    const int result = call();
    if (result == 0) { core->started(count, requests); }
    return result;
}

inline void free_request(abi::MPI_Request* request) {
    if (const abi::Core* core = core_with_requests()) {
        const Inside inside;
        core->freed(request);
    }
}

} // namespace nodeaware::interpose
