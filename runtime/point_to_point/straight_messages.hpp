#pragma once

#include "runtime/memory/datatype.hpp"
#include "runtime/point_to_point/catch_all.hpp"
#include "runtime/point_to_point/payload_tags.hpp"

#include <array>
#include <map>
#include <optional>

namespace nodeaware {

/// Messages that are larger than a copy is worth go straight: their envelope goes through the
/// engine like any message, so matching and order are the same, and their bytes (the payload) go by
/// MPI from user memory to user memory, on a communicator of their own.
///
/// Both ends know the tag of a payload without a word: it names the tag of the message and its
/// number on its channel (see PayloadTags), and as messages of a channel do not overtake each
/// other, the n-th of them meets the n-th receive for it that is not cancelled. A tag stands for
/// one number at a time: see Credits::may_go_straight().
///
/// Why no program can wait for ever that would not without us:
///
///  - The payload is sent when the application sends, so MPI alone moves it from there on, whatever
///    its sender does then. It is received when its envelope meets a receive, in any call on the
///    receiver in which the library goes on.
///  - A receiver that is away in a call of MPI has first opened its receives: for each that names
///    source and tag, and stands behind none with wildcards that may take its message, the payload
///    of that number is awaited in user memory. So MPI serves a sender that waits. If an ordinary
///    message comes for that receive, the open one has met nothing and never can: it is withdrawn.
///  - Receives with wildcards cannot be opened, for whose message they take is not known. While
///  they
///    wait, payloads that they may take are received into memory of the library (CatchAll).
///  - Where a channel is too far ahead or its tag has none for payloads, the message is copied; so
///    is a buffered one. A blocking send of that kind waits for credit (Credits::must_fit()), which
///    comes back when messages are matched, and for no more than the announcement that its receive
///    is posted.
///  - Synchronous sends wait in addition for the acknowledgement or that announcement.
///
/// One object of the process, on a communicator of all ranks of MPI_COMM_WORLD: sources and
/// destinations are ranks there.
class StraightMessages {
  public:
    /// `comm`: for payloads alone.
    explicit StraightMessages(MPI_Comm comm);
    ~StraightMessages() = default;
    StraightMessages(const StraightMessages&) = delete;
    StraightMessages& operator=(const StraightMessages&) = delete;

    CatchAll& catch_all() { return catch_all_; }

    /// The same for all connections.
    PayloadTags tags() const { return {largest_tag_, 0}; }
    /// Of the payload of message `number` on a channel with `tag`, on the connection with the
    /// number `part`; nothing if it cannot go straight.
    std::optional<int> tag(int part, int tag, uint32_t number) const;
    /// A number for a connection from `source`, by its receiver. no_part: all are taken.
    int take_part(int source);
    void give_part_back(int source, int part);
    static constexpr int no_part = -1;

    /// Throw MpiError.
    MPI_Request send(const UserMemory& memory, int destination, int payload_tag) const;
    MPI_Request receive(const UserMemory& memory, int source, int payload_tag) const;
    /// MPI_MESSAGE_NULL: the payload has not come yet.
    MPI_Message probe(int source, int payload_tag) const;

  private:
    MPI_Comm comm_;
    int largest_tag_ = 0;
    CatchAll catch_all_;
    std::map<int, std::array<bool, PayloadTags::parts>> taken_; ///< by source
};

} // namespace nodeaware
