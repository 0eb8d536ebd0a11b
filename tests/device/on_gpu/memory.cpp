// Memory of devices, and copies.

#include "runtime/device/driver.hpp"
#include "tests/device/on_gpu/real.hpp"
#include "tests/device/on_gpu/seen.hpp"

#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

namespace {

// Tests have addresses come again for another kind of memory, as those of the stand-in do at once.
// Drivers have other addresses for each kind; so the last short piece that was freed is kept, and
// given to who allocates as much of a pool, or managed, next.
struct Kept {
    std::uint64_t address = 0;
    Allocation of{};
};
constexpr std::size_t longest_kept = 256;
std::optional<Kept> kept; // with the lock of the driver

/// Tests free some without a current context, which no driver takes.
int free_now(std::uint64_t address, void* context) {
    if (context_now() != nullptr || context == nullptr) { return REAL(cuMemFree_v2)(address); }
    return in_context(context, [&] { return REAL(cuMemFree_v2)(address); });
}

std::optional<Kept> take_kept(std::optional<Kept> next = std::nullopt) {
    const std::lock_guard lock(driver_mutex());
    return std::exchange(kept, next);
}

enum class Wanted { of_device, of_any };

template <class Make>
int allocate(std::uint64_t* address, std::size_t bytes, Wanted wanted, Make make) {
    void* const context = context_now();
    const std::optional<Kept> last = take_kept();
    const bool is_found =
        last && wanted == Wanted::of_any && last->of.bytes == bytes && last->of.context == context;
    if (last && !is_found) { free_now(last->address, last->of.context); }
    const int code = is_found ? success : make();
    if (code != success) { return code; }
    if (is_found) { *address = last->address; }
    const std::lock_guard lock(driver_mutex());
    seen().allocations[*address] = {bytes, context};
    return code;
}

/// With the lock of the driver.
bool is_pinned(const void* memory, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const auto& all = seen().pinned;
    const auto next = all.upper_bound(begin);
    if (next == all.begin()) { return false; }
    const auto& [first, known] = *std::prev(next);
    return begin + bytes <= first + known.bytes;
}

int count_copy(int code, std::size_t bytes) {
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    ++counts().copies;
    counts().bytes += bytes;
    return code;
}
int count_later_copy(int code, const void* host, std::size_t bytes) {
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    counts().unpinned += is_pinned(host, bytes) ? 0 : 1;
    return code;
}

} // namespace

void forget_kept(const void* context) {
    if (kept && kept->of.context == context) { kept.reset(); }
}

