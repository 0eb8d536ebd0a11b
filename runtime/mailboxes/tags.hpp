#pragma once

#include "runtime/mailboxes/mailboxes.hpp"
#include "runtime/mpi/tags.hpp"

/// What the messages of mailboxes look like, beside containers.
namespace nodeaware::mailbox_messages {

// A container has the tag of its cell.
inline constexpr int apart_tag = tags::of_mailboxes;
inline constexpr int end_tag = tags::of_mailboxes + 1;
inline constexpr int first_cell_tag = tags::of_mailboxes + 2;
static_assert(2 + Grants::cells <= tags::mailbox_tags);

/// An item with this name is for the mailboxes themselves.
inline constexpr Mailboxes::Name control_name = ~uint64_t{0};
struct ControlMessage {
    uint32_t what;
    uint32_t cells; ///< a bit for each
};
inline constexpr uint32_t all_cells = (1U << Grants::cells) - 1;

} // namespace nodeaware::mailbox_messages
