// A stand-in for libcuda.so.1, as strict as a GPU and stricter: its memory is out of reach for
// programs (the driver has a second mapping of it), bytes outside an allocation cannot be copied,
// copies need the context of the allocation, contexts are those of a thread, and addresses are used
// again at once, for whatever kind of memory is wanted next. Copies in a stream happen when that or
// an event behind them is waited for, or the event has been asked for some times, and the bytes are
// spoilt until then (stream.cpp); those of memory that is not pinned are counted.
//
// GPU_STAND_IN="ALPHA BETA ALPHA BETA" makes copies take that time (seconds, seconds per byte; host
// to device first). A device has a copy engine for each direction, which the processes of a node
// share: their copies follow one another, those in the other direction go on meanwhile (see
// copy_engine.cpp). Kernels and copies within a device take none. GPU_STAND_IN_WITHOUT=RANK: that
// rank has no device. GPU_STAND_IN_OPEN=1: programs reach the memory, so that any MPI can send from
// it. GPU_STAND_IN_FAIL="RANK FUNCTION K": there the K-th call of that function fails, of those for
// which the test allows it; with GPU_STAND_IN_FAIL_ANYWHERE=1 of all. GPU_STAND_IN_SEED: how often
// events have to be asked for. GPU_STAND_IN_PINS_NOTHING=1: memory of the host is never pinned.
// GPU_STAND_IN_KERNELS: see kernels.cpp. GPU_STAND_IN_ALL: see claimed.hpp.

#include "tests/device/claimed.hpp"
#include "tests/device/contexts.hpp"
#include "tests/device/copy_engine.hpp"
#include "tests/device/driver_function.hpp"
#include "tests/device/known.hpp"
#include "tests/device/pinned.hpp"
#include "tests/device/reach.hpp"
#include "tests/device/shared_allocations.hpp"
#include "tests/device/stand_in.hpp"
#include "tests/device/stream.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace {

constexpr std::uint64_t memory_bytes = std::uint64_t{1} << 28U;

/// Of addresses: behind its own a process has those of what it has opened of others.
constexpr std::uint64_t all_bytes = 2 * memory_bytes;

enum class Kind { device, managed, pool, of_others };

struct Allocation {
    std::size_t bytes = 0;
    Kind kind = Kind::device;
    Context* context = nullptr;
    int device = 0;
    std::uint64_t serial = 0; ///< never again
};

struct Memory {
    int file = -1;
    char* seen = nullptr;                            ///< by programs
    char* opened = nullptr;                          ///< by the driver
    std::map<std::uint64_t, Allocation> allocations; ///< by offset
};

bool initialized = false;

Memory& memory() {
    static Memory made = [] {
        Memory all;
        const char* const open = std::getenv("GPU_STAND_IN_OPEN");
        const int file = memfd_create("stand-in", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, memory_bytes) != 0) { std::abort(); }
        const int reach = open != nullptr ? PROT_READ | PROT_WRITE : PROT_NONE;
        const auto map = [file](int protection) {
            constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
            void* const place = mmap(nullptr, all_bytes, PROT_NONE, flags, -1, 0);
            if (place == MAP_FAILED) { std::abort(); }
            return mmap(place, memory_bytes, protection, MAP_SHARED | MAP_FIXED, file, 0);
        };
        void* const seen = map(reach);
        void* const opened = map(PROT_READ | PROT_WRITE);
        if (seen == MAP_FAILED || opened == MAP_FAILED) { std::abort(); }
        all.file = file; // other processes may open it
        all.seen = static_cast<char*>(seen);
        all.opened = static_cast<char*>(opened);
        return all;
    }();
    return made;
}

std::uint64_t address_of(std::uint64_t offset) {
    return reinterpret_cast<std::uintptr_t>(memory().seen) + offset;
}

/// The allocation that an address lies in.
std::map<std::uint64_t, Allocation>::iterator find(std::uint64_t address) {
    auto& all = memory().allocations;
    const std::uint64_t offset = address - address_of(0);
    if (address < address_of(0) || offset >= all_bytes) { return all.end(); }
    auto next = all.upper_bound(offset);
    if (next == all.begin()) { return all.end(); }
    --next;
    return offset < next->first + next->second.bytes ? next : all.end();
}

std::uint64_t next_serial() {
    static std::uint64_t last = 0;
    return ++last;
}

