#include "runtime/requests/completion.hpp"

#include "runtime/mpi/hidden_errors.hpp"
#include "runtime/requests/completing_call.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware::completion {

namespace {

/// Who waits must not do so in MPI: there is work, or other threads might get the handle of what
/// MPI has completed before this one has told observers of it.
bool has_to_look(Context context) { return context.progress.is_busy() || Turn::are_taken(); }

/// Request_get_status without the handler of MPICH, which is called when the request is completed.
bool is_complete(MPI_Request request) {
    int flag = 0;
    const CompletionErrorsReturn errors_return;
    const int code = mpi.Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || flag != 0;
}

/// Whether requests may be over. MPI takes long to say that they are not, and the library has just
/// looked; now and then it is asked nevertheless, for other messages to go on.
class Looks {
  public:
    explicit Looks(const Requests& requests) : requests_(requests) {}

    /// Not by MPI_Test, which looks for messages in any case.
    bool is_over(MPI_Request given) {
        const MPI_Request request = requests_.seen_by_mpi(given);
        if (request == MPI_REQUEST_NULL) { return true; }
        constexpr uint32_t seldom = 8;
        const bool may_be_over = !requests_.is_open(request) || ++in_vain_ % seldom == 0;
        const bool is_over = may_be_over && is_complete(request);
        if (!is_over && may_be_over) { ++asked_; }
        return is_over;
    }

    /// MPI may have to be asked to complete the request: MPICH 4.0 looks after those of MPI-IO, and
    /// says that they are complete, only then.
    bool have_to_complete() const {
        constexpr uint32_t seldom = 64;
        return !is_open_mpi() && asked_ % seldom == seldom - 1;
    }

  private:
    const Requests& requests_;
    uint32_t in_vain_ = 0;
    uint32_t asked_ = 0; ///< MPI, in vain
};

/// Whether the request is over; then `told`: what the application's call is to return.
bool is_completed(Context context, MPI_Request* request, int* flag, MPI_Status* status, int* told) {
    Call call(context, 1, request, status, 1);
    const int code = mpi.Test(call.data(), flag, call.statuses());
    const bool is_over = code != MPI_SUCCESS || *flag != 0;
    if (is_over) { context.requests.completions.count(); }
    *told = call.completed_one(code, is_over ? 0 : -1, Errors::told_alone);
    return is_over;
}

} // namespace

int test(Context context, MPI_Request* request, int* flag, MPI_Status* status) {
    context.progress.advance();
    int told = MPI_SUCCESS;
    is_completed(context, request, flag, status, &told);
    context.progress.has_looked(told == MPI_SUCCESS && *flag == 0);
    return told;
}

int wait(Context context, MPI_Request* request, MPI_Status* status) {
    if (request != nullptr && has_to_look(context)) {
        Looks looks(context.requests);
        std::optional<int> told;
        context.progress.wait_until([&] {
            if (looks.is_over(*request)) { return true; }
            int flag = 0;
            int code = MPI_SUCCESS;
            if (looks.have_to_complete() && is_completed(context, request, &flag, status, &code)) {
                told = code;
            }
            return told.has_value();
        });
        if (told) { return *told; }
    }
    Call call(context, 1, request, status, 1);
    const int code = mpi.Wait(call.data(), call.statuses());
    context.requests.completions.count();
    return call.completed_one(code, 0, Errors::told_alone);
}

int testall(Context context, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    context.progress.advance();
    Call call(context, count, requests, statuses, count);
    const int code = mpi.Testall(count, call.data(), flag, call.statuses());
    const bool is_over = code != MPI_SUCCESS || *flag != 0;
    if (is_over) { context.requests.completions.count(); }
    context.progress.has_looked(!is_over);
    return call.completed_several(code, is_over ? count : 0, nullptr, Errors::forgotten);
}

