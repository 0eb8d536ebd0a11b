#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

/// How the messages from one rank to another on one communicator (a connection) go over from MPI to
/// the library, and back, without a word of any other rank and without a moment at which nothing is
/// under way.
///
/// Messages of a connection with one tag (a channel) do not overtake each other, so the n-th of
/// them meets the n-th receive for it. Both ends count what goes by MPI: the sender its messages,
/// the receiver its receives, each with the sum of the hashes of their tags.
///
///  1. The sender proposes. The receiver answers with its count, or declines, for example if
///     receives with wildcards are posted in MPI of which nobody knows what they will take.
///  2. From its answer on, a receive of this source is the library's, with the same receive posted
///     in MPI (its shadow), for its message may come either way.
///  3. When the sender has sent as many messages as the answer says, and their tags are those of
///     the receives, each of these receives has its message. What it sends after these by MPI will
///     meet receives that have shadows. At any moment from there on it hands over: its next message
///     goes by the library, after a note with the tags of those sent in between.
///  4. So the receiver knows which messages may still come by MPI. As long as one of them could be
///     for a receive, that receive has a shadow, and gets no message of the library, for those were
///     sent later.
///  5. Back: the sender asks. The receiver, when it has all that was sent before and nothing may
///     come by MPI, gives every receive of the library a shadow, and confirms. If the sender has
///     sent nothing meanwhile, its next message goes by MPI, after a note; else it asks once more.
namespace nodeaware::handover {

/// What one end has seen of messages by MPI.
struct Count {
    uint64_t messages = 0;
    uint64_t hash = 0; ///< sum over their tags
    bool operator==(const Count&) const = default;

    void add(int tag);
    void remove(int tag);
};

/// The sender's end. Pure.
class Sender {
  public:
    enum class Phase {
        mpi,
        proposed,
        answered, ///< and not as many messages sent as were received
        library,
        leaving ///< by the library until the receiver has confirmed
    };
    Phase phase() const { return phase_; }
    /// The next message goes by the library.
    bool is_by_library() const { return phase_ == Phase::library || phase_ == Phase::leaving; }

    /// A message goes by MPI: to be called before anything else can happen to the connection.
    void sent_by_mpi(int tag);
    uint64_t sent_by_mpi() const { return count_.messages; }

    /// After so many messages by MPI, and more and more where it was in vain before.
    bool may_propose() const { return phase_ == Phase::mpi && count_.messages >= next_proposal_; }
    void propose() { phase_ = Phase::proposed; }
    void declined() { give_up(); }
    enum class Next {
        wait,
        hand_over, ///< with a note of tags()
        give_up    ///< the receiver is to be told
    };
    Next answered(const Count& receives);
    /// Again after a message, as long as it is answered.
    Next look();
    /// Of the messages by MPI that receives with shadows will get, in their order.
    std::vector<int> tags() const;

    /// Asks for the way back; `sequence` is the number of that note among what the library sends.
    void leave(uint32_t sequence);
    /// The receiver confirms that note, and `next` is the number of what would be sent next. True
    /// if messages go by MPI from now on, after a note; else it has to ask once more.
    bool confirmed(uint32_t sequence, uint32_t next);

  private:
    static constexpr uint64_t remembered = 64; ///< tags
    static constexpr uint64_t most_patience = uint64_t{1} << 20;
    static constexpr int usual_failures = 8;

    void give_up();

    Phase phase_ = Phase::mpi;
    Count count_;
    Count receives_; ///< answered
    std::array<int, remembered> tags_{};
    uint64_t next_proposal_ = 0;
    uint64_t patience_ = 4; ///< messages from one proposal to the next
    int failures_ = 0;
    uint32_t left_at_ = 0;
};

/// The receiver's end. Pure.
class Receiver {
  public:
    enum class Phase { mpi, answered, library, leaving };
    Phase phase() const { return phase_; }
    /// Receives that name this source are the library's.
    bool is_by_library() const { return phase_ != Phase::mpi; }
    bool is_receiving() const { return phase_ == Phase::library || phase_ == Phase::leaving; }

    /// How often it has been handed over. A receive of MPI posted before that has its message,
    /// though that may be under way: it must not be cancelled any more.
    uint32_t era() const { return era_; }

    /// A receive that names source and tag is posted, or was taken back without a message. One with
    /// wildcards counts when MPI has matched it.
    void posted(int tag) { count_.add(tag); }
    void taken_back(int tag) { count_.remove(tag); }

    /// Receives have been counted. If none has, the program may receive in ways that nobody sees.
    bool may_answer() const { return phase_ == Phase::mpi && count_.messages > 0; }
    Count answer();
    /// The sender has given up.
    void given_up() { phase_ = Phase::mpi; }
    /// The note of the sender. What the library brings was sent after all this.
    void handed_over(std::span<const int> tags);

    /// MPI has matched a message with a receive of the library. True if it counts on its channel
    /// since the answer.
    bool matched_by_mpi(int tag);
    /// A receive that was posted in MPI before the answer is being cancelled, so its message may be
    /// for one of the library; then what has become of that.
    void in_doubt(int tag);
    void was_not_cancelled(int tag);

    /// A receive for `tag` (`any`: for all tags) may get its message by MPI.
    bool may_come_by_mpi(int tag, bool any) const;
    /// Also if a message of the library is there, which was sent later.
    bool must_come_by_mpi_first(int tag, bool any) const;
    /// Messages by MPI from before the answer that receives of the library will get.
    uint64_t from_before(int tag) const;

    /// The sender asks for the way back, and all that was sent before has come. False: not now.
    bool leave(std::span<const int> waiting);
    /// A message of the library has met a receive that names source and tag.
    void matched_by_library(int tag);
    /// Messages come by MPI from now on.
    void left() { phase_ = Phase::mpi; }

  private:
    using Tags = std::map<int, int64_t>;
    static void change(Tags& tags, int tag, int64_t by);
    static bool any_of(const Tags& tags, int tag, bool any);

    Phase phase_ = Phase::mpi;
    uint32_t era_ = 0;
    Count count_;
    Tags by_mpi_; ///< messages by MPI since the answer: those told of less those matched
    Tags before_; ///< from before
};

} // namespace nodeaware::handover
