#pragma once

#include "runtime/point_to_point/pending_send.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace nodeaware {

/// Buffered messages of the application that the engines have not let go of. Those in containers
/// are not among them: they leave whatever their receivers do.
class BufferedSends {
  public:
    /// `will_match`: says that its receive is posted, so that nobody needs to wait for the message,
    /// whose receiver may be away in MPI.
    void add(std::shared_ptr<PendingSend> pending, uint64_t bytes,
             std::function<bool()> will_match) {
        if (pending == nullptr || pending->is_over()) { return; }
        sends_.push_back({std::move(pending), bytes, std::move(will_match)});
    }
    /// All have left.
    bool are_over() {
        std::erase_if(sends_, [](const Send& send) { return send.pending->is_over(); });
        return sends_.empty();
    }
    /// Or will, whatever this rank does.
    bool may_be_detached() {
        return are_over() || std::all_of(sends_.begin(), sends_.end(),
                                         [](const Send& send) { return send.will_match(); });
    }
    /// Of those that may not be detached.
    uint64_t bytes() {
        uint64_t sum = 0;
        if (are_over()) { return sum; }
        for (const Send& send : sends_) { sum += send.will_match() ? 0 : send.bytes; }
        return sum;
    }

    /// As much as these has been found to fit into the memory that is attached.
    bool is_known_to_fit(uint64_t bytes) const { return bytes <= fits_; }
    void note_fits(uint64_t bytes) { fits_ = std::max(fits_, bytes); }
    /// Other memory may be attached from now on.
    void detached() { fits_ = 0; }

  private:
    struct Send {
        std::shared_ptr<PendingSend> pending;
        uint64_t bytes;
        std::function<bool()> will_match;
    };
    std::vector<Send> sends_;
    uint64_t fits_ = 0;
};

} // namespace nodeaware
