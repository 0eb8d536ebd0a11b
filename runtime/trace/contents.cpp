#include "runtime/trace/contents.hpp"

#include "strategies/traffic.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace nodeaware::trace {

namespace {

uint64_t number_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

uint64_t hash_of(const Call& call, uint64_t type_bytes, const std::vector<Block>& blocks,
                 const Firsts& data) {
    uint64_t hash = mix(number_of(call.function), static_cast<uint64_t>(call.communicator));
    hash = mix(mix(hash, static_cast<uint64_t>(call.memory)), type_bytes);
    for (const Block& block : blocks) {
        hash = mix(mix(hash, static_cast<uint64_t>(block.peer)), block.bytes);
    }
    for (const int first : data) { hash = mix(hash, static_cast<uint64_t>(first)); }
    return hash;
}

bool is_alike(const Pattern& pattern, const Call& call, uint64_t type_bytes,
              const std::vector<Block>& blocks, const Firsts& data) {
    return pattern.function == call.function && pattern.communicator == call.communicator &&
           pattern.memory == call.memory && pattern.type_bytes == type_bytes &&
           pattern.blocks == blocks && pattern.data == data;
}

uint64_t hash_of(const Call& call) {
    const uint64_t hash = mix(number_of(call.function), number_of(call.site));
    return mix(mix(hash, static_cast<uint64_t>(call.communicator)),
               static_cast<uint64_t>(call.memory));
}

bool are_alike(const Call& call, const Call& other) {
    return call.function == other.function && call.site == other.site &&
           call.communicator == other.communicator && call.memory == other.memory;
}

uint64_t key_of(int communicator, int peer) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(communicator)) << 32) |
           static_cast<uint32_t>(peer);
}

void add_blocks(Sizes& sizes, const std::vector<Block>& blocks, int size) {
    for (const Block& block : blocks) {
        const bool is_to_all = block.peer == Block::every_rank;
        sizes.add(block.bytes, is_to_all ? static_cast<uint64_t>(size) : 1);
    }
}

} // namespace

void Times::add(Nanoseconds begin, Nanoseconds end) {
    const Nanoseconds taken = end - begin;
    first = calls == 0 ? begin : std::min(first, begin);
    last = std::max(last, end);
    least = calls == 0 ? taken : std::min(least, taken);
    most = std::max(most, taken);
    sum += taken;
    ++calls;
}

int Sizes::class_of(uint64_t bytes) { return static_cast<int>(std::bit_width(bytes)); }

bool Sizes::has(int number) const {
    return std::any_of(classes_.begin(), classes_.end(),
                       [number](const Class& known) { return known.number == number; });
}

void Sizes::add(uint64_t bytes, uint64_t messages) {
    const int number = class_of(bytes);
    const auto place = std::find_if(classes_.begin(), classes_.end(), [number](const Class& known) {
        return known.number >= number;
    });
    const bool is_new = place == classes_.end() || place->number != number;
    Class& counted = is_new ? *classes_.insert(place, {number, 0, 0}) : *place;
    counted.messages += messages;
    counted.bytes += bytes * messages;
}

void Ways::add(std::string_view strategy, uint64_t calls) {
    for (Way& way : all) {
        if (way.strategy != strategy) { continue; }
        way.calls += calls;
        return;
    }
    all.push_back({strategy, calls});
}

std::vector<Run> runs_of(const std::vector<int>& ranks) {
    std::vector<Run> runs;
    for (const int rank : ranks) {
        if (!runs.empty()) {
            Run& run = runs.back();
            const int step = rank - (run.first + (run.count - 1) * run.step);
            if (run.count == 1) { run.step = step; }
            if (step == run.step) {
                ++run.count;
                continue;
            }
        }
        runs.push_back({rank, 1, 1});
    }
    return runs;
}

int Contents::add_communicator(const Communicator& communicator) {
    const size_t runs = communicator.members.size();
    if (communicators_.size() >= limits_.communicators ||
        runs_of_members_ + runs > limits_.runs_of_members) {
        ++other_.communicators;
        return no_communicator;
    }
    runs_of_members_ += runs;
    communicators_.push_back(communicator);
    receives_.emplace_back();
    sequences_.emplace_back();
    ways_.emplace_back();
    return static_cast<int>(communicators_.size() - 1);
}

