#pragma once

#include "runtime/device/kernels/list_copy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware::device {

/// Puts copies into the form in which the kernel takes them: those of about the same size are for
/// as many threads each, and go in parts of about as many bytes to blocks of threads.
class ListWriter {
  public:
    /// Longer runs, and more of them, are for other lists.
    static constexpr uint64_t most_bytes = 64 << 10;
    static constexpr size_t most_runs = 1 << 20;

    /// False: not in one list with those before, and it has not been added. Throws std::bad_alloc.
    bool add(uint64_t to, uint64_t from, uint64_t bytes);
    size_t runs() const { return runs_.size(); }
    /// What lists of the same copies have in common, wherever memory begins.
    const std::vector<ListEntry>& entries() const { return runs_; }
    uint64_t bytes() const { return bytes_; }
    /// Calls `take(to, from, bytes)` for each run, as it was added.
    template <class Take> void for_each(Take take) const {
        for (const ListEntry& run : runs_) {
            take(to_ + run.to, from_ + run.from, uint64_t{run.bytes});
        }
    }

    /// Divides the work; how much memory the list needs. Throws std::bad_alloc.
    uint64_t prepare();
    /// Writes the list that has been prepared. `address`: of the memory, for the kernel; both are
    /// aligned to 8 bytes.
    CopyList write(std::byte* memory, uint64_t address) const;
    /// The list of the same runs that is there already, in so many parts.
    CopyList written(uint64_t address, size_t parts) const {
        return {to_, from_, address + parts * sizeof(ListPart), address, parts};
    }

    void clear();

  private:
    /// For blocks to be equally long at work, and for all of a device to have some.
    static constexpr uint32_t part_bytes = 16 << 10;
    static constexpr uint32_t part_entries = 1024;
    static constexpr size_t classes = 9; ///< of runs, by the threads that they are for: 1, 2 .. 256

    static size_t class_of(uint32_t bytes);
    void sort_into_classes();

    uint64_t to_ = 0; ///< bases
    uint64_t from_ = 0;
    uint64_t bytes_ = 0;
    std::vector<ListEntry> runs_;
    std::vector<ListEntry> entries_; ///< the same, no longer than a part, by class
    std::array<size_t, classes + 1> first_of_class_{};
    std::vector<ListPart> parts_;
};

} // namespace nodeaware::device
