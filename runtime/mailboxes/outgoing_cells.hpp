#pragma once

#include "runtime/mailboxes/known_containers.hpp"
#include "strategies/containers.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace nodeaware {

/// Memory in which the ranks of a node put together what they send to each other node, a few cells
/// for each. Any of them may close a cell and send what it holds. What has been sent stays in its
/// cell until the other node has it, so that it can be sent once more, another way.
///
/// A cell serves one container after the other, which are counted: generation g of a node lies in
/// cell g % cells. Only the current generation collects messages. Those whose cells still keep what
/// was sent when it would be their turn are left out. Layout over memory that is given, zero at
/// first.
class OutgoingCells {
  public:
    static constexpr uint32_t cells = containers::Cells::for_each_node;

    OutgoingCells(int nodes, uint32_t cell_bytes) : nodes_(nodes), capacity_(cell_bytes) {}
    uint64_t memory_bytes() const;
    void attach(std::byte* memory) { memory_ = memory; }
    /// By one rank, before any other uses it.
    void initialize();

    struct Place {
        int node = 0;
        uint32_t generation = 0;
        uint32_t offset = 0;
    };
    /// Seconds of a clock that the node shares.
    struct Times {
        double now = 0;
        double leaves_at = 0; ///< when it should have left
    };
    /// Reserves memory in the open cell for the node; the caller writes there and calls commit().
    /// Nothing if none is free, or `full` is closed first.
    std::optional<Place> reserve(int node, uint32_t bytes, const Times& times,
                                 std::optional<uint32_t>* full);
    std::byte* at(const Place& place) const;
    /// Others will put more in, and one of them says when that is done. Before commit().
    void await_others(const Place& place) {
        cell(place.node, place.generation).others.store(awaited);
    }
    bool awaits_others(int node, uint32_t generation) const {
        return cell(node, generation).others.load(std::memory_order_relaxed) == awaited;
    }
    /// They have: it may leave.
    void others_are_in(int node, uint32_t generation) {
        cell(node, generation).others.store(are_in, std::memory_order_relaxed);
    }
    bool are_others_in(int node, uint32_t generation) const {
        return cell(node, generation).others.load(std::memory_order_relaxed) == are_in;
    }
    /// By whoever has closed it: it holds so many messages.
    void note_messages(int node, uint32_t generation, uint64_t messages) {
        if (cell(node, generation).others.load(std::memory_order_relaxed) == 0) { return; }
        if (messages > 1) {
            ring(node).lonely.store(0, std::memory_order_relaxed);
        } else {
            ring(node).lonely.fetch_add(1, std::memory_order_relaxed);
        }
    }
    /// What awaited others was alone again and again.
    bool is_lonely(int node) const {
        constexpr uint32_t enough = 8;
        return ring(node).lonely.load(std::memory_order_relaxed) >= enough;
    }
    /// `signature`: of what was written. Those of a container are added up.
    void commit(const Place& place, uint64_t signature);

    /// The generation that collects messages now, if it has any.
    std::optional<uint32_t> collecting(int node) const;
    /// It has messages that have not been sent, or are not being sent.
    bool has_to_leave(int node, uint32_t generation) const;
    /// One that was put back: whoever looks is to close and send it.
    std::optional<uint32_t> not_sent(int node) const;
    /// When it was begun, and when it should have left.
    Times times(int node, uint32_t generation) const;
    /// It holds the same as some containers before that were complete.
    bool is_known(int node, uint32_t generation) const;
    /// It is complete as it is; `in_vain`: as far as anybody can tell who has held it.
    void learn(int node, uint32_t generation, bool in_vain);
    /// All ranks wait, but some for something earlier, after which they may put more in. Holds it
    /// for these, from the first time on; false: not worth it, as it is known, or after that was in
    /// vain for a while, longer each time.
    bool hold(int node, uint32_t generation);
    /// The container that was closed last, if that was since then and nobody has missed it.
    std::optional<uint32_t> left_since(int node, double seconds) const;
    /// All others are under way, none since before that time: once this one is closed there is no
    /// room, but soon will be.
    bool is_last(int node, uint32_t generation, double seconds) const;
    /// All are under way, the last since then or later.
    bool is_full_since(int node, double seconds) const;
    /// What has come now could have travelled in it.
    void missed(int node);

    /// True: the cell is the caller's, who looks at its content() and then calls keep(), release()
    /// or put_back().
    bool close(int node, uint32_t generation, double seconds);
    std::span<const std::byte> content(int node, uint32_t generation) const;
    /// It is being sent, in so many messages.
    void keep(int node, uint32_t generation, double seconds, uint32_t messages = 1);
    /// It is not needed any more.
    void release(int node, uint32_t generation);
    /// It could not be sent: neither what was closed, nor what is kept since.
    void put_back(int node, uint32_t generation);

    /// The cell of a generation.
    static uint32_t cell_of(uint32_t generation) { return generation % cells; }
    /// The other node has what this cell kept, or one message of it.
    void returned(int node, uint32_t cell);
    /// When it was sent.
    double kept_at(int node, uint32_t number) const {
        return cell(node, number).kept.load(std::memory_order_relaxed);
    }
    /// Containers that are kept since before that time and have not been sent once more.
    std::optional<uint32_t> kept_since(int node, double seconds) const;
    /// True: the caller sends the content() once more and calls sent_again().
    bool send_again(int node, uint32_t generation);
    /// `is_sent`: false if it could not be, so it is for others to try.
    void sent_again(int node, uint32_t generation, bool is_sent = true);

  private:
    static constexpr uint32_t awaited = 1;
    static constexpr uint32_t are_in = 2;
    struct alignas(64) Cell {
        std::atomic<uint64_t> word{0};
        std::atomic<double> begun{0};     ///< 0: not known
        std::atomic<double> leaves_at{0}; ///< 0: not known
        std::atomic<uint64_t> signature{0};
        std::atomic<uint64_t> held{0}; ///< the signature with which it was held first
        std::atomic<double> kept{0};
        std::atomic<uint32_t> others{0};   ///< 0: not known of
        std::atomic<uint32_t> messages{0}; ///< in which it was sent, that have not returned
    };
    struct alignas(64) Ring {
        std::atomic<uint32_t> current{0}; ///< generation
        std::atomic<uint32_t> unsent{0};  ///< cells that were put back
        std::atomic<uint32_t> closings{0};
        std::atomic<uint32_t> held_in_vain{0};
        std::atomic<uint32_t> hold_from{0}; ///< closings
        std::atomic<uint32_t> lonely{0};    ///< in a row
        // The container that was closed last.
        std::atomic<uint64_t> left_signature{0};
        std::atomic<uint32_t> left_generation{0};
        std::atomic<double> left_at{0};
        KnownContainers known;
    };

    Ring& ring(int node) const;
    Cell& cell(int node, uint32_t generation) const;
    std::byte* data(int node, uint32_t generation) const;
    bool change(Cell& cell, uint32_t generation, uint64_t from, uint64_t to);
    bool go_on(int node, uint32_t& generation);
    static void empty(Cell& cell, uint64_t word);
    static bool is_under_way(const Cell& cell);

    uint64_t node_bytes() const;

    int nodes_;
    uint64_t capacity_;
    std::byte* memory_ = nullptr;
};

} // namespace nodeaware
