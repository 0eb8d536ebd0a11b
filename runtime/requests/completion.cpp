#include "runtime/requests/completion.hpp"

#include "runtime/mpi/errors_return.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace nodeaware::completion {

namespace {

/// Open MPI frees the requests of a call that have failed, persistent ones, too. Of these it
/// forgets the errors where it looks at several of them and finds no other (Errors::forgotten).
#ifdef OPEN_MPI
constexpr bool frees_failed = true;
#else
constexpr bool frees_failed = false;
#endif
enum class Errors { told, forgotten };

/// The requests of one call as MPI is to see them: the library's own in place of persistent ones
/// that the library executes. Afterwards tells observers and the application what has become of
/// them.
class Call {
  public:
    Call(Context context, int count, MPI_Request* given, MPI_Status* statuses, int status_count)
        : requests_(context.requests), count_(static_cast<size_t>(std::max(count, 0))),
          given_(given), statuses_(statuses) {
        if (given == nullptr) { count_ = 0; }
        if (requests_.active_persistent > 0) { swap(); }
        const auto& observed = requests_.observed();
        has_observed_ =
            !observed.empty() && std::any_of(given, given + count_, [&](MPI_Request request) {
                return observed.count(request) > 0;
            });
        has_failures_ = requests_.has_failures();
        if (!has_observed_ && !has_failures_) { return; }
        before_.assign(data(), data() + count_);
        const bool ignores = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE;
        if (has_observed_ && ignores) {
            own_statuses_.resize(static_cast<size_t>(std::max(status_count, 1)));
            statuses_ = own_statuses_.data();
        }
        has_statuses_ = statuses_ != MPI_STATUSES_IGNORE && statuses_ != MPI_STATUS_IGNORE;
    }

    MPI_Request* data() { return seen_.empty() ? given_ : seen_.data(); }
    MPI_Status* statuses() { return statuses_; }

    /// MPI has completed request `index` and no other, or none (-1), and returned `code`. What the
    /// application's call is to return.
    int completed_one(int code, int index, Errors of_persistent) {
        update();
        if (index < 0 || before_.empty()) { return code; }
        const auto at = static_cast<size_t>(index);
        observe(before_[at], has_statuses_ && code == MPI_SUCCESS ? statuses_ : nullptr);
        const auto failure = take_failure(at, of_persistent);
        if (!failure) { return code; }
        free_failed();
        return code == MPI_SUCCESS ? raise(*failure, false) : code;
    }

    /// MPI has completed requests, `done` of them: those of the `indices`, or all (nullptr) if the
    /// code tells no better. Their statuses stand one after the other.
    int completed_several(int code, int done, const int* indices, Errors of_persistent) {
        const bool knows = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
        const std::vector<MPI_Request> after(data(), data() + count_);
        update();
        if (before_.empty() || !knows) { return code; }
        std::optional<Requests::Failure> first;
        for (int i = 0; i < done; ++i) {
            const auto index = static_cast<size_t>(indices == nullptr ? i : indices[i]);
            const MPI_Request request = before_[index];
            const bool is_over =
                code == MPI_SUCCESS || indices != nullptr || after[index] == MPI_REQUEST_NULL;
            if (!is_over) { continue; }
            MPI_Status* const status = has_statuses_ ? statuses_ + i : nullptr;
            const bool is_well =
                code == MPI_SUCCESS || (status != nullptr && status->MPI_ERROR == MPI_SUCCESS);
            observe(request, is_well ? status : nullptr);
            failures_.push_back({i, take_failure(index, of_persistent)});
            if (failures_.back().failure && !first) { first = failures_.back().failure; }
        }
        if (!first) { return code; }
        free_failed();
        return tell(code, *first);
    }

  private:
    struct Outcome {
        int position;
        std::optional<Requests::Failure> failure;
    };

    bool is_swapped(size_t index) const { return !swapped_.empty() && swapped_[index] != nullptr; }

    /// Of a request that MPI has completed now.
    std::optional<Requests::Failure> take_failure(size_t index, Errors of_persistent) {
        const auto failure = requests_.take_failure(before_[index]);
        if (!failure) { return std::nullopt; }
        if (is_swapped(index)) {
            if (frees_failed && of_persistent == Errors::forgotten) { return std::nullopt; }
            failed_.push_back(index);
        }
        return failure;
    }

