#pragma once

#include "runtime/mpi/errors_return.hpp"
#include "runtime/point_to_point/pending_send.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace nodeaware {

/// Sends of MPI that the library looks after, until they are over: their bytes are the library's,
/// or the application waits for them.
class DetachedSends {
  public:
    void add(MPI_Request request, std::vector<std::byte> bytes,
             std::shared_ptr<PendingSend> pending = nullptr) {
        sends_.push_back({request, std::move(bytes), std::move(pending)});
    }
    bool empty() const { return sends_.empty(); }

    /// Looks at some of them. Throws MpiError if one that nobody waits for has failed.
    void advance() {
        if (sends_.empty()) { return; }
        const CompletionErrorsReturn errors_return;
        for (size_t looks = std::min(most_looks, sends_.size()); looks > 0; --looks) {
            if (next_ >= sends_.size()) { next_ = 0; }
            if (!is_over(sends_[next_])) {
                ++next_;
                continue;
            }
            std::swap(sends_[next_], sends_.back());
            sends_.pop_back();
            if (sends_.empty()) { return; }
        }
    }

  private:
    static constexpr size_t most_looks = 64;

    struct Send {
        MPI_Request request;
        std::vector<std::byte> bytes;
        std::shared_ptr<PendingSend> pending;
    };

    static bool is_over(Send& send) {
        int flag = 0;
        const int code = mpi.Test(&send.request, &flag, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS && send.pending == nullptr) { throw MpiError(code, "MPI_Test"); }
        if (flag == 0 && code == MPI_SUCCESS) { return false; }
        if (send.pending != nullptr) { send.pending->settle(code); }
        return true;
    }

    std::vector<Send> sends_;
    size_t next_ = 0;
};

} // namespace nodeaware
