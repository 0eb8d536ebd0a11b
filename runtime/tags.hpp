#pragma once

#include <cstdint>

/// Tags on the library's private communicators. The standard promises tags up to 32767.
namespace nodeaware::tags {

enum class Kind { piece, direct };

/// Messages of neighbouring operations have different tags, so that what a faulty program leaves
/// behind, or what comes early from a rank that is ahead, can be told from what belongs to this
/// operation.
inline int of(Kind kind, uint32_t call) {
    return static_cast<int>(call % 8192 * 2 + (kind == Kind::direct ? 1 : 0));
}

inline constexpr int setup = 32000;
inline constexpr int never_used = 32001;

} // namespace nodeaware::tags
