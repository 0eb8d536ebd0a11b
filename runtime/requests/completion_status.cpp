// The functions that tell of requests, and change none of them.
#include "runtime/requests/completion.hpp"

#include <optional>
#include <vector>

namespace nodeaware::completion {

int get_status(Context context, MPI_Request request, int* flag, MPI_Status* status) {
    context.progress.advance();
    request = context.requests.seen_by_mpi(request);
    const int code = mpi.Request_get_status(request, flag, status);
    // Open MPI says nothing of errors here.
    if (!is_open_mpi() && code == MPI_SUCCESS && *flag != 0) {
        if (const auto failure = context.requests.find_failure(request)) {
            return raise(*failure, false);
        }
    }
    return code;
}

namespace {

/// Functions of MPI 4.1, which change none of the requests. They are MPI's own, and ask for the
/// requests that it knows.
class StatusCall {
  public:
    StatusCall(Context context, int count, const MPI_Request* requests)
        : requests_(context.requests), given_(requests) {
        context.progress.advance();
        for (int i = 0; requests != nullptr && i < count; ++i) {
            seen_.push_back(context.requests.seen_by_mpi(requests[i]));
        }
    }

    const MPI_Request* data() const { return seen_.empty() ? given_ : seen_.data(); }

    /// Of what MPI has told, `indices` of the requests or all (nullptr), `done` of them. Open MPI
    /// says nothing of errors here.
    int tell(int code, int done, const int* indices, MPI_Status* statuses) const {
        if (is_open_mpi() || code != MPI_SUCCESS || !requests_.has_failures()) { return code; }
        std::optional<Requests::Failure> first;
        std::vector<int> errors;
        for (int i = 0; i < done; ++i) {
            const auto at = static_cast<size_t>(indices == nullptr ? i : indices[i]);
            const auto failure = requests_.find_failure(seen_[at]);
            if (!first) { first = failure; }
            errors.push_back(failure ? failure->code : MPI_SUCCESS);
        }
        if (!first) { return code; }
        for (size_t i = 0; statuses != MPI_STATUSES_IGNORE && i < errors.size(); ++i) {
            statuses[i].MPI_ERROR = errors[i];
        }
        return raise(*first, true);
    }
    int tell_one(int code, int index) const {
        const bool is_one = index >= 0 && static_cast<size_t>(index) < seen_.size();
        if (is_open_mpi() || code != MPI_SUCCESS || !is_one) { return code; }
        const auto failure = requests_.find_failure(seen_[static_cast<size_t>(index)]);
        return failure ? raise(*failure, false) : code;
    }

  private:
    const Requests& requests_;
    const MPI_Request* given_;
    std::vector<MPI_Request> seen_;
};

} // namespace

int get_status_all(Context context, int count, const MPI_Request* requests, int* flag,
                   MPI_Status* statuses) {
    using Function = int(int, const MPI_Request*, int*, MPI_Status*);
    static auto* const function =
        reinterpret_cast<Function*>(find_mpi("MPI_Request_get_status_all"));
    if (function == nullptr) { return MPI_ERR_OTHER; }
    const StatusCall call(context, count, requests);
    const int code = function(count, call.data(), flag, statuses);
    return call.tell(code, code == MPI_SUCCESS && *flag != 0 ? count : 0, nullptr, statuses);
}

int get_status_any(Context context, int count, const MPI_Request* requests, int* index, int* flag,
                   MPI_Status* status) {
    using Function = int(int, const MPI_Request*, int*, int*, MPI_Status*);
    static auto* const function =
        reinterpret_cast<Function*>(find_mpi("MPI_Request_get_status_any"));
    if (function == nullptr) { return MPI_ERR_OTHER; }
    const StatusCall call(context, count, requests);
    const int code = function(count, call.data(), index, flag, status);
    return call.tell_one(code, code == MPI_SUCCESS && *flag != 0 ? *index : -1);
}

int get_status_some(Context context, int count, const MPI_Request* requests, int* done,
                    int* indices, MPI_Status* statuses) {
    using Function = int(int, const MPI_Request*, int*, int*, MPI_Status*);
    static auto* const function =
        reinterpret_cast<Function*>(find_mpi("MPI_Request_get_status_some"));
    if (function == nullptr) { return MPI_ERR_OTHER; }
    const StatusCall call(context, count, requests);
    const int code = function(count, call.data(), done, indices, statuses);
    return call.tell(code, code == MPI_SUCCESS ? *done : 0, indices, statuses);
}

} // namespace nodeaware::completion
