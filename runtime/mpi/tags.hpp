#pragma once

#include <cstdint>
#include <optional>

/// Tags on the library's private communicators. The standard promises tags up to 32767.
namespace nodeaware::tags {

enum class Kind { piece, direct, carrier };

/// Blocking operations have tags of their own, then they repeat.
inline constexpr uint32_t blocking_operations = 8192;

/// Messages of neighbouring operations have different tags, so that what a faulty program leaves
/// behind, or what comes early from a rank that is ahead, can be told from what belongs to this
/// operation.
inline int of(Kind kind, uint32_t call) {
    constexpr uint32_t kinds = 3;
    return static_cast<int>(call % blocking_operations * kinds + static_cast<uint32_t>(kind));
}

/// The tags of one operation.
struct Tags {
    int direct = 0;
    int sent_piece = 0; ///< of the pieces that this rank sends
    int carrier = 0;    ///< of blocking operations
    /// Pieces come from whichever rank of a node, and their tag tells the node: first_node + node.
    /// Otherwise they come from the rank that the schedule names, with the tag of sent_piece.
    bool by_node = false;
    int first_node = 0;
};

inline Tags of_blocking(uint32_t call) {
    return {of(Kind::direct, call), of(Kind::piece, call), of(Kind::carrier, call), false, 0};
}

/// Nonblocking operations use the tags from here on.
inline constexpr int first_nonblocking = 32768;

/// The tags of one of the contexts that nonblocking operations on a private communicator have.
struct Range {
    int first = 0;
    /// So many operations have tags of their own, then they repeat. Pieces come from whichever rank
    /// of a node, and MPI keeps those of different ranks in no order: where a node is further ahead
    /// of a rank than this, a piece may be taken for that of a later operation. Its header tells,
    /// and the operation fails.
    int operations = 0;
};

/// Of the context `number`, if there are tags up to `upper_bound`. One half of them is for the
/// first contexts, where context n gets a share of 1 / ((n + 1) (n + 2)); when the share would be
/// for less than the fewest operations, contexts get so many in the other half. Nothing if that is
/// used up.
constexpr int fewest_operations = 64;
inline std::optional<Range> range_of_context(int number, int tags_of_an_operation,
                                             int upper_bound) {
    constexpr int64_t fewest = fewest_operations;
    const int64_t half = (int64_t{upper_bound} + 1 - first_nonblocking) / 2;
    const auto share_of = [&](int64_t n) {
        return (half / (n + 1) - half / (n + 2)) / tags_of_an_operation;
    };
    int64_t with_share = 0;
    while (with_share <= number && share_of(with_share) >= fewest) { ++with_share; }
    if (number < with_share) {
        return Range{static_cast<int>(first_nonblocking + half - half / (number + 1)),
                     static_cast<int>(share_of(number))};
    }
    const int64_t first =
        first_nonblocking + half + (number - with_share) * fewest * tags_of_an_operation;
    if (first + fewest * tags_of_an_operation > int64_t{upper_bound} + 1) { return std::nullopt; }
    return Range{static_cast<int>(first), static_cast<int>(fewest)};
}

/// The range of one of the lanes of a context, which are `lanes` besides the first: that has one
/// half, the others have equal parts of the other.
inline Range range_of_lane(const Range& whole, int lane, int lanes, int tags_of_an_operation) {
    if (lanes == 0) { return whole; }
    const int first = whole.operations - whole.operations / 2;
    if (lane == 0) { return {whole.first, first}; }
    const int each = whole.operations / 2 / lanes;
    return {whole.first + (first + (lane - 1) * each) * tags_of_an_operation, each};
}

inline constexpr int setup = 32000;
inline constexpr int never_used = 32001;
inline constexpr int to_itself = 32702; ///< a message of a rank to itself, received at once

/// Of what mailboxes send, from here on.
inline constexpr int of_mailboxes = 32710;
inline constexpr int mailbox_tags = 16;

} // namespace nodeaware::tags
