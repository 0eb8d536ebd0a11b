#include "runtime/point_to_point/unexpected.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace nodeaware {

void Unexpected::add(wire::Arrived message) {
    auto& queue = channels_[{message.entry.source, message.entry.tag}];
    queue.push_back({std::move(message), arrivals_++});
}

const wire::Arrived*
Unexpected::find(int source, int tag,
                 const std::function<bool(const wire::Entry&)>& may_have) const {
    if (source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) {
        const auto queue = channels_.find({source, tag});
        if (queue == channels_.end()) { return nullptr; }
        const wire::Arrived& first = queue->second.front().message;
        return may_have(first.entry) ? &first : nullptr;
    }
    const Kept* found = nullptr;
    auto queue = source == MPI_ANY_SOURCE
                     ? channels_.begin()
                     : channels_.lower_bound({source, std::numeric_limits<int>::min()});
    for (; queue != channels_.end(); ++queue) {
        if (source != MPI_ANY_SOURCE && queue->first.first != source) { break; }
        if (tag != MPI_ANY_TAG && queue->first.second != tag) { continue; }
        const Kept& candidate = queue->second.front();
        if (!may_have(candidate.message.entry)) { continue; }
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

std::vector<wire::Arrived> Unexpected::take_all(int source) {
    const auto first = channels_.lower_bound({source, std::numeric_limits<int>::min()});
    const auto last = channels_.upper_bound({source, std::numeric_limits<int>::max()});
    std::vector<Kept> kept;
    for (auto queue = first; queue != last; ++queue) {
        for (Kept& message : queue->second) { kept.push_back(std::move(message)); }
    }
    channels_.erase(first, last);
    std::sort(kept.begin(), kept.end(),
              [](const Kept& a, const Kept& b) { return a.arrival < b.arrival; });
    std::vector<wire::Arrived> messages;
    messages.reserve(kept.size());
    for (Kept& message : kept) { messages.push_back(std::move(message.message)); }
    return messages;
}

bool Unexpected::has(int source) const {
    const auto first = channels_.lower_bound({source, std::numeric_limits<int>::min()});
    return first != channels_.end() && first->first.first == source;
}

} // namespace nodeaware
