#include "runtime/point_to_point/unexpected.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace nodeaware {

namespace {

constexpr uint64_t small = 4096; ///< bytes that are soon copied

/// What came together with it would be kept as long as it is.
void part_with_others(wire::Arrived& message) {
    const uint64_t size = message.entry.bytes;
    if (message.is_straight()) { return message.bytes.reset(); }
    if (message.bytes == nullptr || size > small) { return; }
    const auto copy = std::make_shared_for_overwrite<std::byte[]>(size);
    std::memcpy(copy.get(), message.bytes.get(), size);
    message.bytes = wire::Bytes(copy, copy.get());
}

} // namespace

void Unexpected::add(wire::Arrived message) {
    part_with_others(message);
    const Channel channel{message.entry.source, message.entry.tag};
    const auto [queue, is_first] = channels_.try_emplace(channel);
    try {
        if (is_first) { heads_[channel.first].emplace(arrivals_, channel.second); }
        queue->second.push_back({std::move(message), arrivals_});
    } catch (...) {
        if (is_first) { forget_first(channel, arrivals_); }
        throw;
    }
    ++arrivals_;
}

/// A channel of which nothing is left, or nothing has come.
void Unexpected::forget_first(const Channel& channel, uint64_t arrival) {
    channels_.erase(channel);
    const auto heads = heads_.find(channel.first);
    if (heads == heads_.end()) { return; }
    heads->second.erase(arrival);
    if (heads->second.empty()) { heads_.erase(heads); }
}

template <class MayHave>
const Unexpected::Kept* Unexpected::first_with(int source, int tag, MayHave may_have) const {
    const auto queue = channels_.find({source, tag});
    if (queue == channels_.end()) { return nullptr; }
    const Kept& first = queue->second.front();
    return may_have(first.message.entry) ? &first : nullptr;
}

template <class MayHave>
const Unexpected::Kept* Unexpected::first_of(const Heads& heads, int source,
                                             MayHave may_have) const {
    for (const auto& [arrival, tag] : heads) {
        const Kept* const first = first_with(source, tag, may_have);
        if (first != nullptr) { return first; }
    }
    return nullptr;
}

const wire::Arrived*
Unexpected::find(int source, int tag,
                 const std::function<bool(const wire::Entry&)>& may_have) const {
    const Kept* found = nullptr;
    const auto look = [&](int from, const Heads& heads) {
        const Kept* const first =
            tag == MPI_ANY_TAG ? first_of(heads, from, may_have) : first_with(from, tag, may_have);
        if (first != nullptr && (found == nullptr || first->arrival < found->arrival)) {
            found = first;
        }
    };
    if (source == MPI_ANY_SOURCE) {
        for (const auto& [from, heads] : heads_) { look(from, heads); }
    } else if (const auto heads = heads_.find(source); heads != heads_.end()) {
        look(source, heads->second);
    }
    return found == nullptr ? nullptr : &found->message;
}

wire::Arrived Unexpected::take(const wire::Arrived& found) {
    const Channel channel{found.entry.source, found.entry.tag};
    auto& queue = channels_.find(channel)->second;
    const uint64_t arrival = queue.front().arrival;
    wire::Arrived message = std::move(queue.front().message);
    queue.pop_front();
    if (queue.empty()) {
        forget_first(channel, arrival);
    } else { // in place, for this is not to fail
        Heads& heads = heads_.find(channel.first)->second;
        auto head = heads.extract(arrival);
        head.key() = queue.front().arrival;
        heads.insert(std::move(head));
    }
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
    heads_.erase(source);
    std::sort(kept.begin(), kept.end(),
              [](const Kept& a, const Kept& b) { return a.arrival < b.arrival; });
    std::vector<wire::Arrived> messages;
    messages.reserve(kept.size());
    for (Kept& message : kept) { messages.push_back(std::move(message.message)); }
    return messages;
}

bool Unexpected::has(int source) const { return heads_.contains(source); }

} // namespace nodeaware
