#include "runtime/core/requests.hpp"

#include "runtime/collectives/nonblocking.hpp"
#include "runtime/core/guarded.hpp"
#include "runtime/mpi/errors_return.hpp"
#include "runtime/point_to_point/hooks.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/requests/completion.hpp"
#include "runtime/requests/library.hpp"

#include <algorithm>
#include <span>

namespace nodeaware::requests {

namespace {

using p2p::native;

std::span<const MPI_Request> list(int count, const abi::MPI_Request* requests) {
    return {reinterpret_cast<const MPI_Request*>(requests),
            static_cast<size_t>(requests == nullptr ? 0 : std::max(count, 0))};
}

completion::Context context() { return {library->requests, library->progress}; }

template <class Work> int guarded_call(Work work) { return p2p::in_turn(MPI_COMM_NULL, work); }
/// `by_mpi`: what MPI does by itself, where it has all messages of this rank and the library has no
/// requests.
template <class Work, class ByMpi> int guarded_call(Work work, ByMpi by_mpi) {
    const bool has_own =
        (activity.requests.load(std::memory_order_relaxed) & (Activity::all - 1)) != 0;
    return has_own ? guarded_call(work) : p2p::in_turn(MPI_COMM_NULL, work, by_mpi);
}

void started(int count, abi::MPI_Request* requests) {
    guarded([&] { library->nonblocking->started(list(count, requests)); });
}

} // namespace

/// Persistent collectives cannot be cancelled; for MPI they are receives.
int cancel(abi::MPI_Request* request) {
    if (request != nullptr && library->nonblocking->is_persistent(*native(request))) {
        mpi.Comm_call_errhandler(raises_errors(), MPI_ERR_REQUEST);
        return MPI_ERR_REQUEST;
    }
    return library->messages != nullptr ? p2p::cancel(request) : mpi.Cancel(native(request));
}

int wait(abi::MPI_Request* request, abi::MPI_Status* status) {
    return guarded_call(
        [&] { return completion::wait(context(), native(request), native(status)); },
        [&] { return mpi.Wait(native(request), native(status)); });
}

int waitall(int count, abi::MPI_Request* requests, abi::MPI_Status* statuses) {
    return guarded_call(
        [&] { return completion::waitall(context(), count, native(requests), native(statuses)); },
        [&] { return mpi.Waitall(count, native(requests), native(statuses)); });
}

int waitany(int count, abi::MPI_Request* requests, int* index, abi::MPI_Status* status) {
    return guarded_call(
        [&] {
            return completion::waitany(context(), count, native(requests), index, native(status));
        },
        [&] { return mpi.Waitany(count, native(requests), index, native(status)); });
}

int waitsome(int count, abi::MPI_Request* requests, int* done, int* indices,
             abi::MPI_Status* statuses) {
    return guarded_call(
        [&] {
            return completion::waitsome(context(), count, native(requests), done, indices,
                                        native(statuses));
        },
        [&] { return mpi.Waitsome(count, native(requests), done, indices, native(statuses)); });
}

int test(abi::MPI_Request* request, int* flag, abi::MPI_Status* status) {
    return guarded_call(
        [&] { return completion::test(context(), native(request), flag, native(status)); },
        [&] { return mpi.Test(native(request), flag, native(status)); });
}

int testall(int count, abi::MPI_Request* requests, int* flag, abi::MPI_Status* statuses) {
    return guarded_call(
        [&] {
            return completion::testall(context(), count, native(requests), flag, native(statuses));
        },
        [&] { return mpi.Testall(count, native(requests), flag, native(statuses)); });
}

int testany(int count, abi::MPI_Request* requests, int* index, int* flag, abi::MPI_Status* status) {
    return guarded_call(
        [&] {
            return completion::testany(context(), count, native(requests), index, flag,
                                       native(status));
        },
        [&] { return mpi.Testany(count, native(requests), index, flag, native(status)); });
}

int testsome(int count, abi::MPI_Request* requests, int* done, int* indices,
             abi::MPI_Status* statuses) {
    return guarded_call(
        [&] {
            return completion::testsome(context(), count, native(requests), done, indices,
                                        native(statuses));
        },
        [&] { return mpi.Testsome(count, native(requests), done, indices, native(statuses)); });
}

int request_get_status(abi::MPI_Request request, int* flag, abi::MPI_Status* status) {
    return guarded_call(
        [&] {
            return completion::get_status(context(), p2p::native_handle(request), flag,
                                          native(status));
        },
        [&] { return mpi.Request_get_status(p2p::native_handle(request), flag, native(status)); });
}

int request_get_status_all(int count, abi::MPI_Request* requests, int* flag,
                           abi::MPI_Status* statuses) {
    return guarded_call([&] {
        return completion::get_status_all(context(), count, native(requests), flag,
                                          native(statuses));
    });
}

int request_get_status_any(int count, abi::MPI_Request* requests, int* index, int* flag,
                           abi::MPI_Status* status) {
    return guarded_call([&] {
        return completion::get_status_any(context(), count, native(requests), index, flag,
                                          native(status));
    });
}

int request_get_status_some(int count, abi::MPI_Request* requests, int* done, int* indices,
                            abi::MPI_Status* statuses) {
    return guarded_call([&] {
        return completion::get_status_some(context(), count, native(requests), done, indices,
                                           native(statuses));
    });
}

int startall(int count, abi::MPI_Request* requests) {
    const auto by_mpi = [&] { return mpi.Startall(count, native(requests)); };
    const auto work = [&] {
        const int result = library->messages != nullptr
                               ? persistent::start(*library->messages, count, native(requests))
                               : by_mpi();
        if (result == MPI_SUCCESS) { started(count, requests); }
        return result;
    };
    return guarded_call(work, by_mpi);
}

int start(abi::MPI_Request* request) {
    const auto by_mpi = [&] { return mpi.Start(native(request)); };
    const auto work = [&] {
        const int result = library->messages != nullptr
                               ? persistent::start(*library->messages, 1, native(request))
                               : by_mpi();
        if (result == MPI_SUCCESS) { started(1, request); }
        return result;
    };
    return guarded_call(work, by_mpi);
}

int request_free(abi::MPI_Request* request) {
    const Turn turn;
    bool is_kept = false;
    if (request != nullptr) {
        guarded([&] { library->nonblocking->freed(*native(request)); });
        guarded([&] { is_kept = library->requests.freed(*native(request)); });
    }
    if (!is_kept) { return mpi.Request_free(native(request)); }
    *native(request) = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

} // namespace nodeaware::requests
