#include "tools/nodeaware/trace/exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace nodeaware::tool {

namespace {

/// The same communicator as its ranks number it.
struct Seen {
    const RankTrace* rank;
    int number;
};
struct SharedCommunicator {
    std::vector<int> members;
    std::vector<Seen> seen; ///< by its ranks, in their order
};

/// Communicators of the same ranks are told apart by the order in which they are first used.
std::vector<SharedCommunicator> find_communicators(const Trace& trace) {
    std::map<std::pair<std::vector<int>, int>, std::map<int, Seen>> found;
    for (const RankTrace& rank : trace.ranks) {
        std::map<std::vector<int>, int> of_these;
        for (size_t i = 0; i < rank.communicators.size(); ++i) {
            const TracedCommunicator& communicator = rank.communicators[i];
            if (communicator.is_inter) { continue; }
            const int order = of_these[communicator.members]++;
            found[{communicator.members, order}].emplace(communicator.rank,
                                                         Seen{&rank, static_cast<int>(i)});
        }
    }
    std::vector<SharedCommunicator> whole;
    for (const auto& [key, seen] : found) {
        if (seen.size() != key.first.size()) { continue; } // some ranks are missing
        SharedCommunicator communicator{key.first, {}};
        for (const auto& [rank, as] : seen) { communicator.seen.push_back(as); }
        whole.push_back(std::move(communicator));
    }
    return whole;
}

/// The patterns of one rank, call by call.
std::vector<int> calls_of(const Seen& seen) {
    constexpr size_t most = 4096;
    std::vector<int> calls;
    const auto sequence = seen.rank->sequences.find(seen.number);
    if (sequence == seen.rank->sequences.end()) { return calls; }
    for (const auto& [pattern, times] : sequence->second) {
        const size_t room = most - calls.size();
        calls.insert(calls.end(), std::min<uint64_t>(times, room), pattern);
    }
    return calls;
}

/// Exchanges of a communicator, by the patterns of all its ranks, and how often they stand in the
/// sequences.
std::map<std::vector<int>, uint64_t> exchanges_of(const SharedCommunicator& communicator) {
    std::vector<std::vector<int>> calls;
    size_t common = std::numeric_limits<size_t>::max();
    for (const Seen& seen : communicator.seen) {
        calls.push_back(calls_of(seen));
        common = std::min(common, calls.back().size());
    }
    std::map<std::vector<int>, uint64_t> exchanges;
    std::vector<int> key(calls.size());
    for (size_t i = 0; i < common; ++i) {
        for (size_t rank = 0; rank < calls.size(); ++rank) { key[rank] = calls[rank][i]; }
        ++exchanges[key];
    }
    return exchanges;
}

double made(const TracedPattern& pattern) {
    return static_cast<double>(std::max<uint64_t>(pattern.made, 1));
}

/// Of a communicator and about equally often: members, and a number for how often.
using Kind = std::pair<std::vector<int>, long>;

/// The same number for counts that differ by less than a fifth or so.
long number_of(uint64_t count) { return std::lround(4 * std::log2(static_cast<double>(count))); }

void add(const RankTrace& rank, const TracedSends& sends, std::map<Kind, RepeatedMessages>& kinds) {
    const auto& members = rank.communicators[static_cast<size_t>(sends.communicator)].members;
    const int to = members[static_cast<size_t>(sends.peer)];
    if (to < 0) { return; }
    for (const SizeClass& part : sends.sizes) {
        if (part.bytes == 0 || part.messages == 0) { continue; }
        RepeatedMessages& kind = kinds[{members, number_of(part.messages)}];
        kind.members = members;
        kind.messages.push_back({rank.rank, to, part.messages, part.bytes / part.messages});
    }
}

} // namespace

std::string TracedExchange::function() const {
    const std::string& first = patterns_.front()->function;
    const bool is_same =
        std::all_of(patterns_.begin(), patterns_.end(),
                    [&first](const TracedPattern* pattern) { return pattern->function == first; });
    return is_same ? first : "";
}

bool TracedExchange::is_nonblocking() const {
    const std::string& name = patterns_.front()->function;
    return name.starts_with("MPI_I") || name.find("_init") != std::string::npos;
}

bool TracedExchange::is_shared() const {
    return patterns_.front()->function.find("allgather") != std::string::npos;
}

double TracedExchange::calls() const {
    double sum = 0;
    for (const TracedPattern* pattern : patterns_) {
        sum += static_cast<double>(pattern->calls) / made(*pattern);
    }
    return static_cast<double>(times_) * sum / static_cast<double>(patterns_.size());
}

double TracedExchange::seconds() const {
    double sum = 0;
    for (const TracedPattern* pattern : patterns_) { sum += pattern->seconds / made(*pattern); }
    return static_cast<double>(times_) * sum / static_cast<double>(patterns_.size());
}

void TracedExchange::visit(
    const std::function<void(int from, int to, uint64_t bytes)>& message) const {
    const auto ranks = static_cast<int>(members_.size());
    for (int from = 0; from < ranks; ++from) {
        for (const auto& [peer, bytes] : patterns_[static_cast<size_t>(from)]->to) {
            if (peer >= 0) {
                message(from, peer, bytes);
                continue;
            }
            for (int to = 0; to < ranks; ++to) { message(from, to, bytes); }
        }
    }
}

std::vector<TracedExchange> collective_exchanges(const Trace& trace) {
    std::vector<TracedExchange> list;
    for (const SharedCommunicator& communicator : find_communicators(trace)) {
        for (const auto& [numbers, times] : exchanges_of(communicator)) {
            std::vector<const TracedPattern*> patterns;
            for (size_t rank = 0; rank < numbers.size(); ++rank) {
                const auto& all = communicator.seen[rank].rank->patterns;
                patterns.push_back(&all[static_cast<size_t>(numbers[rank])]);
            }
            list.emplace_back(communicator.members, std::move(patterns), times);
        }
    }
    return list;
}

uint64_t RepeatedMessages::count() const {
    uint64_t sum = 0;
    for (const Message& message : messages) { sum += message.count; }
    return sum;
}

std::vector<RepeatedMessages> repeated_messages(const Trace& trace) {
    std::map<Kind, RepeatedMessages> by_kind;
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedSends& sends : rank.sends) { add(rank, sends, by_kind); }
    }
    std::vector<RepeatedMessages> kinds;
    for (auto& [kind, messages] : by_kind) { kinds.push_back(std::move(messages)); }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const auto& a, const auto& b) { return a.count() > b.count(); });
    return kinds;
}

} // namespace nodeaware::tool
