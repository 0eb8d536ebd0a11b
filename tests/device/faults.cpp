#include "tests/device/driver_function.hpp"

#include <cstdlib>
#include <sstream>
#include <string>

namespace {

thread_local bool may_fail = std::getenv("GPU_STAND_IN_FAIL_ANYWHERE") != nullptr;

} // namespace

const char* rank_of_this() {
    const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
    return rank != nullptr ? rank : std::getenv("PMI_RANK");
}

bool is_to_fail(const char* function) {
    static const auto wanted = [] {
        struct Fault {
            std::string rank, function;
            long call = 0;
        } fault;
        if (const char* text = std::getenv("GPU_STAND_IN_FAIL")) {
            std::istringstream(text) >> fault.rank >> fault.function >> fault.call;
        }
        return fault;
    }();
    static long calls = 0;
    const char* const rank = rank_of_this();
    if (!may_fail || rank == nullptr || wanted.rank != rank || wanted.function != function) {
        return false;
    }
    if (++calls != wanted.call) { return false; }
    ++counts().faults;
    return true;
}

extern "C" __attribute__((visibility("default"))) void stand_in_may_fail(bool allowed) {
    may_fail = allowed;
}