    /// One has failed: those of the library that have, too, are gone with it.
    void free_failed() {
        if (!frees_failed) { return; }
        for (size_t i = 0; i < count_; ++i) {
            if (!requests_.take_failure(before_[i])) { continue; }
            mpi.Wait(&before_[i], MPI_STATUS_IGNORE); // is complete
            if (is_swapped(i)) {
                swapped_[i]->active = MPI_REQUEST_NULL;
                --requests_.active_persistent;
                failed_.push_back(i);
            } else {
                given_[i] = MPI_REQUEST_NULL;
            }
        }
        for (const size_t i : failed_) {
            requests_.freed(given_[i]);
            mpi.Request_free(&given_[i]);
        }
    }

    /// At least one of the library's own has failed: only now do statuses tell of errors.
    int tell(int code, const Requests::Failure& first) {
        for (const auto& [position, failure] : failures_) {
            if (!has_statuses_ || (!failure && code == MPI_ERR_IN_STATUS)) { continue; }
            statuses_[position].MPI_ERROR = failure ? failure->code : MPI_SUCCESS;
        }
        return code == MPI_SUCCESS ? raise(first, true) : code; // MPI has raised one already
    }

    void observe(MPI_Request request, const MPI_Status* status) {
        if (!has_observed_) { return; }
        const auto found = requests_.observed().find(request);
        if (found == requests_.observed().end()) { return; }
        ReceiveObserver* const observer = found->second;
        requests_.observed().erase(found);
        if (status != nullptr) {
            observer->received(*status);
        } else {
            observer->received_unknown();
        }
    }

    void swap() {
        auto& persistent = requests_.persistent();
        for (size_t i = 0; i < count_; ++i) {
            const auto found = persistent.find(given_[i]);
            if (found == persistent.end() || found->second.active == MPI_REQUEST_NULL) { continue; }
            if (seen_.empty()) {
                seen_.assign(given_, given_ + count_);
                swapped_.assign(count_, nullptr);
            }
            seen_[i] = found->second.active;
            swapped_[i] = &found->second;
        }
    }

    /// Gives the application what its handles have become.
    void update() {
        if (seen_.empty()) { return; }
        for (size_t i = 0; i < count_; ++i) {
            if (swapped_[i] == nullptr) {
                given_[i] = seen_[i];
            } else if (seen_[i] == MPI_REQUEST_NULL) {
                swapped_[i]->active = MPI_REQUEST_NULL;
                --requests_.active_persistent;
            }
        }
        seen_.clear();
    }

    Requests& requests_;
    size_t count_;
    MPI_Request* given_;
    MPI_Status* statuses_;
    bool has_statuses_ = false;
    std::vector<MPI_Request> seen_;
    std::vector<PersistentRequest*> swapped_;
    bool has_observed_ = false;
    bool has_failures_ = false;
    std::vector<MPI_Request> before_; ///< as MPI has seen them, if anybody needs to know
    std::vector<MPI_Status> own_statuses_;
    std::vector<Outcome> failures_;
    std::vector<size_t> failed_; ///< persistent ones
};

/// Request_get_status without the handler of MPICH, which is called when the request is completed.
bool is_complete(MPI_Request request) {
    int flag = 0;
    const CompletionErrorsReturn errors_return;
    const int code = mpi.Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || flag != 0;
}

int look(Context context, MPI_Request* request, int* flag, MPI_Status* status) {
    Call call(context, 1, request, status, 1);
    const int code = mpi.Test(call.data(), flag, call.statuses());
    const bool is_over = code != MPI_SUCCESS || *flag != 0;
    if (is_over) { context.requests.completions.count(); }
    return call.completed_one(code, is_over ? 0 : -1, Errors::told);
}

} // namespace

int test(Context context, MPI_Request* request, int* flag, MPI_Status* status) {
    context.progress.advance();
    return look(context, request, flag, status);
}

