#include "runtime/point_to_point/unexpected.hpp"

#include <mpi.h>

#include <limits>

namespace nodeaware {

void Unexpected::add(wire::Arrived message) {
    auto& queue = channels_[{message.entry.source, message.entry.tag}];
    queue.push_back({std::move(message), arrivals_++});
}

const wire::Arrived* Unexpected::find(int source, int tag) const {
    if (source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) {
        const auto queue = channels_.find({source, tag});
        return queue == channels_.end() ? nullptr : &queue->second.front().message;
    }
    const Kept* found = nullptr;
    auto queue = source == MPI_ANY_SOURCE
                     ? channels_.begin()
                     : channels_.lower_bound({source, std::numeric_limits<int>::min()});
    for (; queue != channels_.end(); ++queue) {
        if (source != MPI_ANY_SOURCE && queue->first.first != source) { break; }
        if (tag != MPI_ANY_TAG && queue->first.second != tag) { continue; }
        const Kept& candidate = queue->second.front();
        if (found == nullptr || candidate.arrival < found->arrival) { found = &candidate; }
    }
    return found == nullptr ? nullptr : &found->message;
}

wire::Arrived Unexpected::take(const wire::Arrived& found) {
    const auto queue = channels_.find({found.entry.source, found.entry.tag});
    wire::Arrived message = std::move(queue->second.front().message);
    queue->second.pop_front();
    if (queue->second.empty()) { channels_.erase(queue); }
    return message;
}

} // namespace nodeaware