namespace {

int test_any(Context context, int count, MPI_Request* requests, int* index, int* flag,
             MPI_Status* status, Errors of_persistent) {
    context.progress.advance();
    Call call(context, count, requests, status, 1);
    const int code = mpi.Testany(count, call.data(), index, flag, call.statuses());
    const bool is_over = code != MPI_SUCCESS || *flag != 0;
    if (is_over) { context.requests.completions.count(); }
    context.progress.has_looked(!is_over);
    const bool is_told = code != MPI_SUCCESS || *flag != hidden_errors::untold;
    const bool has_index = is_over && is_told && index != nullptr && *index >= 0 && *index < count;
    return call.completed_one(code, has_index ? *index : -1, of_persistent);
}

} // namespace

int testany(Context context, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* status) {
    return test_any(context, count, requests, index, flag, status, Errors::forgotten);
}

int testsome(Context context, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses) {
    context.progress.advance();
    Call call(context, count, requests, statuses, count);
    const int code = mpi.Testsome(count, call.data(), done, indices, call.statuses());
    const bool knows = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
    const bool is_in_vain = knows && *done == 0;
    if (!is_in_vain) { context.requests.completions.count(); }
    context.progress.has_looked(is_in_vain);
    return call.completed_several(code, knows ? std::max(*done, 0) : 0, indices, Errors::told);
}

namespace {

/// Requests of an MPI_Waitall that had to be completed before the others, see Looks.
class CompletedBefore {
  public:
    CompletedBefore(Requests& requests, MPI_Request* given) : requests_(requests), given_(given) {}

    /// Only of such that the library knows nothing of: false else, too.
    bool complete(int i) {
        const MPI_Request request = given_[i];
        if (requests_.knows(request)) { return false; }
        int flag = 0;
        MPI_Status status;
        const CompletionErrorsReturn errors_return;
        const int code = mpi.Test(&given_[i], &flag, &status);
        if (code == MPI_SUCCESS && flag == 0) { return false; }
        auto failure = requests_.take_failure(request);
        if (code != MPI_SUCCESS) { failure = {MPI_COMM_NULL, code}; }
        status.MPI_ERROR = failure ? failure->code : MPI_SUCCESS;
        if (!failure_) { failure_ = failure; }
        completed_.push_back({i, status});
        return true;
    }

    /// After the others, `code` of which is what the application's call is to return else.
    int tell(int count, MPI_Status* statuses, int code) const {
        const bool is_told = failure_ && code == MPI_SUCCESS;
        if (statuses != MPI_STATUSES_IGNORE) {
            for (int i = 0; is_told && i < count; ++i) { statuses[i].MPI_ERROR = MPI_SUCCESS; }
            for (const auto& [i, status] : completed_) {
                const int error = failure_ ? status.MPI_ERROR : statuses[i].MPI_ERROR;
                statuses[i] = status;
                statuses[i].MPI_ERROR = error;
            }
        }
        return is_told ? raise(*failure_, true) : code;
    }

  private:
    Requests& requests_;
    MPI_Request* given_;
    std::vector<std::pair<int, MPI_Status>> completed_;
    std::optional<Requests::Failure> failure_;
};

} // namespace

int waitall(Context context, int count, MPI_Request* requests, MPI_Status* statuses) {
    CompletedBefore before(context.requests, requests);
    if (requests != nullptr && has_to_look(context)) {
        int next = 0;
        Looks looks(context.requests);
        // Not MPI_Testall, with which MPICH 4.0 fails where its own persistent collectives are.
        context.progress.wait_until([&] {
            while (next < count && (looks.is_over(requests[next]) ||
                                    (looks.have_to_complete() && before.complete(next)))) {
                ++next;
            }
            return next >= count;
        });
    }
    Call call(context, count, requests, statuses, count);
    const int several = requests == nullptr || count < 0 ? count : call.up_to_failure();
    const int code = mpi.Waitall(several, call.data(), call.statuses());
    context.requests.completions.count();
    call.leave_pending(std::max(several, 0));
    const bool ignores = statuses == MPI_STATUSES_IGNORE;
    const int told =
        call.completed_several(code, several, nullptr, ignores ? Errors::told : Errors::forgotten);
    return before.tell(count, statuses, told);
}

