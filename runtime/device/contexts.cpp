#include "runtime/device/contexts.hpp"

#include "runtime/device/driver.hpp"
#include "runtime/device/memory.hpp"

namespace nodeaware::device {

namespace {

constexpr int capture_mode_relaxed = 2; // of cuda.h

ContextNumber number_of(void* context) {
    const Driver& known = *driver();
    unsigned long long number = 0;
    const bool is_known = context != nullptr && known.context_number != nullptr &&
                          known.context_number(context, &number) == 0;
    return is_known ? number : 0;
}

/// Calls `work` with the primary context of a device, if that is there.
template <class Work> void with_primary_context(int ordinal, Work work) {
    const Driver& known = *driver();
    int device = 0;
    void* context = nullptr;
    if (!is_in_use(ordinal) || known.device_get(&device, ordinal) != 0 ||
        known.context_retain(&context, device) != 0) {
        return;
    }
    work(context);
    known.context_release(device);
}

} // namespace

ContextNumber number_of_current_context() {
    void* context = nullptr;
    return driver()->context_get(&context) == 0 ? number_of(context) : 0;
}

ContextNumber number_of_context(const Place& place) {
    return place.context != nullptr ? number_of(place.context)
                                    : number_of_primary_context(place.ordinal);
}

ContextNumber number_of_primary_context(int ordinal) {
    ContextNumber number = 0;
    if (driver()->context_number == nullptr) { return number; }
    with_primary_context(ordinal, [&](void* context) { number = number_of(context); });
    return number;
}

RelaxedCapture::RelaxedCapture()
    : mode_(capture_mode_relaxed), is_set_(driver()->capture_mode(&mode_) == 0) {}

RelaxedCapture::~RelaxedCapture() {
    if (is_set_) { driver()->capture_mode(&mode_); }
}

bool is_in_use(int ordinal) {
    int device = 0;
    unsigned flags = 0;
    int is_active = 0;
    return driver()->device_get(&device, ordinal) == 0 &&
           driver()->context_state(device, &flags, &is_active) == 0 && is_active != 0;
}

void in_each_primary_context(const std::function<void(ContextNumber)>& work) {
    const Driver& known = *driver();
    const RelaxedCapture relaxed;
    int count = 0;
    if (known.device_count(&count) != 0) { count = 0; }
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        with_primary_context(ordinal, [&](void* context) {
            const ContextNumber number = number_of(context);
            if (number == 0 || known.context_push(context) != 0) { return; }
            work(number);
            known.context_pop(&context);
        });
    }
}

} // namespace nodeaware::device
