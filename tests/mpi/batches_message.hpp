#pragma once

#include "tests/mpi/types.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace nodeaware::test {

/// Where the units (chars, ints, doubles) of an element of a datatype lie. All of one signature
/// may be sent with one layout and received with another.
struct Layout {
    const char* name = "";
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    int signature = 0; ///< 0 chars, 1 ints, 2 doubles
    int unit = 1;      ///< bytes
    int extent = 1;    ///< in units
    std::vector<int> places = {0};

    int per_element() const { return static_cast<int>(places.size()); }
    int elements_for(int units) const { return (units + per_element() - 1) / per_element(); }
    size_t place(int index) const {
        return static_cast<size_t>(index / per_element() * extent +
                                   places[static_cast<size_t>(index % per_element())]) *
               static_cast<size_t>(unit);
    }
};

class Layouts {
  public:
    Layouts() {
        list_.push_back({"char", MPI_CHAR, 0, 1, 1, {0}});
        list_.push_back({"double", MPI_DOUBLE, 2, sizeof(double), 1, {0}});
        for (const TestType& type : types_.list()) { add(type); }
    }

    const Layout& at(int index) const { return list_[static_cast<size_t>(index)]; }

    /// One of the signature; if `units` is not zero, one of which so many units are whole elements.
    int draw_one(Random& random, int signature, int units) const {
        for (;;) {
            const int index = draw(random, 0, static_cast<int>(list_.size()) - 1);
            const Layout& layout = at(index);
            if (layout.signature == signature && units % layout.per_element() == 0) {
                return index;
            }
        }
    }

    int basic(int signature) const { return signature == 1 ? 2 : signature / 2; }

  private:
    void add(const TestType& type) {
        Layout layout{type.name, type.handle, 1, sizeof(int), type.extent, {}};
        std::vector<int> sent;
        for (int i = 1; i <= type.integers; ++i) { sent.push_back(i); }
        std::vector<int> received(static_cast<size_t>(type.span), 0);
        MPI_Sendrecv(sent.data(), type.integers, MPI_INT, 0, 0, received.data(), 1, type.handle, 0,
                     0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        for (const int value : sent) {
            const auto found = std::find(received.begin(), received.end(), value);
            layout.places.push_back(static_cast<int>(found - received.begin()));
        }
        list_.push_back(layout);
    }

    TestTypes types_;
    std::vector<Layout> list_;
};

enum class Kind { plain, synchronous, buffered, ready };

/// A message of the plan.
struct Message {
    int from = 0;
    int to = 0;
    int tag = 0;
    int signature = 1;
    int units = 0;
    int sent_as = 0;
    int received_as = 0;
    int room = 0;     ///< elements the receive has room for
    uint64_t key = 0; ///< of the contents
    int slot = -1;    ///< of what comes in each iteration, the same
    Kind kind = Kind::plain;
    bool nonblocking = false; ///< the send must not block
    bool preposted = false;   ///< the receive must be posted first
    bool second = false;      ///< the second in its channel
    bool late = false;
    bool early = false;
    bool withdrawn = false; ///< the receive is cancelled, maybe too late, and then posted again
    bool touched = false;   ///< has its deviation already
};

inline void renew_types(Message& message, const Layouts& layouts, Random& random, bool plain) {
    message.sent_as = message.received_as = layouts.basic(message.signature);
    if (!plain) {
        message.sent_as = layouts.draw_one(random, message.signature, message.units);
        message.received_as = layouts.draw_one(random, message.signature, 0);
    }
    message.room = layouts.at(message.received_as).elements_for(message.units);
    if (draw(random, 0, 3) == 0) { message.room += draw(random, 1, 20); }
}

constexpr unsigned char filler = 0xa5;

/// The memory of a message at one of its ends.
class Buffer {
  public:
    static uint64_t value(uint64_t key, int index) {
        uint64_t x = key + static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15U;
        x ^= x >> 29U;
        return x * 0xbf58476d1ce4e5b9U;
    }

    static void put(std::vector<unsigned char>& bytes, const Message& message,
                    const Layout& layout) {
        for (int i = 0; i < message.units; ++i) {
            const uint64_t unit = value(message.key, i);
            std::memcpy(bytes.data() + layout.place(i), &unit, static_cast<size_t>(layout.unit));
        }
    }

    void* prepare_send(const Message& message, const Layout& layout) {
        resize(layout, message.units / layout.per_element(), 0x3c);
        put(bytes_, message, layout);
        return bytes_.data();
    }
    void* prepare_receive(const Layout& layout, int room) {
        resize(layout, room, filler);
        return bytes_.data();
    }

    void write(const Message& message, const Layout& layout) { put(bytes_, message, layout); }

    /// Once a message is sent its memory may be used for anything.
    void scribble() { std::fill(bytes_.begin(), bytes_.end(), static_cast<unsigned char>(0x5a)); }

    /// Whether it holds the message and nothing else was changed.
    bool holds(const Message& message, const Layout& layout) const {
        std::vector<unsigned char> expected(bytes_.size(), filler);
        put(expected, message, layout);
        return expected == bytes_;
    }

  private:
    /// Room for the elements and something behind them; if the size stays, so does the place.
    void resize(const Layout& layout, int elements, unsigned char byte) {
        const int reach = *std::max_element(layout.places.begin(), layout.places.end()) + 1;
        const int units = std::max(layout.extent, reach) + elements * layout.extent;
        bytes_.assign(static_cast<size_t>(units * layout.unit) + 16, byte);
    }

    std::vector<unsigned char> bytes_;
};

} // namespace nodeaware::test