int allocate(std::uint64_t* address, std::size_t bytes, Kind kind, int device) {
    auto& all = memory().allocations;
    std::uint64_t place = 0; // the first gap: addresses come again
    for (const auto& [offset, allocation] : all) {
        if (offset >= memory_bytes) { break; }
        if (offset - place >= bytes) { break; }
        place = (offset + allocation.bytes + 255) / 256 * 256;
    }
    if (bytes == 0) { return invalid_value; }
    if (place + bytes > memory_bytes) { return out_of_memory; }
    Context* const context = kind == Kind::pool ? nullptr : current();
    all[place] = {bytes, kind, context, device, next_serial()};
    std::memset(memory().opened + place, 0xcd, bytes);
    *address = address_of(place);
    return success;
}

} // namespace

/// Where the driver has the bytes of that address; nullptr: they may not be copied by this thread.
char* look_up(std::uint64_t address, std::size_t bytes, int* code) {
    *code = invalid_value;
    if (is_claimed(address)) {
        *code = current() == primary_context(0) ? success : invalid_context;
        return *code == success ? reinterpret_cast<char*>(address) : nullptr;
    }
    const auto found = find(address);
    if (found == memory().allocations.end()) { return nullptr; }
    const std::uint64_t offset = address - address_of(0);
    if (offset + bytes > found->first + found->second.bytes) { return nullptr; }
    *code = invalid_context;
    const Context* const needed = found->second.context;
    const bool is_usable = current() != nullptr && current()->device == found->second.device;
    if (needed != nullptr ? current() != needed : !is_usable) { return nullptr; }
    *code = success;
    return memory().opened + offset;
}

/// The same for a copy from or to the host.
char* reach(std::uint64_t address, std::size_t bytes, int* code) {
    const std::lock_guard lock(driver_mutex());
    ++counts().copies;
    counts().bytes += bytes;
    return look_up(address, bytes, code);
}

bool is_claimed(std::uint64_t address) {
    const bool is_own = address >= address_of(0) && address < address_of(all_bytes);
    return claim() != Claim::none && !is_own && address >= claimed_begin &&
           address - claimed_begin < claimed_bytes && pinned_range(address).begin == nullptr;
}

void forget_allocations(const Context* context) {
    std::erase_if(memory().allocations, [&](const auto& one) {
        const auto& [offset, allocation] = one;
        if (allocation.context != context) { return false; }
        end_export(allocation.serial);
        std::memset(memory().opened + offset, 0xee, allocation.bytes);
        return true;
    });
}

int current_device() { return current()->device; }

Exportable exportable(std::uint64_t address) {
    const auto found = find(address);
    if (found == memory().allocations.end()) { return {}; }
    const auto& [offset, allocation] = *found;
    if (allocation.kind != Kind::device || allocation.context != current()) { return {}; }
    return {allocation.serial, offset, allocation.bytes, memory().file, allocation.device};
}

std::uint64_t take_in(int file, std::uint64_t offset, std::size_t bytes) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t before = offset % page;
    const std::uint64_t whole = (before + bytes + page - 1) / page * page;
    auto& all = memory().allocations;
    std::uint64_t place = memory_bytes;
    for (auto next = all.lower_bound(memory_bytes); next != all.end(); ++next) {
        if (next->first / page * page >= place + whole) { break; }
        place = (next->first + next->second.bytes + page - 1) / page * page;
    }
    if (place + whole > all_bytes) { return 0; }
    void* const mapped = mmap(memory().opened + place, whole, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset - before));
    if (mapped == MAP_FAILED) { return 0; }
    all[place + before] = {bytes, Kind::of_others, current(), current()->device, next_serial()};
    return address_of(place + before);
}

