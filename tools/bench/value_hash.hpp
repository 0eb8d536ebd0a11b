// Hashes of results, so that two runs can be compared bit by bit.
#pragma once

#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

// FNV-1a of whole values; those of parts with different `seed` may be combined.
inline std::uint64_t value_hash(const std::vector<double>& values, std::uint64_t seed = 0) {
    constexpr std::uint64_t prime = 0x100000001b3;
    std::uint64_t hash = (0xcbf29ce484222325 ^ seed) * prime;
    for (const double value : values) {
        hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * prime;
        hash ^= hash >> 32;
    }
    return hash;
}

// As it is printed and written.
inline std::string hash_text(std::uint64_t hash) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%016" PRIx64, hash);
    return buffer;
}

} // namespace bench
