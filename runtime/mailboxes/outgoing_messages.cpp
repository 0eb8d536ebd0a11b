#include "runtime/mailboxes/outgoing_messages.hpp"

#include "runtime/memory/elements.hpp"
#include "runtime/progress/clock.hpp"

#include <algorithm>
#include <array>

namespace nodeaware {

OutgoingMessages::~OutgoingMessages() {
    for (auto& [key, queue] : queues_) {
        for (Message& message : queue.messages) { mpi.Wait(&message.request, MPI_STATUS_IGNORE); }
    }
}

void OutgoingMessages::send(std::vector<std::byte> bytes, int destination, int tag,
                            const Watch* watch) {
    const bool is_large = bytes.size() > surely_eager;
    if (!is_large) { watch = nullptr; }
    Queue& queue = queues_[{destination, is_large}];
    // Whoever sends without a pause looks at those that went before in passing.
    if (queue.messages.size() >= looks) { forget_first(queue); }
    const Elements elements(bytes.size());
    // What MPI is sending must not go away: all that may be refused comes before.
    Message& message = queue.messages.emplace_back(
        Message{MPI_REQUEST_NULL, std::move(bytes), watch, watch == nullptr ? 0 : now()});
    const int code = mpi.Isend(message.bytes.data(), elements.count(), elements.type(), destination,
                               tag, comm_, &message.request);
    if (code == MPI_SUCCESS) {
        queue.bytes += message.bytes.size();
        if (watch == nullptr) { return; }
        try {
            forget_first(queue);     // nobody may look for long
        } catch (const MpiError&) {} // but it is sent
        return;
    }
    queue.messages.pop_back();
    throw MpiError(code, "MPI_Isend");
}

/// Some of those that are over, by one look at MPI, for each may cost time.
void OutgoingMessages::forget_first(Queue& queue) {
    auto& [messages, bytes] = queue;
    if (messages.empty()) { return; } // what was for it could not be sent
    std::array<MPI_Request, looks> requests;
    std::array<int, looks> indices;
    const size_t count = std::min(messages.size(), looks);
    for (size_t i = 0; i < count; ++i) { requests[i] = messages[i].request; }
    int done = 0;
    const int code = mpi.Testsome(static_cast<int>(count), requests.data(), &done, indices.data(),
                                  MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < count; ++i) { messages[i].request = requests[i]; }
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Testsome"); }
    tell(queue, count);
    while (!messages.empty() && messages.front().request == MPI_REQUEST_NULL) {
        bytes -= messages.front().bytes.size();
        messages.pop_front();
    }
}

/// Of the first so many, which have been looked at.
void OutgoingMessages::tell(Queue& queue, size_t count) {
    double time = 0;
    for (size_t i = 0; i < count; ++i) {
        Message& message = queue.messages[i];
        if (message.watch == nullptr) { continue; }
        if (time == 0) { time = now(); }
        if (message.request != MPI_REQUEST_NULL) {
            message.seen = time;
            continue;
        }
        const auto bytes = static_cast<uint32_t>(message.bytes.size());
        (*message.watch)({bytes, message.seen - message.begun, time - message.begun});
        message.watch = nullptr;
    }
}

bool OutgoingMessages::is_crowded(int destination) const {
    if (queues_.empty()) { return false; }
    uint64_t bytes = 0;
    for (const bool is_large : {false, true}) {
        const auto found = queues_.find({destination, is_large});
        if (found != queues_.end()) { bytes += found->second.bytes; }
    }
    return bytes > much;
}

void OutgoingMessages::advance() {
    for (auto queue = queues_.begin(); queue != queues_.end();) {
        forget_first(queue->second);
        queue = queue->second.messages.empty() ? queues_.erase(queue) : std::next(queue);
    }
}

} // namespace nodeaware
