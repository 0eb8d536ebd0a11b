#pragma once

#include "runtime/device/contexts.hpp"
#include "runtime/job/options.hpp"

#include <cstddef>
#include <cstdint>

namespace nodeaware::device {

/// Some bytes in a row.
struct Span {
    uint64_t begin = 0;
    uint64_t bytes = 0;
};

/// Where an address lies.
struct Place {
    bool is_on_device = false;   ///< the processor must not touch it, or cannot
    Span allocation;             ///< on a device
    void* context = nullptr;     ///< nullptr: memory of a pool or a mapping, which has none
    void* current = nullptr;     ///< for that: the context when this was asked
    int ordinal = 0;             ///< of the device
    bool is_for_kernels = false; ///< kernels in the context reach all of the allocation
    /// The driver has failed to tell: nobody touches it, and copies fail.
    bool is_unknown = false;

    /// All of them lie in the allocation.
    bool holds(const Span& span) const {
        return span.begin >= allocation.begin && span.bytes <= allocation.bytes &&
               span.begin - allocation.begin <= allocation.bytes - span.bytes;
    }
};

/// One context reaches both.
bool are_on_one_device(const Place& place, const Place& other);
/// They are in the same context, and the same allocation.
bool are_in_one_allocation(const Place& place, const Place& other);

/// Asks the driver, once. Nothing is remembered: an address may be of other memory the next time.
/// Managed memory is a device's here: not every machine lets the processor touch it while kernels
/// run. Without a driver everything is the host's, and so it is where the driver has not begun, or
/// has ended. Where the driver fails, all is taken for a device's whose copies fail.
Place locate(const void* address);

/// Messages may begin and end in memory of devices, as far as MPI is concerned: what the
/// configuration says, else the MPI, which is asked when it first matters. Ranks need not agree.
void set_mpi_awareness(DeviceAware wanted);
bool mpi_is_aware();

/// Of a kernel.
struct Threads {
    unsigned blocks = 1;
    unsigned in_block = 1;
};

enum class Direction : uint8_t { to_host, to_device, within_device };

/// Bytes side by side, and others so far behind them at either end.
struct Rows {
    Direction direction = Direction::to_host;
    uint64_t to = 0;
    uint64_t from = 0;
    uint64_t bytes = 0; ///< of one
    uint64_t count = 1;
    uint64_t to_stride = 0;
    uint64_t from_stride = 0;

    static constexpr uint64_t longest_stride = 1 << 30; ///< that any driver takes

    uint64_t host_stride() const {
        return direction == Direction::to_host ? to_stride : from_stride;
    }
    /// Some of them.
    Rows part(uint64_t first, uint64_t rows) const {
        Rows some = *this;
        some.to += first * to_stride;
        some.from += first * from_stride;
        some.count = rows;
        return some;
    }
    uint64_t on_host() const { return direction == Direction::to_host ? to : from; }
    Span host_span() const { return {on_host(), (count - 1) * host_stride() + bytes}; }
};

/// Copies between the host and one allocation, in the context of the allocation; what was current
/// is so again afterwards. They follow what the application's default stream has been given.
class Copies {
  public:
    /// Throws MpiError, as all of them.
    explicit Copies(const Place& place);
    ~Copies();
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;

    /// The copies from now on do not wait for those in the other direction, of this object or
    /// others, if the driver can have it so. They still follow the default stream.
    void use_own_stream(Direction direction);

    /// The bytes are there after finish(), and the source must stay until then. Where something
    /// fails before, the end of these copies waits: nothing is written to any more afterwards.
    void to_host(void* to, uint64_t from, uint64_t bytes);
    void to_device(uint64_t to, const void* from, uint64_t bytes);
    /// The same of rows, as one copy; between host and device. False: nothing has begun, as where
    /// the driver has no such copy, or the bytes on the host have not been pinned at once.
    bool rows(const Rows& rows);
    static bool have_rows(); ///< the driver has such copies
    /// Between this allocation and another of the same device.
    void within_device(uint64_t to, uint64_t from, uint64_t bytes);
    void finish();

    /// Begins a kernel behind the copies so far; what the driver says. `argument`: of so many
    /// bytes, the kernel's only one.
    int launch(void* kernel, void* argument, size_t bytes, const Threads& threads);
    /// finish() without a word where it fails: what the driver says.
    int try_finish();
    /// Where kernels of this context find memory of the host that this process has pinned, and that
    /// is so still; 0: nowhere.
    uint64_t address_for_kernels(const Span& pinned);

    /// What is over when the copies so far are; nullptr if the driver has none.
    void* record_event();
    bool is_over(void* event);
    void wait_for(void* event);
    static void destroy(void* event);

    /// Lets devices reach memory of the host: copies that need not pass through the driver's own
    /// take half of the time. False: they do not, and copies are possible all the same.
    bool pin(void* memory, uint64_t bytes);

  private:
    void* context_of(const Place& place);
    bool begin_rows(const Rows& rows);
    bool to_device_by_engine(uint64_t to, const void* from, uint64_t bytes);
    void leave();

    RelaxedCapture relaxed_; ///< until all else is over
    void* stream_;
    void* event_ = nullptr; ///< that has served; for record_event()
    int device_ = 0;
    int ordinal_;               ///< of the same
    bool is_under_way_ = false; ///< what neither finish() nor an event has been told of
    bool is_pushed_ = false;
    bool is_retained_ = false;
};

/// What was pinned by pin() at once and holds these bytes, maybe in a context that is gone; without
/// bytes: nothing.
Span find_pinned(const Span& span);

/// These bytes were pinned by pin() at once, and are so still: what was pinned in a context that is
/// gone, as after cudaDeviceReset, is not. `place`: on the device that is to reach them.
bool is_pinned(const Place& place, const Span& span);

/// Undoes pin(), before the memory is given back; false: it must not be. `place`: on the device for
/// which it was pinned. The context may be gone, and says nothing then.
bool unpin(const Place& place, void* memory);

/// One copy, whose bytes are there when these return.
void copy_to_host(const Place& place, void* to, uint64_t from, uint64_t bytes);
void copy_to_device(const Place& place, uint64_t to, const void* from, uint64_t bytes);

} // namespace nodeaware::device
