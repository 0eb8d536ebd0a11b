#pragma once

#include "runtime/device/host_memory.hpp"
#include "runtime/device/list_writer.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace nodeaware::device {

/// A list as the kernel reads it, in memory that devices can be let reach. Never written again, so
/// that any number of kernels may have it at the same time.
class KeptList {
  public:
    /// Of the runs in the writer. Throws std::bad_alloc.
    explicit KeptList(ListWriter& writer);
    ~KeptList();
    KeptList(const KeptList&) = delete;
    KeptList& operator=(const KeptList&) = delete;

    /// Their bases may differ.
    bool is_of(const ListWriter& writer) const;
    const HostMemory& memory() const { return memory_; }
    size_t parts() const { return parts_; }
    /// A kernel may be reading it for ever: its memory is never given back.
    void lose() const { is_lost_ = true; }

  private:
    std::vector<ListEntry> runs_;
    HostMemory memory_;
    size_t parts_ = 0;
    mutable std::atomic<bool> is_lost_ = false;
};

// The exchange of a schedule makes the same lists each time, but for where memory begins, which the
// bases of a list tell. They are found by what is in them: no handle or address that could have
// become another's is trusted.

/// The list of the runs in the writer: the one that is kept, or a new one. Threads may ask at the
/// same time. Throws std::bad_alloc.
std::shared_ptr<const KeptList> kept_list(ListWriter& writer);

/// Gives back all that is kept; what kernels are reading when they have ended.
void forget_kept_lists();

} // namespace nodeaware::device
