#pragma once

#include "runtime/device/pinned_memory.hpp"
#include "runtime/device/runs.hpp"
#include "runtime/device/submission.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace nodeaware::device {

/// Copies from and to memory of devices that end later. Those of one context that come between two
/// looks go to a stream together, those to the device and all others each to one of their own, with
/// an event behind them that tells the end of all, and one more wherever there are many bytes, so
/// that what comes first can be used meanwhile.
class LateCopies {
  public:
    using Direction = device::Direction;
    struct Copy {
        Direction direction = Direction::to_host;
        uint64_t to = 0;
        uint64_t from = 0;
        uint64_t bytes = 0;
        /// Of what is on the host, if it is to be pinned as far as it is used; nullptr: it is as it
        /// is.
        PinnedMemory* mapping = nullptr;
        /// On the device, if not all lies there side by side: these one after the other, from the
        /// `first_byte`-th of them on, instead of `to` or `from`. They stay as the memory does.
        const Runs* runs = nullptr;
        uint64_t first_byte = 0;
        /// All of it that is on a device may be reached by kernels; add() knows for one allocation.
        bool is_for_kernels = false;
        uint64_t allocation = 0; ///< Piece::allocation, likewise
    };

    LateCopies() = default;
    /// Waits: nothing is written to any more afterwards.
    ~LateCopies();
    LateCopies(const LateCopies&) = delete;
    LateCopies& operator=(const LateCopies&) = delete;

    /// Both ends must stay until poll() tells the end, by this number. Throws std::bad_alloc, and
    /// has done nothing then.
    void add(const Place& place, const Copy& copy, uint32_t number);
    bool empty() const { return groups_.empty(); }
    /// Begins what has been added.
    void begin();
    /// The same; then calls `end(number)` for all that are over, which may add others.
    template <class End> void poll(End end) {
        begin();
        size_t count = groups_.size();
        for (size_t i = 0; i < count;) {
            if (is_behind_another(i) || !is_over(groups_[i])) {
                ++i;
                continue;
            }
            const Group over = std::move(groups_[i]);
            groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(i));
            --count;
            for (const uint32_t number : over.numbers) { end(number); }
        }
        begin();
    }
    /// Waits for all of them; the next poll() tells.
    void finish();

    /// MPI_SUCCESS, or the code of the first failure; what fails is over, too.
    int error() const { return error_; }

  private:
    /// Copies that begin and end together.
    struct Group {
        Place place; ///< of the last copy; all are in one context
        bool is_to_device = false;
        std::vector<Copy> copies;
        std::vector<uint32_t> numbers;
        uint64_t bytes = 0;
        void* event = nullptr;
        bool has_begun = false;
        bool is_over = false;
        Submission submission{};
    };

    static constexpr uint64_t many_bytes = 1 << 20;

    static bool share_a_stream(const Group& group, const Place& place, bool is_to_device);
    static bool continues(const Group& group, const Place& place, const Copy& copy);
    static void begin_one(Copies& copies, Group& group, Copy copy);
    static void begin_run(Copies& copies, Group& group, Copy copy);
    void begin(Group& group);
    bool is_behind_another(size_t group) const;
    bool is_over(Group& group);
    static int try_to_wait(Group& group);
    void wait_for(Group& group);
    static void end(Group& group, Copies& copies);

    std::vector<Group> groups_;
    int error_ = 0;
};

} // namespace nodeaware::device
