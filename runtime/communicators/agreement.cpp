#include "runtime/communicators/agreement.hpp"

#include "runtime/device/slabs.hpp"
#include "strategies/device_copies.hpp"
#include "strategies/forecast.hpp"

#include <algorithm>
#include <cstring>

namespace nodeaware {

namespace {

/// Schedules kept for a communicator. An application with more patterns than this in turn builds
/// schedules anew.
constexpr size_t most_entries = 24;

template <class List> void drop_least_used(List& list, auto last_use) {
    if (list.size() < most_entries) { return; }
    list.erase(std::min_element(list.begin(), list.end(), [&](const auto& a, const auto& b) {
        return last_use(a) < last_use(b);
    }));
}

constexpr size_t numbers = 5; ///< of a rank, before its lists

std::vector<std::byte> to_bytes(const RankTraffic& traffic) {
    const uint64_t counts[numbers] = {traffic.outgoing.size(), traffic.incoming.size(),
                                      traffic.packs_late ? 1U : 0U, traffic.slab, traffic.readable};
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
    uint64_t counts[numbers];
    std::memcpy(counts, bytes.data(), sizeof counts);
    RankTraffic traffic;
    traffic.packs_late = counts[2] != 0;
    traffic.slab = counts[3];
    traffic.readable = counts[4];
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
    return numbers * sizeof(uint64_t) + sizeof(Outgoing) * traffic.outgoing.size() +
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
    return {&entry->schedule, built, entry->predictions, owes_bell, &entry->slabs};
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
    NodeTraffic traffic = gather_traffic(topology_, node_, pointers, part.sharing);
    Slabs slabs;
    const bool are_shared = std::any_of(lists.begin(), lists.end(),
                                        [](const RankTraffic& list) { return list.slab != 0; });
    if (are_shared) { slabs = share_slabs(operation, part.traffic, traffic); }
    drop_least_used(entries_, [](const auto& entry) { return entry->last_use; });
    entries_.push_back(std::make_unique<Entry>(
        Entry{next_entry_, std::move(numbers),
              compile_schedule(topology_, traffic, part.strategy, part.parameters, rank_),
              predictions(traffic, part.candidates), std::move(slabs), next_entry_, 0}));
    ++next_entry_;
    built = true;
    return *entries_.back();
}

std::vector<double> Agreement::predictions(const NodeTraffic& traffic,
                                           std::span<const CandidateWay> candidates) {
    std::vector<double> seconds;
    seconds.reserve(candidates.size());
    for (const CandidateWay& way : candidates) {
        seconds.push_back(
            way.is_possible ? predicted_seconds(traffic, way.strategy, *way.parameters) : 0);
    }
    return seconds;
}

/// Every rank gets the bytes of all ranks of the node, through the memory that the messages will
/// use afterwards. `all`: as long as they are.
std::vector<Agreement::Bytes> Agreement::share(uint32_t operation, const Bytes& mine,
                                               std::vector<Bytes> all) {
    const uint64_t share = arena_.shape().bytes / all.size();
    uint64_t longest = 0;
    for (const Bytes& bytes : all) { longest = std::max<uint64_t>(longest, bytes.size()); }
    for (uint64_t begin = 0; begin < longest; begin += share) {
        const auto part_of = [&](const Bytes& bytes) {
            return begin < bytes.size() ? std::min<uint64_t>(share, bytes.size() - begin) : 0;
        };
        if (part_of(mine) > 0) {
            std::memcpy(arena_.data(operation) + local_ * share, mine.data() + begin,
                        part_of(mine));
        }
        barrier();
        for (size_t local = 0; local < all.size(); ++local) {
            if (part_of(all[local]) == 0) { continue; }
            std::memcpy(all[local].data() + begin, arena_.data(operation) + local * share,
                        part_of(all[local]));
        }
        barrier();
    }
    return all;
}

std::vector<RankTraffic> Agreement::share_lists(uint32_t operation, const RankTraffic& own) {
    std::vector<Bytes> lists(static_cast<size_t>(topology_.ranks_on(node_)));
    for (size_t local = 0; local < lists.size(); ++local) {
        lists[local].resize(arena_.announcement(operation, static_cast<int>(local))
                                .list_bytes.load(std::memory_order_relaxed));
    }
    std::vector<RankTraffic> result;
    result.reserve(lists.size());
    for (const Bytes& list : share(operation, to_bytes(own), std::move(lists))) {
        result.push_back(from_bytes(list));
    }
    return result;
}

/// Every rank that has slabs of others to read tries whether it can: what it cannot open, its owner
/// or another one copies. Nobody has to decide that alone, or later.
Agreement::Slabs Agreement::share_slabs(uint32_t operation, const RankTraffic& own,
                                        NodeTraffic& traffic) {
    const auto& ranks = topology_.ranks_of(node_);
    device::SlabOffer mine = own.slab != 0 ? device::slabs().offer(own.slab) : device::SlabOffer{};
    Bytes bytes(sizeof mine);
    std::memcpy(bytes.data(), &mine, sizeof mine);
    const auto offered = share(operation, bytes, {ranks.size(), Bytes(sizeof mine)});
    std::vector<device::SlabOffer> offers(ranks.size());
    Bytes is_open(ranks.size());
    for (size_t local = 0; local < ranks.size(); ++local) {
        std::memcpy(&offers[local], offered[local].data(), sizeof mine);
        const bool is_another = offers[local].id != 0 && local != local_;
        is_open[local] = std::byte{is_another && device::imports().open(offers[local])};
    }
    const auto are_open = share(operation, is_open, {ranks.size(), Bytes(ranks.size())});
    Slabs ids;
    for (size_t owner = 0; owner < ranks.size(); ++owner) {
        ids.push_back(offers[owner].id);
        SharedSlab slab{ranks[owner], offers[owner].bytes, DeviceCosts::copied_together, {}};
        for (size_t i = 1; i < ranks.size(); ++i) { // others for each owner
            const size_t local = (owner + i) % ranks.size();
            const bool is_wanted = slab.readers.size() + 1 < DeviceCopies::most_copiers;
            if (is_wanted && are_open[local][owner] != std::byte{0}) {
                slab.readers.push_back(ranks[local]);
            }
        }
        if (!slab.readers.empty()) { traffic.slabs.push_back(std::move(slab)); }
    }
    return ids;
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
