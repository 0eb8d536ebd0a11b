#include "runtime/collectives/gathering_transport.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

GatheringTransport::GatheringTransport(InnerCommunicator& inner, StepMemory& memory,
                                       const Exchange& exchange, const tags::Tags& tags,
                                       std::shared_ptr<OperationMessages> messages,
                                       uint64_t operation)
    : MpiTransport(inner.comm(), inner.topology(), memory, exchange, tags),
      topology_(inner.topology()), exchange_(exchange), rank_(inner.rank()),
      messages_(std::move(messages)), operation_(operation) {}

void GatheringTransport::reserve(size_t steps) {
    MpiTransport::reserve(steps);
    if (messages_ == nullptr) { return; }
    for (const auto& message : exchange_.traffic.outgoing) { sent_.try_emplace(message.peer); }
    for (const auto& message : exchange_.traffic.incoming) { received_.try_emplace(message.peer); }
    awaited_.reserve(steps);
    finished_.reserve(steps);
    polled_.reserve(steps);
}

/// Both ends know the answer.
bool GatheringTransport::is_gathered(int source, int destination, uint64_t bytes) const {
    return messages_ != nullptr && topology_.node_of(source) != topology_.node_of(destination) &&
           bytes <= messages_->most_bytes(source);
}

void GatheringTransport::send_item(int peer, uint32_t item, uint32_t step) {
    const uint64_t bytes = exchange_.outgoing[item].bytes;
    if (!is_gathered(rank_, peer, bytes)) { return MpiTransport::send_item(peer, item, step); }
    const uint32_t number = sent_[peer]++;
    guarded([&] {
        // While a message is being written, the container of the node cannot leave: nobody is to
        // wait for a device.
        std::vector<std::byte> packed;
        if (exchange_.outgoing[item].place.is_on_device) {
            packed.resize(bytes);
            pack_now(item, packed.data());
        }
        messages_->send(operation_, peer, number, bytes, [&](std::byte* to) {
            if (packed.empty()) { return pack_now(item, to); }
            std::copy(packed.begin(), packed.end(), to);
        });
        ++gathered_;
        gathered_bytes_ += bytes;
    });
    finished_.push_back({step});
}

void GatheringTransport::receive_item(int peer, uint32_t item, uint32_t step) {
    if (!is_gathered(peer, rank_, exchange_.incoming[item].bytes)) {
        return MpiTransport::receive_item(peer, item, step);
    }
    awaited_.push_back({peer, received_[peer]++, item, step});
}

std::span<const FinishedStep> GatheringTransport::poll() {
    polled_.clear();
    polled_.swap(finished_);
    std::erase_if(awaited_, [&](const Awaited& awaited) {
        const auto arrived = messages_->take(operation_, awaited.source, awaited.number);
        if (arrived.bytes == nullptr) { return false; }
        const uint64_t expected = exchange_.incoming[awaited.item].bytes;
        const bool is_right = arrived.size == expected;
        if (is_right) { unpack_now(awaited.item, arrived.bytes.get()); }
        polled_.push_back({awaited.step, arrived.size, !is_right});
        return true;
    });
    const auto others = MpiTransport::poll();
    polled_.insert(polled_.end(), others.begin(), others.end());
    return polled_;
}

} // namespace nodeaware