namespace {

int wait_any(Context context, int count, MPI_Request* requests, int* index, MPI_Status* status) {
    Call call(context, count, requests, status, 1);
    const int code = mpi.Waitany(count, call.data(), index, call.statuses());
    context.requests.completions.count();
    const bool has_index = index != nullptr && *index >= 0 && *index < count;
    return call.completed_one(code, has_index ? *index : -1, Errors::told);
}

/// A persistent receive that MPI executes is complete: has it failed, Open MPI's MPI_Testany would
/// forget that. Inactive ones are complete, too, but have met no message.
bool has_complete_persistent(Context context, std::span<const MPI_Request> requests) {
    const auto& persistent = context.requests.persistent();
    if (!frees_failed() || persistent.empty()) { return false; }
    return std::any_of(requests.begin(), requests.end(), [&](MPI_Request request) {
        const auto found = persistent.find(request);
        const bool is_of_interest = found != persistent.end() &&
                                    found->second.mode == PersistentRequest::Mode::receive &&
                                    found->second.active == MPI_REQUEST_NULL;
        if (!is_of_interest) { return false; }
        int flag = 0;
        MPI_Status status;
        const int code = mpi.Request_get_status(request, &flag, &status);
        return code == MPI_SUCCESS && flag != 0 && status.MPI_SOURCE != MPI_ANY_SOURCE;
    });
}

} // namespace

int waitany(Context context, int count, MPI_Request* requests, int* index, MPI_Status* status) {
    if (!has_to_look(context)) { return wait_any(context, count, requests, index, status); }
    const size_t given = requests == nullptr ? 0 : static_cast<size_t>(std::max(count, 0));
    int code = MPI_SUCCESS;
    context.progress.wait_until([&] {
        if (has_complete_persistent(context, {requests, given})) {
            code = wait_any(context, count, requests, index, status); // at once
            return true;
        }
        int flag = hidden_errors::untold;
        code = test_any(context, count, requests, index, &flag, status, Errors::told);
        if (flag == hidden_errors::untold) { return true; }
        const bool is_over = code != MPI_SUCCESS || flag != 0;
        if (code == MPI_SUCCESS && is_over && *index == MPI_UNDEFINED) {
            // None is active, of which MPICH's MPI_Testany tells no status.
            code = wait_any(context, count, requests, index, status);
        }
        return is_over;
    });
    return code;
}

int waitsome(Context context, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses) {
    const bool is_refused = count < 0 || done == nullptr || indices == nullptr;
    if (is_refused || !has_to_look(context)) {
        Call call(context, count, requests, statuses, count);
        const int code = mpi.Waitsome(count, call.data(), done, indices, call.statuses());
        context.requests.completions.count();
        const bool knows = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
        const int several = knows && done != nullptr ? std::max(*done, 0) : 0;
        return call.completed_several(code, several, indices, Errors::told);
    }
    int code = MPI_SUCCESS;
    const int before = *done;
    context.progress.wait_until([&] {
        *done = hidden_errors::untold;
        code = testsome(context, count, requests, done, indices, statuses);
        return code != MPI_SUCCESS || *done != 0;
    });
    if (*done == hidden_errors::untold) { *done = before; }
    return code;
}

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

int cancel(Context context, MPI_Request* request, int (*cancel_one)(MPI_Request*)) {
    if (request == nullptr) { return mpi.Cancel(request); }
    MPI_Request seen = context.requests.seen_by_mpi(*request);
    if (seen != *request) { return cancel_one(&seen); }
    if (!context.requests.may_cancel(seen)) { return MPI_SUCCESS; }
    context.requests.own_was_cancelled = false;
    const int code = cancel_one(request);
    if (code == MPI_SUCCESS && !context.requests.own_was_cancelled) {
        context.requests.cancelled(seen);
    }
    return code;
}

} // namespace nodeaware::completion
