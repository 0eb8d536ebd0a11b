#include "runtime/device/memory.hpp"

#include "runtime/device/contexts.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/own_streams.hpp"
#include "runtime/device/sharing.hpp"
#include "runtime/job/device_counts.hpp"
#include "runtime/job/log.hpp"
#include "runtime/job/ranges.hpp"
#include "runtime/mpi/mpi.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace nodeaware::device {

namespace {

// Of cuda.h.
constexpr int not_ready = 600;
constexpr int is_pinned_already = 712;
constexpr int not_pinned = 713;
constexpr unsigned for_all_contexts = 1;
constexpr unsigned for_kernels = 2;
constexpr int not_supported = 801;
constexpr unsigned without_time = 2;
/// CU_STREAM_PER_THREAD: it waits for no stream of the application but the default one.
void* stream_of_thread() { return reinterpret_cast<void*>(uintptr_t{2}); }

void check(int code, const char* function) {
    if (code == 0) { return; }
    log(LogLevel::warn, "{}", driver()->text_of(code, function));
    throw MpiError(MPI_ERR_OTHER, function);
}

/// Memory of the host that has been pinned. Never destroyed, as that is not.
struct Pinned {
    std::mutex mutex;
    struct Memory {
        uint64_t bytes = 0;
        bool is_own = false; ///< not the application's
        /// Of the primary context of a device, with which it goes; 0: of another one, of which
        /// nobody knows whether it is there, or the driver does not tell.
        uint64_t number = 0;
        int ordinal = 0;
    };
    std::map<uintptr_t, Memory> memories; ///< by address
};
Pinned& pinned() {
    static auto* const all = new Pinned;
    return *all;
}

/// The memory that holds the span, if any is to be found that `is_wanted`.
template <class IsWanted> Span find_pinned_if(const Span& span, IsWanted is_wanted) {
    Pinned& all = pinned();
    const std::lock_guard lock(all.mutex);
    auto next = all.memories.upper_bound(span.begin);
    if (next == all.memories.begin()) { return {}; }
    --next;
    const Span found{next->first, next->second.bytes};
    const bool is_inside = span.begin + span.bytes <= found.begin + found.bytes;
    return is_inside && is_wanted(next->second) ? found : Span{};
}

uint64_t unpinned(const void* memory, uint64_t bytes) {
    const Span span{reinterpret_cast<uintptr_t>(memory), bytes};
    return find_pinned_if(span, [](const Pinned::Memory&) { return true; }).bytes > 0 ? 0 : 1;
}

} // namespace

Copies::Copies(const Place& place) : stream_(stream_of_thread()), ordinal_(place.ordinal) {
    if (place.is_unknown) { throw MpiError(MPI_ERR_OTHER, "cuPointerGetAttributes"); }
    try {
        check(driver()->context_push(context_of(place)), "cuCtxPushCurrent");
    } catch (...) {
        leave();
        throw;
    }
    is_pushed_ = true;
}

Copies::~Copies() {
    if (is_under_way_) { driver()->stream_synchronize(stream_); }
    if (event_ != nullptr) { destroy(event_); }
    void* popped = nullptr;
    if (is_pushed_) { driver()->context_pop(&popped); }
    leave();
}

void Copies::leave() {
    if (is_retained_) { driver()->context_release(device_); }
}

/// None is created: a program that has such memory has made one to use it.
void* Copies::context_of(const Place& place) {
    if (place.context != nullptr) { return place.context; }
    check(driver()->device_get(&device_, place.ordinal), "cuDeviceGet");
    unsigned flags = 0;
    int is_active = 0;
    void* context = nullptr;
    check(driver()->context_state(device_, &flags, &is_active), "cuDevicePrimaryCtxGetState");
    if (is_active == 0) { return place.current; }
    check(driver()->context_retain(&context, device_), "cuDevicePrimaryCtxRetain");
    is_retained_ = true;
    return context;
}

/// An event of the thread's stream, which waits for the default one, brings the own one behind
/// both.
void Copies::use_own_stream(Direction direction) {
    void* const own = own_streams::find(direction);
    if (own == nullptr) { return; }
    if (event_ == nullptr && driver()->event_create(&event_, without_time) != 0) {
        event_ = nullptr;
        return;
    }
    const bool is_behind = driver()->event_record(event_, stream_) == 0 &&
                           driver()->stream_wait_event(own, event_, 0) == 0;
    if (is_behind) { stream_ = own; }
}