void put_out(std::uint64_t address) {
    const auto found = find(address);
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t place = found->first / page * page;
    const std::uint64_t end = (found->first + found->second.bytes + page - 1) / page * page;
    mmap(memory().opened + place, end - place, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    memory().allocations.erase(found);
}

char* find_bytes(std::uint64_t address, std::size_t bytes) {
    int code = success;
    const auto found = find(address);
    const bool is_of_device =
        found != memory().allocations.end() && found->second.kind == Kind::device;
    const bool is_plain = is_of_device || (claim() == Claim::device && is_claimed(address));
    return is_plain ? look_up(address, bytes, &code) : nullptr;
}

bool is_initialized() { return initialized; }

DRIVER cuInit(unsigned flags) {
    MAY_FAIL
    initialized = flags == 0;
    return initialized ? success : invalid_value;
}
DRIVER cuDeviceGetCount(int* count) {
    // One rank may be without.
    const char* const without = std::getenv("GPU_STAND_IN_WITHOUT");
    const char* const rank = rank_of_this();
    const bool has_none = without != nullptr && rank != nullptr && std::strcmp(rank, without) == 0;
    *count = has_none ? 0 : devices;
    return initialized ? success : not_initialized;
}
DRIVER cuDeviceGet(int* device, int ordinal) {
    MAY_FAIL
    *device = ordinal;
    return initialized && ordinal >= 0 && ordinal < devices ? success : invalid_value;
}
DRIVER cuCtxSynchronize() {
    NEVER_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    end_copies();
    return current_context() != nullptr ? success : invalid_context;
}

DRIVER cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    return allocate(address, bytes, Kind::device, current()->device);
}
DRIVER cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned /*flags*/) {
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    return allocate(address, bytes, Kind::managed, current()->device);
}
DRIVER stand_in_allocate_from_pool(std::uint64_t* address, std::size_t bytes, int device) {
    const std::lock_guard lock(driver_mutex());
    return allocate(address, bytes, Kind::pool, device);
}
DRIVER cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void* /*stream*/) {
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    return allocate(address, bytes, Kind::pool, current()->device);
}
DRIVER cuMemFree_v2(std::uint64_t address) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    const auto found = find(address);
    if (found == memory().allocations.end() || address != address_of(found->first)) {
        return invalid_value;
    }
    if (found->second.kind == Kind::of_others) { return invalid_value; }
    char* const begin = memory().opened + found->first;
    counts().freed_too_early += is_being_copied(begin, found->second.bytes) ? 1 : 0;
    end_copies();
    counts().freed_while_open += end_export(found->second.serial);
    std::memset(begin, 0xee, found->second.bytes);
    memory().allocations.erase(found);
    return success;
}
DRIVER cuMemAllocHost_v2(void** address, std::size_t bytes) {
    if (current_context() == nullptr) { return invalid_context; }
    *address = std::malloc(bytes);
    return success;
}
DRIVER cuMemFreeHost(void* address) {
    std::free(address);
    return current() != nullptr ? success : invalid_context;
}
DRIVER cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
    MAY_FAIL
    NEVER_IN_CAPTURE
    int code = success;
    char* const reached = reach(to, bytes, &code);
    if (reached == nullptr) { return code; }
    {
        const std::lock_guard lock(driver_mutex());
        end_copies();
    }
    copy_now(to_device, reached, static_cast<const char*>(from), bytes);
    return code;
}
DRIVER cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    int code = is_a_stream(stream) ? success : invalid_value;
    if (code != success) { return code; }
    char* const reached = reach(to, bytes, &code);
    if (reached == nullptr) { return code; }
    const std::lock_guard lock(driver_mutex());
    return begin_copy(stream, to_device, reached, static_cast<const char*>(from), bytes);
}
DRIVER cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    int code = is_a_stream(stream) ? success : invalid_value;
    if (code != success) { return code; }
    const char* const reached = reach(from, bytes, &code);
    if (reached == nullptr) { return code; }
    const std::lock_guard lock(driver_mutex());
    return begin_copy(stream, to_host, static_cast<char*>(to), reached, bytes);
}
DRIVER cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    int code = is_a_stream(stream) ? success : invalid_value;
    if (code != success) { return code; }
    const std::lock_guard lock(driver_mutex());
    const char* const source = look_up(from, bytes, &code);
    char* const target = code == success ? look_up(to, bytes, &code) : nullptr;
    if (code != success) { return code; }
    ++counts().copies;
    counts().bytes += bytes;
    return begin_copy(stream, within_device, target, source, bytes);
}
DRIVER cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
    MAY_FAIL
    NEVER_IN_CAPTURE
    int code = success;
    const char* const reached = reach(from, bytes, &code);
    if (reached != nullptr) { copy_now(to_host, static_cast<char*>(to), reached, bytes); }
    return code;
}

Known look_at(std::uint64_t address) {
    if (is_claimed(address)) {
        const int is_managed = claim() == Claim::managed ? 1 : 0;
        return {primary_context(0), 2, is_managed, 0, claimed_begin, claimed_bytes, 1};
    }
    const auto found = find(address);
    if (found == memory().allocations.end()) {
        const PinnedRange range = pinned_range(address);
        if (range.begin == nullptr) { return {}; }
        const auto begin = reinterpret_cast<std::uintptr_t>(range.begin);
        return {range.context, 1, 0, 0, begin, range.bytes, 0};
    }
    const auto& [offset, of] = *found;
    const int is_managed = of.kind == Kind::managed ? 1 : 0;
    return {of.context, 2, is_managed, of.device, address_of(offset), of.bytes, of.serial};
}

extern "C" __attribute__((visibility("default"))) std::size_t stand_in_allocations() {
    const std::lock_guard lock(driver_mutex());
    const auto& all = memory().allocations;
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
        return one.second.kind != Kind::of_others;
    }));
}