int wait(Context context, MPI_Request* request, MPI_Status* status) {
    if (!context.progress.is_busy()) {
        Call call(context, 1, request, status, 1);
        const int code = mpi.Wait(call.data(), call.statuses());
        context.requests.completions.count();
        return call.completed_one(code, 0, Errors::told);
    }
    int code = MPI_SUCCESS;
    context.progress.wait_until([&] {
        int flag = 0;
        code = look(context, request, &flag, status);
        return code != MPI_SUCCESS || flag != 0;
    });
    return code;
}

int testall(Context context, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    context.progress.advance();
    Call call(context, count, requests, statuses, count);
    const int code = mpi.Testall(count, call.data(), flag, call.statuses());
    const bool is_over = code != MPI_SUCCESS || *flag != 0;
    if (is_over) { context.requests.completions.count(); }
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
    const bool has_index = is_over && index != nullptr && *index >= 0 && *index < count;
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
    if (!knows || *done != 0) { context.requests.completions.count(); }
    return call.completed_several(code, knows ? std::max(*done, 0) : 0, indices, Errors::told);
}

int waitall(Context context, int count, MPI_Request* requests, MPI_Status* statuses) {
    if (requests != nullptr && context.progress.is_busy()) {
        int next = 0;
        // Not MPI_Testall, with which MPICH 4.0 fails where its own persistent collectives are.
        context.progress.wait_until([&] {
            for (; next < count; ++next) {
                const MPI_Request request = context.requests.seen_by_mpi(requests[next]);
                if (request != MPI_REQUEST_NULL && !is_complete(request)) { return false; }
            }
            return true;
        });
    }
    Call call(context, count, requests, statuses, count);
    const int code = mpi.Waitall(count, call.data(), call.statuses());
    context.requests.completions.count();
    const bool ignores = statuses == MPI_STATUSES_IGNORE;
    return call.completed_several(code, count, nullptr, ignores ? Errors::told : Errors::forgotten);
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
    if (!frees_failed || persistent.empty()) { return false; }
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
    if (!context.progress.is_busy()) { return wait_any(context, count, requests, index, status); }
    const size_t given = requests == nullptr ? 0 : static_cast<size_t>(std::max(count, 0));
    int code = MPI_SUCCESS;
    context.progress.wait_until([&] {
        if (has_complete_persistent(context, {requests, given})) {
            code = wait_any(context, count, requests, index, status); // at once
            return true;
        }
        int flag = 0;
        code = test_any(context, count, requests, index, &flag, status, Errors::told);
        return code != MPI_SUCCESS || flag != 0;
    });
    return code;
}

int waitsome(Context context, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses) {
    const bool is_refused = count < 0 || done == nullptr || indices == nullptr;
    if (is_refused || !context.progress.is_busy()) {
        Call call(context, count, requests, statuses, count);
        const int code = mpi.Waitsome(count, call.data(), done, indices, call.statuses());
        context.requests.completions.count();
        const bool knows = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
        return call.completed_several(code, knows ? std::max(*done, 0) : 0, indices, Errors::told);
    }
    int code = MPI_SUCCESS;
    context.progress.wait_until([&] {
        code = testsome(context, count, requests, done, indices, statuses);
        return code != MPI_SUCCESS || *done != 0;
    });
    return code;
}

int get_status(Context context, MPI_Request request, int* flag, MPI_Status* status) {
    context.progress.advance();
    request = context.requests.seen_by_mpi(request);
    const int code = mpi.Request_get_status(request, flag, status);
#ifndef OPEN_MPI // which says nothing of errors here
    if (code == MPI_SUCCESS && *flag != 0) {
        if (const auto failure = context.requests.find_failure(request)) {
            return raise(*failure, false);
        }
    }
#endif
    return code;
}

int cancel(Context context, MPI_Request* request) {
    if (request == nullptr) { return mpi.Cancel(request); }
    MPI_Request seen = context.requests.seen_by_mpi(*request);
    if (seen != *request) { return mpi.Cancel(&seen); }
    context.requests.own_was_cancelled = false;
    const int code = mpi.Cancel(request);
    if (code == MPI_SUCCESS && !context.requests.own_was_cancelled) {
        context.requests.cancelled(seen);
    }
    return code;
}

} // namespace nodeaware::completion
