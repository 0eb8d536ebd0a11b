#pragma once

#include "tests/device/stand_in.hpp"

#include <mutex>

// What the functions of the stand-in share.

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int not_initialized = 3;
constexpr int invalid_context = 201;
constexpr int invalid_handle = 400;
constexpr int not_ready = 600;
constexpr int already_pinned = 712;
constexpr int not_pinned = 713;
constexpr int unsafe_in_capture = 900;
constexpr int waits_in_capture = 906;
constexpr int unknown = 999;

/// The rank in the job, as launchers tell it; nullptr: none.
const char* rank_of_this();
/// Counts this call; GPU_STAND_IN_FAIL or stand_in_fail() wants it to fail.
bool is_to_fail(const char* function);
/// What it fails with.
extern int fault_code;

/// Loaded, in contexts that are there still.
std::size_t modules_there();

std::mutex& driver_mutex();
StandInCounts& counts();
/// nullptr: none, or it is there no more.
void* current_context();
/// A stream records somewhere, and this thread has not said that it knows what it does.
bool may_not_be_called();
/// The same of what waits for the streams of all threads, whatever the thread has said.
bool would_wait_for_all_streams();
int current_device();
/// 0: it is not there.
unsigned long long number_of(const void* context);
/// Where the driver has the bytes of the device; nullptr: kernels of this thread do not reach them.
char* find_bytes(std::uint64_t address, std::size_t bytes);

#define DRIVER extern "C" __attribute__((visibility("default"))) int
#define MAY_FAIL                                                                                   \
    if (is_to_fail(__func__)) { return fault_code; }
#define UNSAFE_IN_CAPTURE                                                                          \
    if (may_not_be_called()) { return unsafe_in_capture; }
#define NEVER_IN_CAPTURE                                                                           \
    if (would_wait_for_all_streams()) { return waits_in_capture; }
