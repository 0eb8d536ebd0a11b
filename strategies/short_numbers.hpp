#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// Numbers in as few bytes as they need, seven bits in each, the lowest first.
namespace nodeaware::short_numbers {

inline constexpr unsigned bits_of_a_digit = 7;
inline constexpr unsigned more_digits = 1U << bits_of_a_digit;

inline void append(std::vector<std::byte>& list, uint64_t number) {
    while (number >= more_digits) {
        list.push_back(static_cast<std::byte>(number % more_digits | more_digits));
        number /= more_digits;
    }
    list.push_back(static_cast<std::byte>(number));
}

/// Takes a number from the front of the list; nothing if there is none.
inline std::optional<uint64_t> take(std::span<const std::byte>& list) {
    constexpr unsigned most_bits = 64;
    uint64_t number = 0;
    for (unsigned shift = 0; !list.empty() && shift < most_bits; shift += bits_of_a_digit) {
        const auto digit = std::to_integer<uint64_t>(list.front());
        list = list.subspan(1);
        number |= digit % more_digits << shift;
        if (digit < more_digits) { return number; }
    }
    return std::nullopt;
}

} // namespace nodeaware::short_numbers
