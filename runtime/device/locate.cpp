#include "runtime/device/contexts.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/memory.hpp"
#include "runtime/device/mpi_support.hpp"
#include "runtime/device/synchronous.hpp"
#include "runtime/job/log.hpp"

#include <array>
#include <atomic>
#include <fcntl.h>
#include <unistd.h>

namespace nodeaware::device {

namespace {

// Of cuda.h.
constexpr int attribute_context = 1;
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr int attribute_device = 9;
constexpr int attribute_range_begin = 11;
constexpr int attribute_range_bytes = 12;
constexpr unsigned type_device = 2;
constexpr int invalid_value = 1;
constexpr int not_initialized = 3;
constexpr int deinitialized = 4;
constexpr int is_stub = 34;
constexpr int no_device = 100;
constexpr int invalid_context = 201;

std::atomic<DeviceAware> awareness = DeviceAware::no;

/// The driver has not begun, has ended, or has nothing to begin with.
bool is_without_devices(int code) {
    return code == not_initialized || code == deinitialized || code == is_stub || code == no_device;
}

/// Some errors mean that memory is no device's; all others, that the driver has failed to tell.
bool says_it_is_on_host(int code) {
    if (is_without_devices(code) || code == invalid_value) { return true; } // no such address
    const Driver& known = *driver();
    int count = 0;
    const int counted = known.device_count(&count);
    if (counted != 0) { return is_without_devices(counted); }
    void* context = nullptr;
    if (code != invalid_context || known.context_get(&context) != 0 || context != nullptr) {
        return count == 0;
    }
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        if (is_in_use(ordinal)) { return false; }
    }
    return true;
}

/// Asks the system, which says so without a signal: what a pipe cannot be given, the processor must
/// not touch.
bool can_be_read(const void* address) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) { return false; }
    const bool can_be = ::write(pipe[1], address, 1) == 1;
    ::close(pipe[0]);
    ::close(pipe[1]);
    return can_be;
}

/// A driver that fails for good, as after a fault of a kernel, is no reason to refuse what lies on
/// the host.
Place place_without_driver(int code, const void* address) {
    if (says_it_is_on_host(code) || can_be_read(address)) { return {}; }
    log(LogLevel::warn, "{}", driver()->text_of(code, "cuPointerGetAttributes"));
    Place place;
    place.is_on_device = true;
    place.is_unknown = true;
    place.allocation = {0, ~uint64_t{0}};
    return place;
}

} // namespace

void set_mpi_awareness(DeviceAware wanted) { awareness = wanted; }

bool mpi_is_aware() {
    if (awareness == DeviceAware::automatic) {
        awareness = mpi_says_it_is_aware() ? DeviceAware::yes : DeviceAware::no;
    }
    return awareness == DeviceAware::yes;
}

bool are_on_one_device(const Place& place, const Place& other) {
    return place.is_on_device && other.is_on_device && place.context != nullptr &&
           place.context == other.context && place.ordinal == other.ordinal;
}

bool are_in_one_allocation(const Place& place, const Place& other) {
    return place.allocation.begin == other.allocation.begin &&
           place.allocation.bytes == other.allocation.bytes && place.context == other.context &&
           place.current == other.current && place.ordinal == other.ordinal;
}

Place locate(const void* address) {
    const Driver* const known = driver();
    if (known == nullptr || address == nullptr) { return {}; }
    Place place;
    unsigned type = 0;
    int is_managed = 0;
    unsigned long long buffer = 0;
    std::array attributes = {attribute_context,    attribute_memory_type, attribute_is_managed,
                             attribute_device,     attribute_buffer_id,   attribute_range_begin,
                             attribute_range_bytes};
    std::array<void*, attributes.size()> values = {
        &place.context,         &type,   &is_managed,
        &place.ordinal,         &buffer, &place.allocation.begin,
        &place.allocation.bytes};
    const auto ask = [&](size_t count) {
        return known->attributes_of(static_cast<unsigned>(count), attributes.data(), values.data(),
                                    reinterpret_cast<uintptr_t>(address));
    };
    int code = ask(attributes.size());
    const bool is_range_known = code == 0;
    if (code == invalid_value) { // old drivers do not know the last two
        constexpr size_t without_range = 5;
        code = ask(without_range);
        place.allocation = {0, ~uint64_t{0}};
    }
    if (code != 0) { return place_without_driver(code, address); }
    if (type != type_device && is_managed == 0) { return {}; }
    place.is_on_device = true;
    make_copies_synchronous(buffer, address);
    if (place.context == nullptr) { known->context_get(&place.current); }
    // What has no context may be reached from here, or not.
    place.is_for_kernels =
        place.context != nullptr && type == type_device && is_managed == 0 && is_range_known;
    return place;
}

} // namespace nodeaware::device
