#include "runtime/device/contexts.hpp"

#include "runtime/device/driver.hpp"

namespace nodeaware::device {

namespace {

constexpr int capture_mode_relaxed = 2; // of cuda.h

void work_in_primary_context(int device, const std::function<void(ContextNumber)>& work) {
    const Driver& known = *driver();
    unsigned flags = 0;
    int is_active = 0;
    void* context = nullptr;
    if (known.context_state(device, &flags, &is_active) != 0 || is_active == 0 ||
        known.context_retain(&context, device) != 0) {
        return;
    }
    if (known.context_push(context) == 0) {
        const auto number = number_of_current_context();
        if (number.has_value()) { work(*number); }
        known.context_pop(&context);
    }
    known.context_release(device);
}

} // namespace

std::optional<ContextNumber> number_of_current_context() {
    const Driver& known = *driver();
    void* context = nullptr;
    ContextNumber number = 0;
    if (known.context_number == nullptr || known.context_get(&context) != 0 ||
        known.context_number(context, &number) != 0) {
        return {};
    }
    return number;
}

void in_each_primary_context(const std::function<void(ContextNumber)>& work) {
    const Driver& known = *driver();
    int mode = capture_mode_relaxed;
    known.capture_mode(&mode);
    int count = 0;
    if (known.device_count(&count) != 0) { count = 0; }
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        int device = 0;
        if (known.device_get(&device, ordinal) == 0) { work_in_primary_context(device, work); }
    }
    known.capture_mode(&mode);
}

} // namespace nodeaware::device
