#include "tests/device/driver_function.hpp"

#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string>

namespace {

thread_local bool may_fail = std::getenv("GPU_STAND_IN_FAIL_ANYWHERE") != nullptr;
std::mutex mutex;

struct Fault {
    std::string function;
    long call = 0;  ///< that fails
    long calls = 0; ///< so far
    bool is_here = false;
};
Fault& fault() {
    static Fault wanted = [] {
        Fault read;
        std::string of_rank;
        const char* const text = std::getenv("GPU_STAND_IN_FAIL");
        const char* const rank = rank_of_this();
        if (text != nullptr) { std::istringstream(text) >> of_rank >> read.function >> read.call; }
        read.is_here = rank != nullptr && of_rank == rank;
        return read;
    }();
    return wanted;
}

} // namespace

const char* rank_of_this() {
    const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
    return rank != nullptr ? rank : std::getenv("PMI_RANK");
}

bool is_to_fail(const char* function) {
    const std::lock_guard lock(mutex);
    ++counts().calls;
    Fault& wanted = fault();
    if (!may_fail || !wanted.is_here || wanted.function != function) { return false; }
    if (++wanted.calls != wanted.call) { return false; }
    ++counts().faults;
    return true;
}

int fault_code = unknown;

extern "C" __attribute__((visibility("default"))) void stand_in_fail_with(int code) {
    fault_code = code;
}
extern "C" __attribute__((visibility("default"))) void stand_in_may_fail(bool allowed) {
    may_fail = allowed;
}
extern "C" __attribute__((visibility("default"))) void stand_in_fail(const char* function,
                                                                     long call) {
    const std::lock_guard lock(mutex);
    fault() = {function, call, 0, true};
}