int Contents::find_pattern(PatternList& in, const Call& call, uint64_t type_bytes,
                           const std::vector<Block>& blocks, const Firsts& data) {
    if (call.communicator == no_communicator) { return no_pattern; }
    const uint64_t hash = hash_of(call, type_bytes, blocks, data);
    const auto [begin, end] = in.by_hash.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
        const Pattern& pattern = in.all[static_cast<size_t>(known->second)];
        if (is_alike(pattern, call, type_bytes, blocks, data)) { return known->second; }
    }
    const size_t room = blocks.size() + data.size(); // which are stored, too
    const auto has_room = [&](size_t patterns, size_t stored, size_t share) {
        return patterns < limits_.patterns / share && stored + room <= limits_.blocks / share;
    };
    if (!has_room(in.all.size(), in.blocks, in.share) ||
        !has_room(patterns_.all.size() + collectives_.all.size(),
                  patterns_.blocks + collectives_.blocks, 1)) {
        return no_pattern;
    }
    const int number = static_cast<int>(in.all.size());
    in.blocks += room;
    in.all.push_back(
        {call.function, call.communicator, call.memory, type_bytes, blocks, data, 0, {}, 0});
    in.by_hash.emplace(hash, number);
    return number;
}

int Contents::add_exchange(const Call& call, uint64_t type_bytes, const std::vector<Block>& blocks,
                           bool is_persistent, const Firsts& data) {
    const bool is_known = call.communicator != no_communicator;
    const int size = is_known ? communicators_[static_cast<size_t>(call.communicator)].size : 0;
    const Sums sums = is_persistent ? Sums() : sums_of(blocks, size);
    add_call(call, true, sums);
    const int number = find_pattern(patterns_, call, type_bytes, blocks, data);
    if (number == no_pattern) {
        ++other_.patterns;
        add_blocks(other_.pattern_sizes, blocks, size);
        if (is_known) { sequences_[static_cast<size_t>(call.communicator)].is_cut = true; }
        return number;
    }
    if (!is_persistent) {
        patterns_.all[static_cast<size_t>(number)].times.add(call.begin, call.end);
    }
    add_to_sequence(call.communicator, number);
    return number;
}

void Contents::add_collective(const Call& call, const std::vector<Block>& blocks) {
    add_call(call, false);
    uint64_t bytes = 0; // not for each rank: MPI does not send so much
    for (const Block& block : blocks) { bytes += block.bytes; }
    add_event(call, bytes);
    if (blocks.empty()) { return; }
    const int number = find_pattern(collectives_, call, call.type_bytes, blocks, {});
    if (number == no_pattern) {
        ++other_.collectives;
    } else {
        collectives_.all[static_cast<size_t>(number)].times.add(call.begin, call.end);
    }
}

void Contents::add_waiting(const std::vector<int>& patterns, Nanoseconds time) {
    for (const int pattern : patterns) {
        if (pattern == no_pattern) { continue; }
        patterns_.all[static_cast<size_t>(pattern)].waited += time / patterns.size();
    }
}

void Contents::add_way(int communicator, std::string_view strategy) {
    if (communicator == no_communicator) { return; }
    ways_[static_cast<size_t>(communicator)].add(strategy);
}

void Contents::add_to_sequence(int communicator, int pattern) {
    Sequence& sequence = sequences_[static_cast<size_t>(communicator)];
    if (sequence.is_cut) { return; }
    const bool goes_on = !sequence.runs.empty() && sequence.runs.back().pattern == pattern;
    if (!goes_on && runs_of_sequences_ >= limits_.sequence) {
        sequence.is_cut = true;
        return;
    }
    if (!goes_on) {
        sequence.runs.push_back({pattern, 0});
        ++runs_of_sequences_;
    }
    ++sequence.runs.back().calls;
    ++patterns_.all[static_cast<size_t>(pattern)].made;
}

size_t Contents::blocks_of(const Pattern& pattern) const {
    const bool is_to_all =
        pattern.blocks.size() == 1 && pattern.blocks.front().peer == Block::every_rank;
    if (!is_to_all) { return pattern.blocks.size(); }
    return static_cast<size_t>(communicators_[static_cast<size_t>(pattern.communicator)].size);
}

std::optional<uint64_t> Contents::next_sample(int pattern) const {
    if (pattern == no_pattern) { return std::nullopt; }
    const Pattern& known = patterns_.all[static_cast<size_t>(pattern)];
    const size_t blocks = blocks_of(known);
    const bool is_due = known.next_sample != 0 && known.times.calls >= known.next_sample;
    const bool has_room = known.samples > 0 || values_ < limits_.values;
    const bool is_wanted = is_due && has_room && blocks > 1 && blocks <= most_blocks_in_sample;
    return is_wanted ? std::optional(known.samples) : std::nullopt;
}

void Contents::add_sample(int pattern, const Firsts& firsts) {
    Pattern& known = patterns_.all[static_cast<size_t>(pattern)];
    if (known.next_sample == 0) { return; } // what another thread has added was the last
    const size_t of_others = values_ - known.values.size();
    const bool has_room = of_others + firsts.size() <= limits_.values;
    const bool is_known = has_room && firsts.size() == blocks_of(known);
    const bool is_more = is_known && known.samples > 0;
    Firsts values = is_more ? common_classes(known.values, firsts) : firsts;
    const bool goes_on = is_known && !are_all_apart(values, known.data); // else they stay so
    known.samples = is_known ? known.samples + 1 : 0;
    known.values = goes_on ? std::move(values) : Firsts();
    values_ = of_others + known.values.size();
    if (!goes_on) { known.next_sample = 0; }
    while (goes_on && known.next_sample <= known.times.calls) {
        known.next_sample =
            std::exchange(known.sample_after, known.next_sample + known.sample_after);
    }
}