DRIVER cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    MAY_FAIL
    return allocate(address, bytes, Wanted::of_device,
                    [&] { return REAL(cuMemAlloc_v2)(address, bytes); });
}
DRIVER cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned flags) {
    return allocate(address, bytes, Wanted::of_any,
                    [&] { return REAL(cuMemAllocManaged)(address, bytes, flags); });
}
DRIVER cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void* stream) {
    return allocate(address, bytes, Wanted::of_device,
                    [&] { return REAL(cuMemAllocAsync)(address, bytes, stream); });
}
/// Of the device whose context is current, as tests have it.
DRIVER stand_in_allocate_from_pool(std::uint64_t* address, std::size_t bytes, int /*device*/) {
    return allocate(address, bytes, Wanted::of_any, [&] {
        const int code = REAL(cuMemAllocAsync)(address, bytes, nullptr);
        return code == success ? REAL(cuStreamSynchronize)(nullptr) : code;
    });
}
DRIVER cuMemFree_v2(std::uint64_t address) {
    MAY_FAIL
    Kept freed{address};
    {
        const std::lock_guard lock(driver_mutex());
        const auto found = seen().allocations.find(address);
        if (found != seen().allocations.end()) { freed.of = found->second; }
    }
    const bool is_short = freed.of.bytes > 0 && freed.of.bytes <= longest_kept;
    const int code = is_short ? success : free_now(address, freed.of.context);
    if (code == success) {
        const std::lock_guard lock(driver_mutex());
        seen().allocations.erase(address);
    }
    if (!is_short) { return code; }
    const std::optional<Kept> before = take_kept(freed);
    if (before) { free_now(before->address, before->of.context); }
    return code;
}
DRIVER cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
    MAY_FAIL
    return count_copy(REAL(cuMemcpyHtoD_v2)(to, from, bytes), bytes);
}
DRIVER cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
    MAY_FAIL
    return count_copy(REAL(cuMemcpyDtoH_v2)(to, from, bytes), bytes);
}
DRIVER cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
    MAY_FAIL
    const int code = REAL(cuMemcpyHtoDAsync_v2)(to, from, bytes, stream);
    return count_later_copy(count_copy(code, bytes), from, bytes);
}
DRIVER cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
    MAY_FAIL
    const int code = REAL(cuMemcpyDtoHAsync_v2)(to, from, bytes, stream);
    return count_later_copy(count_copy(code, bytes), to, bytes);
}
DRIVER cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
    MAY_FAIL
    return count_copy(REAL(cuMemcpyDtoDAsync_v2)(to, from, bytes, stream), bytes);
}
DRIVER cuMemcpy2DAsync_v2(const nodeaware::device::RowsCopy* what, void* stream) {
    MAY_FAIL
    const std::size_t bytes = what->bytes * what->rows;
    const int code = count_copy(REAL(cuMemcpy2DAsync_v2)(what, stream), bytes);
    const bool is_to_host = what->to_kind == nodeaware::device::RowsCopy::on_host;
    const std::uint64_t host = is_to_host ? what->to_host : what->from_host;
    const std::size_t stride = is_to_host ? what->to_stride : what->from_stride;
    return count_later_copy(code, reinterpret_cast<const void*>(host),
                            (what->rows - 1) * stride + what->bytes);
}

DRIVER cuIpcGetMemHandle(void* handle, std::uint64_t address) {
    MAY_FAIL
    return REAL(cuIpcGetMemHandle)(handle, address);
}
DRIVER cuIpcOpenMemHandle_v2(std::uint64_t* address, nodeaware::device::MemoryHandle handle,
                             unsigned flags) {
    MAY_FAIL
    const int code = REAL(cuIpcOpenMemHandle_v2)(address, handle, flags);
    if (code != success) { return code; }
    void* const context = context_now();
    const std::lock_guard lock(driver_mutex());
    Opened& opened = seen().imports[*address];
    ++opened.times;
    opened.context = context;
    return code;
}
DRIVER cuIpcCloseMemHandle(std::uint64_t address) {
    MAY_FAIL
    const int code = REAL(cuIpcCloseMemHandle)(address);
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    const auto found = seen().imports.find(address);
    const bool is_over = found != seen().imports.end() && --found->second.times == 0;
    if (is_over) { seen().imports.erase(found); }
    return code;
}

DRIVER cuPointerGetAttributes(unsigned count, int* attributes, void** values,
                              std::uint64_t address) {
    MAY_FAIL {
        const std::lock_guard lock(driver_mutex());
        ++counts().queries;
    }
    return REAL(cuPointerGetAttributes)(count, attributes, values, address);
}
DRIVER cuPointerSetAttribute(const void* value, int attribute, std::uint64_t address) {
    MAY_FAIL
    constexpr int sync_memops = 6;
    const int code = REAL(cuPointerSetAttribute)(value, attribute, address);
    if (code != success || attribute != sync_memops) { return code; }
    int number_wanted = nodeaware::device::attribute_buffer_id;
    std::uint64_t number = 0;
    void* place = &number;
    REAL(cuPointerGetAttributes)(1, &number_wanted, &place, address);
    const std::lock_guard lock(driver_mutex());
    const bool is_new = seen().synchronous.insert(number).second;
    ++(is_new ? counts().synchronous : counts().synchronous_again);
    return code;
}
