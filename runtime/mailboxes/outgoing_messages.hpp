#pragma once

#include "runtime/mpi/mpi.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace nodeaware {

/// Every MPI lets go of messages of so many bytes without their receiver: the smallest eager limit
/// is that of Open MPI's shared memory, 4096 with its header.
inline constexpr uint64_t surely_eager = 4000;

/// The library's own messages to other ranks, until MPI has let go of their bytes. For each
/// destination small and large ones end in order, or nearly so; then it is enough to look at the
/// first.
class OutgoingMessages {
  public:
    explicit OutgoingMessages(MPI_Comm comm) : comm_(comm) {}
    ~OutgoingMessages();
    OutgoingMessages(const OutgoingMessages&) = delete;
    OutgoingMessages& operator=(const OutgoingMessages&) = delete;

    /// What a message was, and for how many seconds MPI has held its bytes, as far as that was
    /// seen.
    struct Sent {
        uint32_t bytes;
        double at_least;
        double at_most;
    };
    /// Throws MpiError. `watch`: nullptr, or is told the end of it, if it is large; kept until
    /// then.
    using Watch = std::function<void(const Sent&)>;
    void send(std::vector<std::byte> bytes, int destination, int tag, const Watch* watch = nullptr);
    /// Forgets what is over. Throws MpiError.
    void advance();
    bool empty() const { return queues_.empty(); }
    /// MPI has yet to let go of much that is for that rank: it may not look for long.
    bool is_crowded(int destination) const;

  private:
    struct Message {
        MPI_Request request;
        std::vector<std::byte> bytes;
        const Watch* watch; ///< nullptr: nobody is told
        double begun;
        double seen = begun; ///< when it was last seen to be under way
    };
    struct Queue {
        std::deque<Message> messages;
        uint64_t bytes = 0;
    };
    using Key = std::pair<int, bool>; ///< destination, is large

    static constexpr size_t looks = 32; ///< at messages at a time
    static constexpr uint64_t much = 1 << 20;
    static void forget_first(Queue& queue);
    static void tell(Queue& queue, size_t count);

    MPI_Comm comm_;
    std::map<Key, Queue> queues_; ///< none is empty for long
};

} // namespace nodeaware
