#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nodeaware {

/// What one call has moved of memory of devices, on this rank.
struct DeviceCounts {
    uint64_t to_host = 0;   ///< bytes copied
    uint64_t to_device = 0; ///< bytes copied
    uint64_t within = 0;    ///< bytes copied from one place of a device to another
    uint64_t copies = 0;    ///< as the driver was given them
    uint64_t unpinned = 0;  ///< of these, with memory of the host that is not pinned
    uint64_t straight = 0;  ///< bytes that MPI sends or receives there itself
    uint64_t kernels = 0;   ///< that copied lists, beside the copies

    static constexpr size_t columns = 7;
    std::array<uint64_t, columns> values() const {
        return {to_host, to_device, within, copies, unpinned, straight, kernels};
    }
    bool is_any() const { return copies > 0 || straight > 0 || kernels > 0; }
};

/// Sums of such, by threads at the same time.
class DeviceSums {
  public:
    using Values = std::array<uint64_t, DeviceCounts::columns>;
    void add(const DeviceCounts& counts) {
        const Values added = counts.values();
        for (size_t i = 0; i < added.size(); ++i) {
            if (added[i] > 0) { sums_[i].fetch_add(added[i], std::memory_order_relaxed); }
        }
    }
    Values values() const {
        Values all{};
        for (size_t i = 0; i < all.size(); ++i) {
            all[i] = sums_[i].load(std::memory_order_relaxed);
        }
        return all;
    }

  private:
    std::array<std::atomic<uint64_t>, DeviceCounts::columns> sums_{};
};

/// Whose copies those of this thread are.
class DeviceCounting {
  public:
    /// While it lives, those of `call`.
    explicit DeviceCounting(DeviceCounts& call) : before_(current) { current = &call; }
    ~DeviceCounting() { current = before_; }
    DeviceCounting(const DeviceCounting&) = delete;
    DeviceCounting& operator=(const DeviceCounting&) = delete;

    static void add(const DeviceCounts& counts) {
        if (current == nullptr) { return of_messages.add(counts); }
        current->to_host += counts.to_host;
        current->to_device += counts.to_device;
        current->within += counts.within;
        current->copies += counts.copies;
        current->unpinned += counts.unpinned;
        current->straight += counts.straight;
        current->kernels += counts.kernels;
    }
    /// Of no call: messages from point to point.
    static inline DeviceSums of_messages;

  private:
    static inline thread_local DeviceCounts* current = nullptr;
    DeviceCounts* before_;
};

} // namespace nodeaware
