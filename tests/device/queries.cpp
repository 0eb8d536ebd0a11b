// What the stand-in tells of addresses and errors, and is told.

#include "tests/device/driver_function.hpp"
#include "tests/device/known.hpp"

#include <mutex>
#include <set>

DRIVER cuPointerGetAttributes(unsigned count, int* attributes, void** values,
                              std::uint64_t address) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    ++counts().queries;
    if (!is_initialized()) { return not_initialized; }
    const Known known = look_at(address);
    for (unsigned i = 0; i < count; ++i) {
        switch (attributes[i]) {
        case 1: *static_cast<void**>(values[i]) = known.context; break;
        case 2: *static_cast<unsigned*>(values[i]) = known.type; break;
        case 7: *static_cast<std::uint64_t*>(values[i]) = known.serial; break;
        case 8: *static_cast<int*>(values[i]) = known.is_managed; break;
        case 9: *static_cast<int*>(values[i]) = known.device; break;
        case 11: *static_cast<std::uint64_t*>(values[i]) = known.begin; break;
        case 12: *static_cast<std::size_t*>(values[i]) = known.bytes; break;
        default: return invalid_value;
        }
    }
    return success;
}
DRIVER cuPointerSetAttribute(const void* value, int attribute, std::uint64_t address) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    constexpr int sync_memops = 6;
    const std::lock_guard lock(driver_mutex());
    const Known known = look_at(address);
    const bool is_plain = known.type == 2 && known.is_managed == 0 && known.context != nullptr;
    const bool is_on = attribute == sync_memops && *static_cast<const unsigned*>(value) == 1;
    if (!is_plain || !is_on) { return invalid_value; }
    static std::set<std::uint64_t> synchronous; // by serial
    const bool is_new = synchronous.insert(known.serial).second;
    ++(is_new ? counts().synchronous : counts().synchronous_again);
    return success;
}
DRIVER cuGetErrorString(int code, const char** text) {
    *text = code == invalid_context ? "stand-in: no context" : "stand-in: failed";
    return success;
}
