#pragma once

#include "runtime/device/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware::device {

/// Bytes that follow each other in a message and lie in several places.
class Runs {
  public:
    /// Behind those before. Throws std::bad_alloc.
    void add(uint64_t address, uint64_t bytes) {
        if (bytes == 0) { return; }
        if (!runs_.empty() && runs_.back().address + (bytes_ - runs_.back().first) == address) {
            bytes_ += bytes;
            return;
        }
        runs_.push_back({bytes_, address});
        bytes_ += bytes;
    }
    size_t count() const { return runs_.size(); }
    uint64_t bytes() const { return bytes_; }

    /// The places of the bytes from one on, one after the other.
    class Reader {
      public:
        explicit Reader(const Runs& runs, uint64_t first = 0)
            : runs_(runs), next_(first),
              run_(static_cast<size_t>(
                  std::upper_bound(runs.runs_.begin(), runs.runs_.end(), first,
                                   [](uint64_t byte, const Run& run) { return byte < run.first; }) -
                  runs.runs_.begin() - (runs.runs_.empty() ? 0 : 1))) {}
        /// The next bytes that lie side by side, as many as there are up to `most`; all of them are
        /// to be taken.
        Span peek(uint64_t most) const {
            const Run& run = runs_.runs_[run_];
            return {run.address + (next_ - run.first), std::min(most, runs_.end_of(run_) - next_)};
        }
        void take(uint64_t bytes) {
            next_ += bytes;
            if (next_ == runs_.end_of(run_)) { ++run_; }
        }

      private:
        const Runs& runs_;
        uint64_t next_;
        size_t run_;
    };

    /// Calls `take(first, span)` for each run: its place, and its first byte of all.
    template <class Take> void for_each(Take take) const {
        for (size_t i = 0; i < runs_.size(); ++i) {
            take(runs_[i].first, Span{runs_[i].address, end_of(i) - runs_[i].first});
        }
    }

  private:
    struct Run {
        uint64_t first; ///< byte of all
        uint64_t address;
    };
    uint64_t end_of(size_t run) const {
        return run + 1 < runs_.size() ? runs_[run + 1].first : bytes_;
    }

    std::vector<Run> runs_;
    uint64_t bytes_ = 0;
};

} // namespace nodeaware::device
