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

/// The tags of one operation.
struct Tags {
    int direct = 0;
    int sent_piece = 0; ///< of the pieces that this rank sends
    /// Pieces come from whichever rank of a node, and their tag tells the node: first_node + node.
    /// Otherwise they come from the rank that the schedule names, with the tag of sent_piece.
    bool by_node = false;
    int first_node = 0;
};

inline Tags of_blocking(uint32_t call) {
    return {of(Kind::direct, call), of(Kind::piece, call), false, 0};
}

/// Nonblocking operations use the tags from here on.
inline constexpr int first_nonblocking = 32768;

inline constexpr int setup = 32000;
inline constexpr int never_used = 32001;
inline constexpr int to_itself = 32702; ///< a message of a rank to itself, received at once

/// Of the `number`-th engine that moves point-to-point messages on the communicator. Few run at the
/// same time.
inline int of_engine(int number) { return 32002 + number % 700; }

} // namespace nodeaware::tags