void Copies::to_host(void* to, uint64_t from, uint64_t bytes) {
    const ranges::Range range("copy", "to host", bytes);
    check(driver()->device_to_host_later(to, from, bytes, stream_), "cuMemcpyDtoHAsync");
    is_under_way_ = true;
    DeviceCounting::add({.to_host = bytes, .copies = 1, .unpinned = unpinned(to, bytes)});
}

void Copies::to_device(uint64_t to, const void* from, uint64_t bytes) {
    const ranges::Range range("copy", "to device", bytes);
    if (are_devices_shared() && to_device_by_engine(to, from, bytes)) { return; }
    check(driver()->host_to_device_later(to, from, bytes, stream_), "cuMemcpyHtoDAsync");
    is_under_way_ = true;
    DeviceCounting::add({.to_device = bytes, .copies = 1, .unpinned = unpinned(from, bytes)});
}

/// What is short the driver puts among the commands for what runs kernels (on an H200 up to 24
/// KiB), and it waits for the turns of other processes. As two rows it goes to the copy engine.
/// False: it is not short, or has to be copied as ever.
bool Copies::to_device_by_engine(uint64_t to, const void* from, uint64_t bytes) {
    constexpr uint64_t longest = 32 << 10;
    if (bytes < 2 || bytes > longest) { return false; }
    const auto source = reinterpret_cast<uintptr_t>(from);
    const uint64_t half = bytes / 2;
    if (!begin_rows({Direction::to_device, to, source, half, 2, half, half})) { return false; }
    const uint64_t last = bytes - 2; // the first of these once more, for one row goes the old way
    const bool is_odd = bytes % 2 == 1;
    if (is_odd && !begin_rows({Direction::to_device, to + last, source + last, 1, 2, 1, 1})) {
        return false;
    }
    DeviceCounting::add({.to_device = bytes, .copies = is_odd ? 2U : 1U});
    return true;
}

void Copies::within_device(uint64_t to, uint64_t from, uint64_t bytes) {
    const ranges::Range range("copy", "within device", bytes);
    check(driver()->device_to_device_later(to, from, bytes, stream_), "cuMemcpyDtoDAsync");
    is_under_way_ = true;
    DeviceCounting::add({.within = bytes, .copies = 1});
}

bool Copies::rows(const Rows& rows) {
    const uint64_t bytes = rows.bytes * rows.count;
    const bool is_to_host = rows.direction == Direction::to_host;
    const ranges::Range range("copy of rows", is_to_host ? "to host" : "to device", bytes);
    if (!begin_rows(rows)) { return false; }
    DeviceCounting::add(is_to_host ? DeviceCounts{.to_host = bytes, .copies = 1}
                                   : DeviceCounts{.to_device = bytes, .copies = 1});
    return true;
}

bool Copies::begin_rows(const Rows& rows) {
    const bool is_possible = have_rows() && rows.direction != Direction::within_device &&
                             std::max(rows.to_stride, rows.from_stride) <= Rows::longest_stride &&
                             find_pinned(rows.host_span()).bytes > 0;
    if (!is_possible) { return false; }
    RowsCopy copy;
    copy.bytes = rows.bytes;
    copy.rows = rows.count;
    copy.to_stride = rows.to_stride;
    copy.from_stride = rows.from_stride;
    const bool is_to_host = rows.direction == Direction::to_host;
    copy.to_kind = is_to_host ? RowsCopy::on_host : RowsCopy::on_device;
    copy.from_kind = is_to_host ? RowsCopy::on_device : RowsCopy::on_host;
    (is_to_host ? copy.to_host : copy.to_device) = rows.to;
    (is_to_host ? copy.from_device : copy.from_host) = rows.from;
    const bool has_begun = driver()->rows_later(&copy, stream_) == 0;
    is_under_way_ = is_under_way_ || has_begun;
    return has_begun;
}

bool Copies::have_rows() { return driver()->rows_later != nullptr; }

void Copies::finish() {
    const ranges::Range range("wait", "for copies", 0);
    check(driver()->stream_synchronize(stream_), "cuStreamSynchronize");
    is_under_way_ = false;
}

