#pragma once

#include "runtime/point_to_point/pending_send.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace nodeaware {

/// Buffered messages of the application that the engines have not let go of. Those in containers
/// are not among them: they leave whatever their receivers do.
class BufferedSends {
  public:
    void add(std::shared_ptr<PendingSend> pending, uint64_t bytes) {
        if (pending == nullptr || pending->is_over()) { return; }
        sends_.push_back({std::move(pending), bytes});
    }
    /// All have left.
    bool are_over() {
        std::erase_if(sends_, [](const Send& send) { return send.pending->is_over(); });
        return sends_.empty();
    }
    uint64_t bytes() {
        uint64_t sum = 0;
        if (are_over()) { return sum; }
        for (const Send& send : sends_) { sum += send.bytes; }
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
    };
    std::vector<Send> sends_;
    uint64_t fits_ = 0;
};

} // namespace nodeaware
