// What the stand-in for the driver and the one that hands all on to a real driver have in common.

#include "tests/device/driver_function.hpp"

std::mutex& driver_mutex() {
    static std::mutex mutex;
    return mutex;
}

StandInCounts& counts() {
    static StandInCounts all{};
    return all;
}
