#pragma once

#include "runtime/mpi/errors_return.hpp"
#include "runtime/requests/completion.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace nodeaware::completion {

/// Open MPI frees the requests of a call that have failed, persistent ones, too. Of these it
/// forgets the errors where it looks at several of them and finds no other (Errors::forgotten).
inline bool frees_failed() { return is_open_mpi(); }
/// MPICH's MPI_Waitall stops at the first that fails, and those behind it are pending.
inline bool stops_at_failure() { return !is_open_mpi(); }
/// MPICH calls the handler of MPI_COMM_WORLD for requests that fail, but that of the communicator
/// for a persistent one that is completed alone (Errors::told_alone).
enum class Errors { told, told_alone, forgotten };

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
        has_named_ = std::any_of(given, given + count_, [&](MPI_Request request) {
            return requests_.named.find(request) != nullptr;
        });
        has_failures_ = requests_.has_failures();
        may_have_persistent_ = !requests_.persistent().empty();
        if (!has_observed_ && !has_named_ && !may_have_persistent_ && !has_failures_) { return; }
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

    /// How many MPI_Waitall is to complete.
    int up_to_failure() const {
        if (!stops_at_failure() || !has_failures_) { return static_cast<int>(count_); }
        const auto has_failed = [&](MPI_Request request) {
            return requests_.find_failure(request).has_value();
        };
        const auto first = std::find_if(before_.begin(), before_.end(), has_failed);
        return static_cast<int>(first - before_.begin()) + (first != before_.end() ? 1 : 0);
    }
    /// Those behind the first `several` are left as they are.
    void leave_pending(int several) {
        for (size_t i = static_cast<size_t>(several); has_statuses_ && i < count_; ++i) {
            statuses_[i].MPI_ERROR = given_[i] == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_ERR_PENDING;
        }
    }

    /// MPI has completed request `index` and no other, or none (-1), and returned `code`. What the
    /// application's call is to return.
    int completed_one(int code, int index, Errors of_persistent) {
        update();
        if (code != MPI_SUCCESS) { forget_freed(); }
        if (index < 0 || before_.empty()) { return code; }
        const auto at = static_cast<size_t>(index);
        observe(before_[at], has_statuses_ && code == MPI_SUCCESS ? statuses_ : nullptr);
        const auto failure = take_failure(at, of_persistent);
        if (!failure) { return code; }
        free_failed();
        if (code != MPI_SUCCESS) { return code; } // MPI has raised one already
        if (of_persistent != Errors::told_alone || !is_swapped(at)) {
            return raise(*failure, false);
        }
        mpi.Comm_call_errhandler(failure->comm, failure->code);
        return failure->code;
    }

    /// MPI has completed requests, `done` of them: those of the `indices`, or all (nullptr) if the
    /// code tells no better. Their statuses stand one after the other.
    int completed_several(int code, int done, const int* indices, Errors of_persistent) {
        const bool knows = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
        const std::vector<MPI_Request> after(data(), data() + count_);
        update();
        if (code != MPI_SUCCESS) { forget_freed(); }
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
            if (frees_failed() && of_persistent == Errors::forgotten) { return std::nullopt; }
            failed_.push_back(index);
        }
        return failure;
    }

    /// One has failed: those of the library that have, too, are gone with it.
    void free_failed() {
        if (!frees_failed()) { return; }
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
            if (!requests_.freed(given_[i])) { mpi.Request_free(&given_[i]); }
            given_[i] = MPI_REQUEST_NULL;
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
        if (has_named_) { requests_.named.forget(request); }
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

    /// Open MPI frees requests that have failed, even persistent ones, and uses their handles
    /// again.
    void forget_freed() {
        if (!may_have_persistent_) { return; }
        for (size_t i = 0; i < count_; ++i) {
            const bool is_freed = given_[i] == MPI_REQUEST_NULL && before_[i] != MPI_REQUEST_NULL;
            if (is_freed && !is_swapped(i)) { requests_.forget_persistent(before_[i]); }
        }
    }

    Requests& requests_;
    size_t count_;
    MPI_Request* given_;
    MPI_Status* statuses_;
    bool has_statuses_ = false;
    std::vector<MPI_Request> seen_;
    std::vector<PersistentRequest*> swapped_;
    bool has_observed_ = false;
    bool has_named_ = false; ///< see NamedReceives
    bool has_failures_ = false;
    bool may_have_persistent_ = false;
    std::vector<MPI_Request> before_; ///< as MPI has seen them, if anybody needs to know
    std::vector<MPI_Status> own_statuses_;
    std::vector<Outcome> failures_;
    std::vector<size_t> failed_; ///< persistent ones
};

} // namespace nodeaware::completion
