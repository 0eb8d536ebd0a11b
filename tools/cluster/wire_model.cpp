#include "wire_model.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

namespace wire {

namespace {

constexpr double nanoseconds_per_microsecond = 1e3;
constexpr double nanoseconds_per_byte_at_one_megabyte_per_second = 1e3;

Nanoseconds from_microseconds(double value) {
    return std::llround(value * nanoseconds_per_microsecond);
}

double to_microseconds(Nanoseconds value) {
    return static_cast<double>(value) / nanoseconds_per_microsecond;
}

// False if the name is unknown.
bool set(Settings& settings, const std::string& name, double value) {
    if (name == "rate_MBps") {
        settings.nanoseconds_per_byte =
            value > 0 ? nanoseconds_per_byte_at_one_megabyte_per_second / value : 0;
    } else if (name == "message_us") {
        settings.message_cost = from_microseconds(value);
    } else if (name == "latency_us") {
        settings.latency = from_microseconds(value);
    } else if (name == "receive_side") {
        settings.receive_side = value != 0;
    } else {
        return false;
    }
    return true;
}

// The link serves one packet after the other; returns when it is done with this one.
Nanoseconds occupy(Nanoseconds& free_again, Nanoseconds from, Nanoseconds cost) {
    free_again = std::max(free_again, from) + cost;
    return free_again;
}

} // namespace

Nanoseconds Clock::now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * second + time.tv_nsec;
}

Settings parse_settings(std::istream& input, std::ostream& log) {
    Settings settings;
    std::string line;
    while (std::getline(input, line)) {
        if (line.empty()) continue;
        const std::size_t equals = line.find('=');
        try {
            if (equals != std::string::npos &&
                set(settings, line.substr(0, equals), std::stod(line.substr(equals + 1))))
                continue;
        } catch (const std::logic_error&) { // what std::stod throws: falls through to the message
        }
        log << "wire: setting not understood: " << line << std::endl;
    }
    return settings;
}

std::optional<PacketHeader> parse_packet(std::span<const std::uint8_t> bytes, int nodes) {
    constexpr std::size_t smallest_ip_header = 20;
    constexpr std::size_t smallest_tcp_header = 20;
    constexpr std::size_t protocol_at = 9;
    constexpr std::size_t destination_at = 16;
    constexpr std::uint8_t tcp = 6;
    constexpr std::uint8_t push_flag = 0x08;
    constexpr std::uint8_t closing_flags = 0x05; // FIN or RST: these must not pass the data

    if (bytes.size() < smallest_ip_header || bytes[0] >> 4 != 4) return std::nullopt;
    PacketHeader header;
    header.destination = bytes[destination_at + 3] - 1;
    if (bytes[destination_at] != 10 || header.destination < 0 || header.destination >= nodes)
        return std::nullopt;

    constexpr std::size_t word = 4; // both headers give their lengths in words
    std::size_t headers = (bytes[0] & 0x0fU) * word;
    std::uint8_t flags = push_flag; // a datagram of any other protocol is one message
    if (bytes[protocol_at] == tcp && bytes.size() >= headers + smallest_tcp_header) {
        flags = bytes[headers + 13];
        headers += (bytes[headers + 12] >> 4U) * word;
    }
    header.length = bytes.size();
    header.payload = bytes.size() - std::min(bytes.size(), headers);
    header.ends_message = (flags & push_flag) != 0;
    header.acknowledges_only = header.payload == 0 && (flags & closing_flags) == 0;
    return header;
}

void CostModel::configure(const Settings& settings) {
    settings_ = settings;
    for (auto& link : links_) link.counters = {};
}

Nanoseconds CostModel::send(int source, const PacketHeader& packet, Nanoseconds now) {
    Link& from = links_[static_cast<std::size_t>(source)];
    Link& to = links_[static_cast<std::size_t>(packet.destination)];
    ++from.counters.packets;
    if (packet.acknowledges_only) return now + settings_.latency;

    Nanoseconds cost = 0;
    if (packet.payload > 0) {
        const double transfer = settings_.nanoseconds_per_byte * static_cast<double>(packet.length);
        cost = (packet.ends_message ? settings_.message_cost : 0) + std::llround(transfer);
        ++from.counters.data_packets;
        from.counters.messages += packet.ends_message ? 1 : 0;
        from.counters.payload_bytes += packet.payload;
        from.counters.busy += cost;
    }

    const Nanoseconds arrival = occupy(from.sends_again, now, cost) + settings_.latency;
    return settings_.receive_side ? occupy(to.receives_again, arrival, cost) : arrival;
}

void CostModel::report(std::ostream& output) const {
    for (std::size_t node = 0; node < links_.size(); ++node) {
        const Counters& counters = links_[node].counters;
        output << "{\"node\":\"n" << node << "\",\"packets\":" << counters.packets
               << ",\"data_packets\":" << counters.data_packets
               << ",\"messages\":" << counters.messages
               << ",\"payload_bytes\":" << counters.payload_bytes
               << ",\"busy_us\":" << std::llround(to_microseconds(counters.busy)) << "}\n";
    }
}

bool DelayQueue::later(const Entry& a, const Entry& b) {
    return std::pair(a.packet.due, a.number) > std::pair(b.packet.due, b.number);
}

void DelayQueue::push(Packet packet) {
    heap_.push_back({std::move(packet), next_number_++});
    std::push_heap(heap_.begin(), heap_.end(), later);
}

Packet DelayQueue::pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Packet packet = std::move(heap_.back().packet);
    heap_.pop_back();
    return packet;
}

void Lateness::record(Nanoseconds late) {
    ++deliveries_;
    over_100us_ += late > Clock::second / 10'000 ? 1 : 0;
    over_1ms_ += late > Clock::second / 1'000 ? 1 : 0;
    total_ += late;
    worst_ = std::max(worst_, late);
}

void Lateness::report(std::ostream& output, bool realtime) const {
    const double mean =
        deliveries_ > 0 ? to_microseconds(total_) / static_cast<double>(deliveries_) : 0;
    output << "{\"wire\":\"" << (realtime ? "realtime" : "normal")
           << "\",\"deliveries\":" << deliveries_ << ",\"late_mean_us\":" << std::llround(mean)
           << ",\"late_max_us\":" << std::llround(to_microseconds(worst_))
           << ",\"late_over_100us\":" << over_100us_ << ",\"late_over_1ms\":" << over_1ms_ << "}\n";
}

} // namespace wire
