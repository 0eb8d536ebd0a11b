#pragma once

#include "runtime/collectives/call.hpp"
#include "runtime/point_to_point/hooks.hpp"
#include "runtime/progress/backoff.hpp"

#include <algorithm>
#include <span>
#include <utility>

/// The functions of the core that start and complete requests.
namespace nodeaware::requests {

using p2p::native;

inline std::span<const MPI_Request> native(int count, const abi::MPI_Request* requests) {
    return {reinterpret_cast<const MPI_Request*>(requests),
            static_cast<size_t>(requests == nullptr ? 0 : std::max(count, 0))};
}

/// Work of a hook that has no result.
template <class Work> void guarded(Work work) {
    try {
        work();
    } catch (const std::exception& error) { log(LogLevel::warn, "{}", error.what()); }
}

inline void started(int count, abi::MPI_Request* requests) {
    guarded([&] { library->nonblocking.started(native(count, requests)); });
}

inline void freed(abi::MPI_Request* request) {
    if (request == nullptr) { return; }
    guarded([&] {
        library->nonblocking.freed(*native(request));
        if (p2p::layer != nullptr) { completion::forget(*p2p::layer, *native(request)); }
    });
}

inline bool progress(int count, const abi::MPI_Request* requests) {
    bool ours = false;
    guarded([&] { ours = library->nonblocking.progress(native(count, requests)); });
    return ours;
}

inline void complete(int count, const abi::MPI_Request* requests) {
    guarded([&] {
        library->nonblocking.complete(native(count, requests), library->world.oversubscribed);
    });
}

inline void flush() {
    guarded([&] {
        if (p2p::layer != nullptr) { p2p::layer->flush(); }
    });
}

inline void pause(uint32_t round) { backoff::pause(round, library->world.oversubscribed); }

/// Completion: the library's operations first, then MPI. With point-to-point calls intercepted
/// there is more to it.
template <class WithLayer, class Without> int complete_by(WithLayer with_layer, Without without) {
    return p2p::guarded(MPI_COMM_NULL, [&] {
        return p2p::layer != nullptr ? with_layer(*p2p::layer) : without(library->nonblocking);
    });
}

inline bool is_ours(int count, const abi::MPI_Request* requests) {
    return progress(count, requests);
}

/// Calls `test` until it says that it is done.
template <class Test> int test_until(int count, abi::MPI_Request* requests, Test test) {
    for (uint32_t round = 0;; ++round) {
        const auto [result, done] = test();
        if (result != MPI_SUCCESS || done) { return result; }
        progress(count, requests);
        pause(round);
    }
}

inline int wait(abi::MPI_Request* request, abi::MPI_Status* status) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::wait(layer, native(request), native(status));
        },
        [&](Nonblocking&) {
            complete(1, request);
            return mpi.Wait(native(request), native(status));
        });
}

inline int waitall(int count, abi::MPI_Request* requests, abi::MPI_Status* statuses) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::waitall(layer, count, native(requests), native(statuses));
        },
        [&](Nonblocking&) {
            complete(count, requests);
            return mpi.Waitall(count, native(requests), native(statuses));
        });
}

inline int waitany(int count, abi::MPI_Request* requests, int* index, abi::MPI_Status* status) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::waitany(layer, count, native(requests), index, native(status));
        },
        [&](Nonblocking&) {
            if (!is_ours(count, requests)) {
                return mpi.Waitany(count, native(requests), index, native(status));
            }
            return test_until(count, requests, [&] {
                int flag = 0;
                const int result =
                    mpi.Testany(count, native(requests), index, &flag, native(status));
                return std::pair(result, flag != 0);
            });
        });
}

inline int waitsome(int count, abi::MPI_Request* requests, int* done, int* indices,
                    abi::MPI_Status* statuses) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::waitsome(layer, count, native(requests), done, indices,
                                        native(statuses));
        },
        [&](Nonblocking&) {
            if (!is_ours(count, requests)) {
                return mpi.Waitsome(count, native(requests), done, indices, native(statuses));
            }
            return test_until(count, requests, [&] {
                const int result =
                    mpi.Testsome(count, native(requests), done, indices, native(statuses));
                return std::pair(result, *done != 0);
            });
        });
}

inline int test(abi::MPI_Request* request, int* flag, abi::MPI_Status* status) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::test(layer, native(request), flag, native(status));
        },
        [&](Nonblocking&) {
            progress(1, request);
            return mpi.Test(native(request), flag, native(status));
        });
}

inline int testall(int count, abi::MPI_Request* requests, int* flag, abi::MPI_Status* statuses) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::testall(layer, count, native(requests), flag, native(statuses));
        },
        [&](Nonblocking&) {
            progress(count, requests);
            return mpi.Testall(count, native(requests), flag, native(statuses));
        });
}

inline int testany(int count, abi::MPI_Request* requests, int* index, int* flag,
                   abi::MPI_Status* status) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::testany(layer, count, native(requests), index, flag, native(status));
        },
        [&](Nonblocking&) {
            progress(count, requests);
            return mpi.Testany(count, native(requests), index, flag, native(status));
        });
}

inline int testsome(int count, abi::MPI_Request* requests, int* done, int* indices,
                    abi::MPI_Status* statuses) {
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::testsome(layer, count, native(requests), done, indices,
                                        native(statuses));
        },
        [&](Nonblocking&) {
            progress(count, requests);
            return mpi.Testsome(count, native(requests), done, indices, native(statuses));
        });
}

inline int request_get_status(abi::MPI_Request request, int* flag, abi::MPI_Status* status) {
    const MPI_Request handle = p2p::native_handle(request);
    return complete_by(
        [&](MessageLayer& layer) {
            return completion::get_status(layer, handle, flag, native(status));
        },
        [&](Nonblocking&) {
            progress(0, nullptr);
            return mpi.Request_get_status(handle, flag, native(status));
        });
}

inline int start_requests(int count, abi::MPI_Request* requests) {
    return complete_by(
        [&](MessageLayer& layer) {
            const int result = completion::start(layer, count, native(requests));
            if (result == MPI_SUCCESS) { started(count, requests); }
            return result;
        },
        [&](Nonblocking&) {
            const int result = mpi.Startall(count, native(requests));
            if (result == MPI_SUCCESS) { started(count, requests); }
            return result;
        });
}

inline int start_request(abi::MPI_Request* request) { return start_requests(1, request); }

} // namespace nodeaware::requests
