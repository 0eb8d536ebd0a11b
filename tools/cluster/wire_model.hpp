// The parts of the wire that touch no device: packet headers, the cost model, the queue of packets
// in flight and the counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <vector>

namespace wire {

using Nanoseconds = std::int64_t;

struct Clock {
    static constexpr Nanoseconds second = 1'000'000'000;
    static Nanoseconds now();
};

struct Settings {
    double nanoseconds_per_byte = 0;
    Nanoseconds message_cost = 0;
    Nanoseconds latency = 0;
    bool receive_side = false; // the receiving link has the same limits as the sending one
};

// Lines of name=value: rate_MBps, message_us, latency_us, receive_side. Anything that is absent
// costs nothing. Complaints go to `log`.
Settings parse_settings(std::istream& input, std::ostream& log);

struct PacketHeader {
    int destination = 0; // node
    std::size_t length = 0;
    std::size_t payload = 0;
    bool ends_message = false;
    bool acknowledges_only = false;
};

// Nothing if the packet is not IPv4 from one node of this network to another.
std::optional<PacketHeader> parse_packet(std::span<const std::uint8_t> bytes, int nodes);

struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t data_packets = 0;
    std::uint64_t messages = 0;
    std::uint64_t payload_bytes = 0;
    Nanoseconds busy = 0; // of the sending link
};

class CostModel {
  public:
    explicit CostModel(std::size_t nodes) : links_(nodes) {}

    // Takes new settings and forgets the counters. Packets already in flight keep their times.
    void configure(const Settings& settings);

    // Charges the packet to the links that it uses; returns when it arrives.
    Nanoseconds send(int source, const PacketHeader& packet, Nanoseconds now);

    // One line of JSON per node.
    void report(std::ostream& output) const;

  private:
    struct Link {
        Nanoseconds sends_again = 0;
        Nanoseconds receives_again = 0;
        Counters counters;
    };

    Settings settings_;
    std::vector<Link> links_;
};

struct Packet {
    Nanoseconds due = 0;
    int destination = 0;
    std::vector<std::uint8_t> bytes;
};

// Packets in flight, earliest first; equal times in the order of arrival.
class DelayQueue {
  public:
    bool empty() const { return heap_.empty(); }
    Nanoseconds next_due() const { return heap_.front().packet.due; }
    bool due_by(Nanoseconds time) const { return !empty() && next_due() <= time; }
    void push(Packet packet);
    Packet pop();

  private:
    struct Entry {
        Packet packet;
        std::uint64_t number;
    };
    static bool later(const Entry& a, const Entry& b);

    std::vector<Entry> heap_;
    std::uint64_t next_number_ = 0;
};

// How far behind its own model the emulation is.
class Lateness {
  public:
    void record(Nanoseconds late);
    // One line of JSON.
    void report(std::ostream& output, bool realtime) const;

  private:
    std::uint64_t deliveries_ = 0;
    std::uint64_t over_100us_ = 0;
    std::uint64_t over_1ms_ = 0;
    Nanoseconds total_ = 0;
    Nanoseconds worst_ = 0;
};

} // namespace wire
