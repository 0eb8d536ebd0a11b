#include "strategies/pair_cost.hpp"

#include "strategies/piece_layout.hpp"
#include "strategies/schedule.hpp"

#include <algorithm>

namespace nodeaware {

PairCost::PairCost(const PairTraffic& pair, const Costs& costs, WithoutCopies /*tag*/)
    : pair_(pair), costs_(costs), partners_(pair.topology->nodes() - 1),
      largest_piece_(best_overlapping(pair.bytes(), costs)),
      sending_(ranks_on(pair.source_node), costs),
      receiving_(ranks_on(pair.destination_node), costs),
      from_devices_(costs.devices.are_used ? ranks_on(pair.source_node) : 0, costs.devices.to_host),
      to_devices_(costs.devices.are_used ? ranks_on(pair.destination_node) : 0,
                  costs.devices.to_device) {}

PairCost::PairCost(const PairTraffic& pair, const Costs& costs)
    : PairCost(pair, costs, WithoutCopies()) {
    if (!costs.devices.are_used) { return; }
    for (const Block& block : pair.blocks) {
        if (is_copied_alone(block.bytes)) { continue; }
        from_devices_.add_together(local_of(block.source), block.bytes);
        for (uint32_t i = 0; i < block.messages; ++i) {
            const Message& message = pair.messages[block.first_message + i];
            to_devices_.add_together(local_of(message.destination), message.bytes);
        }
    }
}

void PairCost::add_message(int sender, int receiver, uint64_t bytes) {
    sending_.add_message(local_of(sender), bytes);
    receiving_.add_message(local_of(receiver), bytes);
    ++messages_;
}

void PairCost::add_direct(const Message& message) {
    const bool is_alone = is_copied_alone(message.bytes);
    if (is_alone && costs_.devices.mpi_is_aware) {
        sending_.add_device_message(local_of(message.source), message.bytes);
        receiving_.add_device_message(local_of(message.destination), message.bytes);
        ++messages_;
        return;
    }
    add_message(message.source, message.destination, message.bytes);
    if (!is_alone) { return; }
    from_devices_.add(local_of(message.source), 1, message.bytes);
    to_devices_.add(local_of(message.destination), 1, message.bytes);
}

void PairCost::add_piece(int sender, int receiver, uint64_t bytes) {
    const uint64_t parts = std::max<uint64_t>(1, parts_of(bytes));
    for (uint64_t i = 0; i < parts; ++i) {
        add_message(sender, receiver, bytes / parts + sizeof(PieceHeader));
    }
    copied_ += static_cast<double>(bytes);
    has_pieces_ = true;
}

void PairCost::add_segments(const Block& block, double segments, uint64_t bytes) {
    if (!is_copied_alone(block.bytes)) { return; }
    segments = std::max(segments, static_cast<double>(parts_of(bytes)));
    from_devices_.add(local_of(block.source), segments, bytes);
    for (uint32_t i = 0; i < block.messages; ++i) {
        const Message& message = pair_.messages[block.first_message + i];
        to_devices_.add(local_of(message.destination), segments, bytes);
    }
    copied_ -= static_cast<double>(bytes); // straight between device and arena
}

void PairCost::add_plan(const Plan& plan) {
    for (const uint32_t message : plan.direct()) { add_direct(pair_.messages[message]); }
    for (const Piece& piece : plan.pieces()) {
        add_piece(piece.sender, piece.receiver, piece.bytes);
        for (const Segment& segment : plan.segments_of(piece)) {
            add_segments(pair_.blocks[segment.block], 1, segment.bytes);
        }
    }
}

/// Pack and unpack, each by all ranks together, each announced.
double PairCost::own_steps() const {
    if (!has_pieces_) { return 0; }
    const auto ranks = static_cast<double>(
        std::min(ranks_on(pair_.source_node), ranks_on(pair_.destination_node)));
    return 2 * (costs_.flag + copied_ * partners_ / ranks * costs_.copy_per_byte);
}

double PairCost::seconds() const {
    const double network = std::max(sending_.latency(partners_), receiving_.latency(partners_)) +
                           std::max(sending_.transfer(partners_), receiving_.transfer(partners_));
    const CopyLoad::Seconds from = from_devices_.seconds(partners_);
    const CopyLoad::Seconds to = to_devices_.seconds(partners_);
    return from.alone + std::max({network, from.overlapped, to.overlapped}) + to.alone +
           own_steps();
}

double PairCost::seconds_of_mpi(const PairTraffic& pair, const Costs& costs) {
    PairCost cost(pair, costs, WithoutCopies());
    for (const Message& message : pair.messages) {
        const int source = cost.local_of(message.source);
        const int destination = cost.local_of(message.destination);
        if (costs.devices.are_used && costs.devices.mpi_is_aware) {
            cost.sending_.add_device_message(source, message.bytes);
            cost.receiving_.add_device_message(destination, message.bytes);
            continue;
        }
        cost.add_message(message.source, message.destination, message.bytes);
        if (!costs.devices.are_used) { continue; }
        cost.from_devices_.add_together(source, message.bytes);
        cost.to_devices_.add_together(destination, message.bytes);
    }
    return cost.seconds();
}

} // namespace nodeaware
