#include "runtime/device/context_number.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/device/memory.hpp"

namespace nodeaware::device {

namespace {

uint64_t number_of(void* context) {
    const Driver& known = *driver();
    unsigned long long number = 0;
    const bool is_known = context != nullptr && known.context_number != nullptr &&
                          known.context_number(context, &number) == 0;
    return is_known ? number : 0;
}

} // namespace

uint64_t number_of_context(const Place& place) {
    return place.context != nullptr ? number_of(place.context)
                                    : number_of_primary_context(place.ordinal);
}

uint64_t number_of_current_context() {
    void* context = nullptr;
    return driver()->context_get(&context) == 0 ? number_of(context) : 0;
}

bool is_in_use(int ordinal) {
    int device = 0;
    unsigned flags = 0;
    int is_active = 0;
    return driver()->device_get(&device, ordinal) == 0 &&
           driver()->context_state(device, &flags, &is_active) == 0 && is_active != 0;
}

uint64_t number_of_primary_context(int ordinal) {
    const Driver& known = *driver();
    int device = 0;
    void* context = nullptr;
    const bool is_there = known.context_number != nullptr && is_in_use(ordinal) &&
                          known.device_get(&device, ordinal) == 0 &&
                          known.context_retain(&context, device) == 0;
    if (!is_there) { return 0; }
    const uint64_t number = number_of(context);
    known.context_release(device);
    return number;
}

} // namespace nodeaware::device
