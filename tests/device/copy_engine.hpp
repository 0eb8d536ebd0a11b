#pragma once

#include <cstddef>
#include <cstdint>

// How long copies take, as GPU_STAND_IN says: see cuda_stand_in.cpp. A device has a copy engine for
// each direction, which all processes of its node share.

constexpr std::size_t to_device = 0;
constexpr std::size_t to_host = 1;
constexpr std::size_t within_device = 2; ///< takes no time

/// In nanoseconds, by a clock that all processes of a node share.
using Time = std::int64_t;
constexpr Time not_known = -1;

bool copies_take_time();
Time now();
/// Sleeps for most of the time, so that ranks without a core of their own get to theirs.
void wait_until(Time end);

/// Gives a copy to the engine, which begins it when both are ready, and says when it will be over.
/// not_known: it would keep the engine from copies that are ready before, and has not been given.
Time reserve_engine(int device, std::size_t direction, std::size_t bytes, Time ready);
