#pragma once

#include <cstdint>

// GPU_STAND_IN_ALL=device, managed or mixed: memory of the program that nobody has pinned counts as
// one allocation of the first device, whose context is there from the beginning, so that programs
// which know nothing of devices test what becomes of those. Mixed: with one rank it is the host's,
// with the next a device's, with the next managed, and so on. Nobody is kept from touching it.

enum class Claim { none, device, managed };

/// In this process.
Claim claim();

constexpr std::uint64_t claimed_begin = 1 << 12;
constexpr std::uint64_t claimed_bytes = (std::uint64_t{1} << 47U) - claimed_begin;

/// With the lock of the driver.
bool is_claimed(std::uint64_t address);
