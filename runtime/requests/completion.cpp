#include "runtime/requests/completion.hpp"

#include "runtime/mpi/hidden_errors.hpp"
#include "runtime/requests/completing_call.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace nodeaware::completion {

namespace {

/// Who waits must not do so in MPI: there is work, or other threads might get the handle of what
/// MPI has completed before this one has told observers of it.
bool has_to_look(Context context) {
    return context.progress.is_busy() || (Turn::are_taken() && context.requests.are_noted());
}

/// Other threads come in meanwhile, if they need not note what it does.
template <class Wait> int wait_by_mpi(Context context, Wait wait) {
    if (context.requests.are_noted()) { return wait(); }
    const Turn::Away away;
    return wait();
}

/// Nothing is to be noted any more while somebody waits, and there is no other work: the rest of
/// the wait is MPI's.
bool is_mpis(Context context) { return !context.requests.are_noted() && !has_to_look(context); }

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
    bool have_to_complete(MPI_Request request) const {
        if (is_open_mpi() || asked_ == 0) { return false; }
        const uint32_t seldom = requests_.knows(request) ? 64 : 8;
        return asked_ % seldom == seldom - 1 || (seldom == 8 && std::has_single_bit(asked_));
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
            if (looks.is_over(*request) || is_mpis(context)) { return true; }
            int flag = 0;
            int code = MPI_SUCCESS;
            if (looks.have_to_complete(*request) &&
                is_completed(context, request, &flag, status, &code)) {
                told = code;
            }
            return told.has_value();
        });
        if (told) { return *told; }
    }
    Call call(context, 1, request, status, 1);
    const int code = wait_by_mpi(context, [&] { return mpi.Wait(call.data(), call.statuses()); });
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
            while (next < count &&
                   (looks.is_over(requests[next]) ||
                    (looks.have_to_complete(requests[next]) && before.complete(next)))) {
                ++next;
            }
            return next >= count || is_mpis(context);
        });
    }
    Call call(context, count, requests, statuses, count);
    const int several = requests == nullptr || count < 0 ? count : call.up_to_failure();
    const int code =
        wait_by_mpi(context, [&] { return mpi.Waitall(several, call.data(), call.statuses()); });
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
    const int code = wait_by_mpi(
        context, [&] { return mpi.Waitany(count, call.data(), index, call.statuses()); });
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
    std::optional<int> code;
    context.progress.wait_until([&] {
        if (is_mpis(context)) { return true; }
        if (has_complete_persistent(context, {requests, given})) {
            code = wait_any(context, count, requests, index, status);
            return true;
        }
        int flag = hidden_errors::untold;
        const int told = test_any(context, count, requests, index, &flag, status, Errors::told);
        if (told == MPI_SUCCESS && flag == 0) { return false; }
        // Where none is active MPICH's MPI_Testany tells no status.
        const bool has_none =
            told == MPI_SUCCESS && flag != hidden_errors::untold && *index == MPI_UNDEFINED;
        code = has_none ? wait_any(context, count, requests, index, status) : told;
        return true;
    });
    return code ? *code : wait_any(context, count, requests, index, status);
}

namespace {

int wait_some(Context context, int count, MPI_Request* requests, int* done, int* indices,
              MPI_Status* statuses) {
    Call call(context, count, requests, statuses, count);
    const int code = wait_by_mpi(
        context, [&] { return mpi.Waitsome(count, call.data(), done, indices, call.statuses()); });
    context.requests.completions.count();
    const bool knows = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
    const int several = knows && done != nullptr ? std::max(*done, 0) : 0;
    return call.completed_several(code, several, indices, Errors::told);
}

} // namespace

int waitsome(Context context, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses) {
    const bool is_refused = count < 0 || done == nullptr || indices == nullptr;
    if (is_refused || !has_to_look(context)) {
        return wait_some(context, count, requests, done, indices, statuses);
    }
    std::optional<int> code;
    const int before = *done;
    context.progress.wait_until([&] {
        if (is_mpis(context)) { return true; }
        *done = hidden_errors::untold;
        const int told = testsome(context, count, requests, done, indices, statuses);
        if (told == MPI_SUCCESS && *done == 0) { return false; }
        code = told;
        return true;
    });
    if (*done == hidden_errors::untold || !code) { *done = before; }
    return code ? *code : wait_some(context, count, requests, done, indices, statuses);
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
