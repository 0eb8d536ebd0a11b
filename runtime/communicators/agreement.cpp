#include "runtime/communicators/agreement.hpp"

#include "strategies/forecast.hpp"

#include <algorithm>
#include <cstring>

namespace nodeaware {

namespace {

/// Schedules kept for a communicator. An application with more patterns than this in turn builds
/// schedules anew.
constexpr size_t most_entries = 16;

template <class List> void drop_least_used(List& list, auto last_use) {
    if (list.size() < most_entries) { return; }
    list.erase(std::min_element(list.begin(), list.end(), [&](const auto& a, const auto& b) {
        return last_use(a) < last_use(b);
    }));
}

std::vector<std::byte> to_bytes(const RankTraffic& traffic) {
    const uint64_t counts[3] = {traffic.outgoing.size(), traffic.incoming.size(),
                                traffic.packs_late ? 1U : 0U};
    const size_t outgoing = sizeof(Outgoing) * traffic.outgoing.size();
    const size_t incoming = sizeof(Incoming) * traffic.incoming.size();
    std::vector<std::byte> bytes(sizeof counts + outgoing + incoming);
    std::memcpy(bytes.data(), counts, sizeof counts);
    if (outgoing > 0) {
        std::memcpy(bytes.data() + sizeof counts, traffic.outgoing.data(), outgoing);
    }
    if (incoming > 0) {
        std::memcpy(bytes.data() + sizeof counts + outgoing, traffic.incoming.data(), incoming);
    }
    return bytes;
}

RankTraffic from_bytes(const std::vector<std::byte>& bytes) {
    uint64_t counts[3];
    std::memcpy(counts, bytes.data(), sizeof counts);
    RankTraffic traffic;
    traffic.packs_late = counts[2] != 0;
    traffic.outgoing.resize(counts[0]);
    traffic.incoming.resize(counts[1]);
    const size_t outgoing = sizeof(Outgoing) * counts[0];
    if (counts[0] > 0) {
        std::memcpy(traffic.outgoing.data(), bytes.data() + sizeof counts, outgoing);
    }
    if (counts[1] > 0) {
        std::memcpy(traffic.incoming.data(), bytes.data() + sizeof counts + outgoing,
                    sizeof(Incoming) * counts[1]);
    }
    return traffic;
}

uint64_t list_bytes(const RankTraffic& traffic) {
    return 3 * sizeof(uint64_t) + sizeof(Outgoing) * traffic.outgoing.size() +
           sizeof(Incoming) * traffic.incoming.size();
}

} // namespace

Agreement::Result Agreement::agree(uint32_t operation, const Part& part,
                                   const std::function<void(const Schedule&)>& pack) {
    Entry* entry = find(expected_entry_);
    const uint64_t number = number_of(part, entry);
    const bool as_expected = entry != nullptr && entry->traffic[local_] == number;
    if (as_expected) {
        pack(entry->schedule);
    } else {
        arena_.disagree(operation);
    }
    auto& announcement = arena_.announcement(operation, static_cast<int>(local_));
    announcement.traffic.store(number, std::memory_order_relaxed);
    announcement.list_bytes.store(list_bytes(part.traffic), std::memory_order_relaxed);
    bool owes_bell = arrive_and_wait();
    bool built = false;
    if (arena_.anyone_disagreed(operation)) {
        if (owes_bell) { arena_.ring(); }
        entry = &recall_or_build(operation, part, built);
        pack(entry->schedule);
        owes_bell = arrive_and_wait();
    }
    note_use(*entry);
    return {&entry->schedule, built, entry->predictions, owes_bell};
}

bool Agreement::arrive_and_wait() {
    const uint64_t ticket = arena_.arrive();
    if (arena_.all_arrived(ticket)) { return true; } // possibly of several; that is no harm
    waiter_.until([&] { return arena_.all_arrived(ticket); });
    return false;
}

void Agreement::barrier() {
    if (arrive_and_wait()) { arena_.ring(); }
}

Agreement::Entry* Agreement::find(uint64_t number) {
    for (const auto& entry : entries_) {
        if (entry->number == number) { return entry.get(); }
    }
    return nullptr;
}

bool Agreement::same(const KnownTraffic& known, const Part& part) {
    return known.strategy == &part.strategy && known.parameters == &part.parameters &&
           known.sharing == part.sharing && known.traffic == part.traffic;
}

/// The number of this traffic; the one that the expected schedule was made for is tried first.
uint64_t Agreement::number_of(const Part& part, const Entry* guess) {
    ++clock_;
    const uint64_t likely = guess == nullptr ? 0 : guess->traffic[local_];
    std::stable_partition(known_.begin(), known_.end(),
                          [&](const auto& known) { return known.number == likely; });
    for (KnownTraffic& known : known_) {
        if (!same(known, part)) { continue; }
        known.last_use = clock_;
        return known.number;
    }
    drop_least_used(known_, [](const KnownTraffic& known) { return known.last_use; });
    known_.push_back(
        {next_traffic_++, &part.strategy, &part.parameters, part.sharing, part.traffic, clock_});
    return known_.back().number;
}

Agreement::Entry& Agreement::recall_or_build(uint32_t operation, const Part& part, bool& built) {
    std::vector<uint64_t> numbers;
    numbers.reserve(static_cast<size_t>(topology_.ranks_on(node_)));
    for (int local = 0; local < topology_.ranks_on(node_); ++local) {
        numbers.push_back(
            arena_.announcement(operation, local).traffic.load(std::memory_order_relaxed));
    }
    for (const auto& entry : entries_) {
        if (entry->traffic == numbers) { return *entry; }
    }
    const std::vector<RankTraffic> lists = share_lists(operation, part.traffic);
    std::vector<const RankTraffic*> pointers;
    pointers.reserve(lists.size());
    for (const RankTraffic& list : lists) { pointers.push_back(&list); }
    const NodeTraffic traffic = gather_traffic(topology_, node_, pointers, part.sharing);
    drop_least_used(entries_, [](const auto& entry) { return entry->last_use; });
    std::vector<double> predictions;
    for (const Strategy* candidate : part.candidates) {
        predictions.push_back(predicted_seconds(traffic, candidate, part.parameters));
    }
    entries_.push_back(std::make_unique<Entry>(
        Entry{next_entry_, std::move(numbers),
              compile_schedule(topology_, traffic, part.strategy, part.parameters, rank_),
              std::move(predictions), next_entry_, 0}));
    ++next_entry_;
    built = true;
    return *entries_.back();
}

/// Every rank gets the lists of all ranks of the node, through the memory that the messages will
/// use afterwards.
std::vector<RankTraffic> Agreement::share_lists(uint32_t operation, const RankTraffic& own) {
    const auto ranks = static_cast<size_t>(topology_.ranks_on(node_));
    const uint64_t share = arena_.shape().bytes / ranks;
    const std::vector<std::byte> mine = to_bytes(own);
    std::vector<std::vector<std::byte>> lists(ranks);
    uint64_t longest = 0;
    for (size_t local = 0; local < ranks; ++local) {
        lists[local].resize(arena_.announcement(operation, static_cast<int>(local))
                                .list_bytes.load(std::memory_order_relaxed));
        longest = std::max<uint64_t>(longest, lists[local].size());
    }
    for (uint64_t begin = 0; begin < longest; begin += share) {
        const auto part_of = [&](const auto& list) {
            return begin < list.size() ? std::min<uint64_t>(share, list.size() - begin) : 0;
        };
        if (part_of(mine) > 0) {
            std::memcpy(arena_.data(operation) + local_ * share, mine.data() + begin,
                        part_of(mine));
        }
        barrier();
        for (size_t local = 0; local < ranks; ++local) {
            if (part_of(lists[local]) == 0) { continue; }
            std::memcpy(lists[local].data() + begin, arena_.data(operation) + local * share,
                        part_of(lists[local]));
        }
        barrier();
    }
    std::vector<RankTraffic> result;
    result.reserve(ranks);
    for (const auto& list : lists) { result.push_back(from_bytes(list)); }
    return result;
}

/// Every rank of the node does the same here in every operation, so that all expect the same and
/// drop the same.
void Agreement::note_use(Entry& entry) {
    entry.last_use = clock_;
    if (Entry* last = find(last_entry_)) { last->successor = entry.number; }
    last_entry_ = entry.number;
    expected_entry_ = entry.successor;
}

} // namespace nodeaware
