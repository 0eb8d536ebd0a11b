#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace nodeaware {

/// Any change of a word changes the result: each step can be undone. Four words at a time, which do
/// not wait for each other.
inline uint64_t hash_of(std::span<const std::byte> bytes) {
    constexpr uint64_t odd = 0x9e3779b97f4a7c15U;
    constexpr size_t lanes = 4;
    uint64_t state[lanes] = {1 * odd, 2 * odd, 3 * odd, 4 * odd};
    const auto step = [](uint64_t hash, uint64_t word) {
        hash = (hash ^ word) * 0xff51afd7ed558ccdU;
        return hash ^ (hash >> 32);
    };
    size_t at = 0;
    for (; at + lanes * 8 <= bytes.size(); at += lanes * 8) {
        uint64_t words[lanes];
        std::memcpy(words, bytes.data() + at, sizeof words);
        for (size_t i = 0; i < lanes; ++i) { state[i] = step(state[i], words[i]); }
    }
    uint64_t hash = bytes.size();
    for (; at < bytes.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
        hash = step(hash, word);
    }
    for (const uint64_t lane : state) { hash = step(hash, lane); }
    return hash;
}

} // namespace nodeaware
