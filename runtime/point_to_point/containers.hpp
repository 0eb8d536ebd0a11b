#pragma once

#include "runtime/point_to_point/wire.hpp"
#include "strategies/batches.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace nodeaware {

/// Shared memory in which the ranks of a node gather what they send to one rank of another node in
/// one batch. Who contributes last sends all of it as one message; a contribution that has waited
/// for too long is sent with whatever has come in by then. So no message depends on what another
/// rank does later.
///
/// A container has a cell for each of the next few repetitions of its batch, and in each cell a
/// slot for each stream. The n-th message of a stream goes into the cell of repetition n, or
/// nowhere.
class Containers {
  public:
    /// Where a message may be put.
    struct Reservation {
        uint32_t container = 0;
        uint32_t slot = 0;
        uint32_t repetition = 0;
    };

    using Stream = batches::Stream;

    /// Lays the containers out; the same on all ranks of the node, of which this is the
    /// `own`-th. `containers` have no more members than most_members.
    Containers(const std::vector<batches::Container>& containers, int own);
    static constexpr size_t most_members = (1U << 15) - 1;

    uint64_t memory_bytes() const { return memory_bytes_; }
    /// To be called before the rest, with memory_bytes() of zeroes that the ranks share.
    void attach(std::byte* memory);

    /// True if messages of this stream of this rank are to travel in a container.
    bool has(const Stream& stream) const { return own_.count(stream) > 0; }
    /// The place of the next message of this stream of this rank.
    std::optional<Reservation> next_reservation(const Stream& stream);

    /// Reserves the place; nullptr if it is too late or too early for it. The caller writes an
    /// Entry and its bytes there and calls commit(). `seconds` of a clock that the node shares.
    std::byte* reserve(const Reservation& place, double seconds);
    /// The caller could not write what it has reserved the place for; it calls commit()
    /// nevertheless, for others wait for that.
    void withdraw(const Reservation& place);
    /// True if this was the last contribution: the caller has to take() and send.
    bool commit(const Reservation& place);

    /// Closes the cell before it is complete. True if the caller has to take() and send.
    bool close(const Reservation& place);
    /// True if the cell has been closed.
    bool is_closed(const Reservation& place) const;
    /// Cells of any ranks of the node in which the first contribution came before that time.
    std::vector<Reservation> overdue(double seconds) const;
    bool empty() const { return layout_.empty(); }
    /// A contribution of this rank left too late, or in time. Containers that are late more than
    /// now and then are given up: what was learned does not hold.
    void note_overdue(const Reservation& place) { misses_[place.container] += a_miss; }
    void note_in_time(const Reservation& place);
    /// The entries of a cell that the caller has to send; frees it for a later repetition.
    std::vector<std::byte> take(const Reservation& place);

    int destination(uint32_t container) const { return layout_[container].destination; }

  private:
    static constexpr uint32_t cells = 4;

    struct Slot {
        uint64_t offset = 0; ///< in the cell
        uint64_t bytes = 0;  ///< of the message
    };
    struct Container {
        int destination = 0;
        uint64_t offset = 0; ///< of its first cell
        uint64_t cell_bytes = 0;
        std::vector<Slot> slots;
    };
    /// First bytes of a cell: repetition + 1 that it serves now (0: its first), a flag that it is
    /// closed, contributions reserved and committed.
    struct alignas(64) Cell {
        std::atomic<uint64_t> word{0};
        std::atomic<double> since{0}; ///< when the first contribution came; 0: not known
    };
    struct SlotHead {
        std::atomic<uint64_t> filled{0}; ///< repetition + 1
    };
    /// Streams of this rank: their slots, several where the same message is sent several times in a
    /// batch, and how many messages there were.
    struct Own {
        uint32_t container = 0;
        std::vector<uint32_t> slots;
        uint64_t uses = 0;
    };

    std::byte* cell_memory(const Reservation& place) const;
    Cell& cell(const Reservation& place) const;
    SlotHead& head(const Reservation& place, uint32_t slot) const;
    bool reserve_word(const Reservation& place);

    std::vector<Container> layout_;
    std::map<Stream, Own> own_;
    static constexpr uint32_t a_miss = 8; ///< as much as so many contributions in time
    static constexpr uint32_t most_misses = 5 * a_miss;
    std::vector<uint32_t> misses_; ///< by container
    uint64_t memory_bytes_ = 0;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
