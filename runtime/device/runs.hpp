#pragma once

#include "runtime/device/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nodeaware::device {

/// Bytes that follow each other in a message and lie in several places. Copies have the same list,
/// which is complete before there are any.
class Runs {
  public:
    /// Behind those before. Throws std::bad_alloc.
    void add(uint64_t address, uint64_t bytes) {
        if (bytes == 0) { return; }
        if (list_ == nullptr) { list_ = std::make_shared<List>(); }
        List& list = *list_;
        const bool goes_on =
            !list.runs.empty() &&
            list.runs.back().address + (list.bytes - list.runs.back().first) == address;
        if (!goes_on) { list.runs.push_back({list.bytes, address}); }
        list.bytes += bytes;
    }
    /// The same, so much further on.
    Runs at(uint64_t distance) const {
        Runs moved = *this;
        moved.base_ += distance;
        return moved;
    }
    size_t count() const { return runs().size(); }
    uint64_t bytes() const { return list_ == nullptr ? 0 : list_->bytes; }
    /// Bytes that the list itself takes.
    uint64_t memory() const { return count() * sizeof(Run); }

    /// The places of the bytes from one on, one after the other.
    class Reader {
      public:
        explicit Reader(const Runs& runs, uint64_t first = 0)
            : runs_(runs), next_(first),
              run_(static_cast<size_t>(
                  std::upper_bound(runs.runs().begin(), runs.runs().end(), first,
                                   [](uint64_t byte, const Run& run) { return byte < run.first; }) -
                  runs.runs().begin() - (runs.runs().empty() ? 0 : 1))) {}
        /// The next bytes that lie side by side, as many as there are up to `most`; all of them are
        /// to be taken.
        Span peek(uint64_t most) const {
            const Run& run = runs_.runs()[run_];
            return {runs_.base_ + run.address + (next_ - run.first),
                    std::min(most, runs_.end_of(run_) - next_)};
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
        for (size_t i = 0; i < count(); ++i) {
            const Run& run = runs()[i];
            take(run.first, Span{base_ + run.address, end_of(i) - run.first});
        }
    }

  private:
    struct Run {
        uint64_t first; ///< byte of all
        uint64_t address;
    };
    struct List {
        std::vector<Run> runs;
        uint64_t bytes = 0;
    };
    const std::vector<Run>& runs() const {
        static const auto* const none = new std::vector<Run>;
        return list_ == nullptr ? *none : list_->runs;
    }
    uint64_t end_of(size_t run) const {
        return run + 1 < count() ? runs()[run + 1].first : bytes();
    }

    std::shared_ptr<List> list_; ///< nullptr: there are none
    uint64_t base_ = 0;
};

} // namespace nodeaware::device
