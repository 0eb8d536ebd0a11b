#include "runtime/mailboxes/outgoing_messages.hpp"

#include "runtime/memory/elements.hpp"

#include <algorithm>
#include <array>

namespace nodeaware {

OutgoingMessages::~OutgoingMessages() {
    for (auto& [key, queue] : queues_) {
        for (Message& message : queue) { mpi.Wait(&message.request, MPI_STATUS_IGNORE); }
    }
}

void OutgoingMessages::send(std::vector<std::byte> bytes, int destination, int tag) {
    Queue& queue = queues_[{destination, bytes.size() > surely_eager}];
    // Whoever sends without a pause looks at those that went before in passing.
    if (queue.size() >= looks) { forget_first(queue); }
    const Elements elements(bytes.size());
    // What MPI is sending must not go away: all that may be refused comes before.
    Message& message = queue.emplace_back(Message{MPI_REQUEST_NULL, std::move(bytes)});
    const int code = mpi.Isend(message.bytes.data(), elements.count(), elements.type(), destination,
                               tag, comm_, &message.request);
    if (code == MPI_SUCCESS) { return; }
    queue.pop_back();
    throw MpiError(code, "MPI_Isend");
}

/// Some of those that are over, by one look at MPI, for each may cost time.
void OutgoingMessages::forget_first(Queue& queue) {
    if (queue.empty()) { return; } // what was for it could not be sent
    std::array<MPI_Request, looks> requests;
    std::array<int, looks> indices;
    const size_t count = std::min(queue.size(), looks);
    for (size_t i = 0; i < count; ++i) { requests[i] = queue[i].request; }
    int done = 0;
    const int code = mpi.Testsome(static_cast<int>(count), requests.data(), &done, indices.data(),
                                  MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < count; ++i) { queue[i].request = requests[i]; }
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Testsome"); }
    while (!queue.empty() && queue.front().request == MPI_REQUEST_NULL) { queue.pop_front(); }
}

void OutgoingMessages::advance() {
    for (auto queue = queues_.begin(); queue != queues_.end();) {
        forget_first(queue->second);
        queue = queue->second.empty() ? queues_.erase(queue) : std::next(queue);
    }
}

} // namespace nodeaware
