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
constexpr int unknown = 999;

/// The rank in the job, as launchers tell it; nullptr: none.
const char* rank_of_this();
/// GPU_STAND_IN_FAIL wants this call to fail.
bool is_to_fail(const char* function);

std::mutex& driver_mutex();
StandInCounts& counts();
void* current_context();
int current_device();

#define DRIVER extern "C" __attribute__((visibility("default"))) int
#define MAY_FAIL                                                                                   \
    if (is_to_fail(__func__)) { return unknown; }