int Copies::launch(void* kernel, void* argument, size_t bytes, const Threads& threads) {
    const auto key = [](uintptr_t number) { return reinterpret_cast<void*>(number); };
    // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END
    std::array<void*, 5> extra = {key(1), argument, key(2), &bytes, key(0)};
    const int code = driver()->launch(kernel, threads.blocks, 1, 1, threads.in_block, 1, 1, 0,
                                      stream_, nullptr, extra.data());
    is_under_way_ = is_under_way_ || code == 0;
    return code;
}

int Copies::try_finish() {
    const int code = driver()->stream_synchronize(stream_);
    is_under_way_ = is_under_way_ && code != 0;
    return code;
}

uint64_t Copies::address_for_kernels(const Span& pinned) {
    uint64_t address = 0;
    const int code = driver()->pinned_address(&address, reinterpret_cast<void*>(pinned.begin), 0);
    return code == 0 ? address : 0;
}

void* Copies::record_event() {
    void* event = std::exchange(event_, nullptr);
    if (event == nullptr && driver()->event_create(&event, without_time) != 0) { return nullptr; }
    if (driver()->event_record(event, stream_) == 0) {
        is_under_way_ = false; // the event tells
        return event;
    }
    destroy(event);
    return nullptr;
}

bool Copies::is_over(void* event) {
    const int code = driver()->event_query(event);
    if (code == not_ready) { return false; }
    check(code, "cuEventQuery");
    return true;
}

void Copies::wait_for(void* event) {
    check(driver()->event_synchronize(event), "cuEventSynchronize");
}

/// What fails is the driver's loss.
void Copies::destroy(void* event) { driver()->event_destroy(event); }

bool Copies::pin(void* memory, uint64_t bytes) {
    int code = driver()->pin(memory, bytes, for_all_contexts | for_kernels);
    if (code == not_supported) { code = driver()->pin(memory, bytes, for_all_contexts); }
    if (code != 0 && code != is_pinned_already) { return false; }
    const uint64_t number = number_of_current_context();
    const bool is_primary = number != 0 && number == number_of_primary_context(ordinal_);
    try {
        Pinned& all = pinned();
        const std::lock_guard lock(all.mutex);
        Pinned::Memory& known = all.memories[reinterpret_cast<uintptr_t>(memory)];
        // It was there still, and could not be asked for.
        if (code != 0 && known.is_own && known.bytes == bytes) { return true; }
        known = {bytes, code == 0, is_primary ? number : 0, ordinal_};
    } catch (const std::bad_alloc&) {} // counts will be wrong
    return code == 0;
}

Span find_pinned(const Span& span) {
    return find_pinned_if(span, [](const Pinned::Memory& memory) { return memory.is_own; });
}

bool is_pinned(const Place& place, const Span& span) {
    Pinned::Memory found;
    const bool is_known = find_pinned_if(span, [&](const Pinned::Memory& memory) {
                              found = memory;
                              return memory.is_own;
                          }).bytes > 0;
    if (!is_known || found.number == 0) { return is_known; }
    const uint64_t number = number_of_context(place);
    return number == 0 || number == found.number ||
           number_of_primary_context(found.ordinal) == found.number;
}

/// It is pinned no more when the application has reset the device. In the primary context, if it
/// is in use, else in whatever is current: what memory was pinned for all contexts in may be gone.
bool unpin(const Place& place, void* memory) {
    const Driver& known = *driver();
    const RelaxedCapture relaxed;
    int device = 0;
    unsigned flags = 0;
    int is_active = 0;
    void* context = nullptr;
    const bool is_retained = known.device_get(&device, place.ordinal) == 0 &&
                             known.context_state(device, &flags, &is_active) == 0 &&
                             is_active != 0 && known.context_retain(&context, device) == 0;
    const bool is_pushed = is_retained && known.context_push(context) == 0;
    const int code = known.unpin(memory);
    if (is_pushed) { known.context_pop(&context); }
    if (is_retained) { known.context_release(device); }
    Pinned& all = pinned();
    const std::lock_guard lock(all.mutex);
    all.memories.erase(reinterpret_cast<uintptr_t>(memory));
    return code == 0 || code == not_pinned;
}

void copy_to_host(const Place& place, void* to, uint64_t from, uint64_t bytes) {
    Copies copies(place);
    copies.to_host(to, from, bytes);
    copies.finish();
}

void copy_to_device(const Place& place, uint64_t to, const void* from, uint64_t bytes) {
    Copies copies(place);
    copies.to_device(to, from, bytes);
    copies.finish();
}

} // namespace nodeaware::device
