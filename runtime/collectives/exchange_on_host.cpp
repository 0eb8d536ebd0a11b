#include "runtime/collectives/exchange_on_host.hpp"

#include "runtime/mpi/errors_return.hpp"

#include <new>
#include <optional>

namespace nodeaware {

ExchangeOnHost::~ExchangeOnHost() {
    if (is_persistent_ && request_ != MPI_REQUEST_NULL) { mpi.Request_free(&request_); }
}

int ExchangeOnHost::begin(const std::function<int(MPI_Request*)>& call) {
    buffers_->begin();
    is_started_ = true;
    return call(&request_);
}

int ExchangeOnHost::make_persistent(const std::function<int(MPI_Request*)>& call) {
    const int code = call(&request_);
    is_persistent_ = code == MPI_SUCCESS;
    return code;
}

/// The others start theirs, so this rank does in any case.
void ExchangeOnHost::start() {
    int code = MPI_SUCCESS;
    try {
        buffers_->look_again();
    } catch (const MpiError& failure) { code = failure.code; } catch (const std::bad_alloc&) {
        code = MPI_ERR_NO_MEM;
    }
    buffers_->begin();
    const int started = mpi.Start(&request_);
    is_started_ = started == MPI_SUCCESS;
    error_ = code != MPI_SUCCESS ? code : started;
}

/// An error is told by the function that completes the application's request. Open MPI would call
/// the error handler of the communicator here.
int ExchangeOnHost::complete() {
    std::optional<ErrorsReturn> errors_return;
    if (is_open_mpi() && is_alive()) { errors_return.emplace(comm_); }
    return mpi.Wait(&request_, MPI_STATUS_IGNORE);
}

bool ExchangeOnHost::progress() {
    if (!is_started_) { return true; }
    int is_over = 0;
    const int code = mpi.Request_get_status(request_, &is_over, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && is_over == 0) { return false; }
    is_started_ = false;
    const int completed = complete();
    const int finished = buffers_->finish(completed != MPI_SUCCESS ? completed : code);
    if (error_ == MPI_SUCCESS) { error_ = finished; }
    return true;
}

} // namespace nodeaware