Sums Contents::add_start(int pattern, Nanoseconds begin, Nanoseconds end) {
    if (pattern == no_pattern) {
        ++other_.patterns;
        return {};
    }
    Pattern& started = patterns_.all[static_cast<size_t>(pattern)];
    started.times.add(begin, end);
    const int size = communicators_[static_cast<size_t>(started.communicator)].size;
    return sums_of(started.blocks, size);
}

void Contents::add_message(int communicator, int peer, uint64_t bytes) {
    const uint64_t key = key_of(communicator, peer);
    auto found = connection_numbers_.find(key);
    const bool has_room = communicator != no_communicator &&
                          connections_.size() < limits_.connections &&
                          size_classes_ < limits_.size_classes;
    if (found == connection_numbers_.end() && has_room) {
        found = connection_numbers_.emplace(key, connections_.size()).first;
        connections_.push_back({communicator, peer, {}});
    }
    if (found == connection_numbers_.end()) { return other_.messages.add(bytes); }
    Sizes& sizes = connections_[found->second].sizes;
    const bool is_known = sizes.has(Sizes::class_of(bytes));
    if (!is_known && size_classes_ >= limits_.size_classes) { return other_.messages.add(bytes); }
    if (!is_known) { ++size_classes_; }
    sizes.add(bytes);
}

void Contents::add_send(const Call& call, int peer, uint64_t bytes) {
    add_call(call, true, {1, bytes});
    add_message(call.communicator, peer, bytes);
}

void Contents::add_receive(int communicator, bool from_any_source, bool with_any_tag) {
    if (communicator == no_communicator) { return; }
    Receives& receives = receives_[static_cast<size_t>(communicator)];
    ++receives.all;
    receives.from_any_source += from_any_source ? 1 : 0;
    receives.with_any_tag += with_any_tag ? 1 : 0;
}

void Contents::add_call(const Call& call, bool is_event, const Sums& sent) {
    all_calls_.add(call.begin, call.end);
    if (is_event) { add_event(call, sent.bytes); }
    const uint64_t hash = hash_of(call);
    const auto [begin, end] = sites_by_hash_.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& candidate) {
        return are_alike(sites_[candidate.second].call, call);
    });
    if (found == end && sites_.size() >= limits_.sites) {
        return other_.sites.add(call.begin, call.end);
    }
    const size_t number = found == end ? sites_.size() : found->second;
    if (found == end) {
        sites_by_hash_.emplace(hash, number);
        sites_.push_back({call, {}, 0, 0, false});
    }
    Site& site = sites_[number];
    if (call.type_bytes > 0 && !site.has_several_types) { // empty messages have none
        const uint64_t known = site.call.type_bytes;
        site.has_several_types = known > 0 && known != call.type_bytes;
        site.call.type_bytes = site.has_several_types ? 0 : call.type_bytes;
    }
    site.times.add(call.begin, call.end);
    site.messages += sent.messages;
    site.bytes += sent.bytes;
}

void Contents::add_event(const Call& call, uint64_t bytes) {
    const Event event{call.function, call.communicator, call.peer, call.begin, call.end, bytes};
    if (events_.size() < limits_.events) {
        events_.push_back(event);
        return;
    }
    ++other_.events;
    const size_t ring = limits_.events - limits_.events / 2;
    if (ring == 0) { return; }
    events_[limits_.events / 2 + next_event_] = event;
    next_event_ = (next_event_ + 1) % ring;
}

std::vector<Event> Contents::events() const {
    std::vector<Event> events = events_;
    if (other_.events > 0) {
        const auto ring = events.begin() + static_cast<std::ptrdiff_t>(limits_.events / 2);
        std::rotate(ring, ring + static_cast<std::ptrdiff_t>(next_event_), events.end());
    }
    return events;
}

Sums sums_of(const std::vector<Block>& blocks, int size) {
    Sums sums;
    for (const Block& block : blocks) {
        if (block.bytes == 0) { continue; }
        const uint64_t messages = block.peer == Block::every_rank ? static_cast<uint64_t>(size) : 1;
        sums.messages += messages;
        sums.bytes += messages * block.bytes;
    }
    return sums;
}

std::string_view name_of(Memory memory) {
    switch (memory) {
    case Memory::host: return "host";
    case Memory::device: return "device";
    default: return "unknown";
    }
}

} // namespace nodeaware::trace
