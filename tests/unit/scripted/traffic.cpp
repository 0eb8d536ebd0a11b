#include "tests/unit/scripted/traffic.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace scripted {

namespace {

using Mode = Planned::Mode;

const std::vector<int> sizes = {4, 20, 200, 3900, 4300, 20000, 150000};

/// How the receives of one rank name their messages.
enum class Naming { exactly, any_source, any_tag, anything };

/// Messages of one class meet the receives of this class and no others.
struct Class {
    Awaited pattern;
    std::vector<Planned*> messages;
};

bool accepts(const Awaited& pattern, const Planned& message) {
    return (pattern.source == MPI_ANY_SOURCE || pattern.source == message.source) &&
           (pattern.tag == MPI_ANY_TAG || pattern.tag == message.tag);
}

std::vector<Class> classes_of(std::vector<Planned>& messages, Naming naming) {
    std::map<std::pair<int, int>, Class> found;
    for (Planned& message : messages) {
        const bool any_source = naming == Naming::any_source || naming == Naming::anything;
        const bool any_tag = naming == Naming::any_tag || naming == Naming::anything;
        const std::pair key(any_source ? MPI_ANY_SOURCE : message.source,
                            any_tag ? MPI_ANY_TAG : message.tag);
        Class& its = found[key];
        its.pattern.source = key.first;
        its.pattern.tag = key.second;
        its.messages.push_back(&message);
    }
    std::vector<Class> list;
    for (auto& [key, its] : found) { list.push_back(std::move(its)); }
    return list;
}

/// A sender may wait for a receiver that has posted its receive before it waits itself. While it
/// is away in MPI its library may not see to those with wildcards, so nobody waits for these.
Mode mode_of(Random& random, const Awaited& pattern, int bytes, bool has_gather) {
    if (pattern.is_late) { return random.one_in(3) ? Mode::issend : Mode::isend; }
    const bool has_wildcard = pattern.source == MPI_ANY_SOURCE || pattern.tag == MPI_ANY_TAG;
    std::vector<Mode> modes = {Mode::isend, Mode::isend, Mode::send, Mode::issend};
    if (!has_gather || !has_wildcard) { modes.push_back(Mode::ssend); }
    if (bytes < 1000) { modes.push_back(Mode::bsend); }
    return random.one_of(modes);
}

} // namespace

std::vector<std::byte> bytes_of(const Planned& message) {
    std::vector<std::byte> bytes(static_cast<size_t>(message.bytes));
    Random noise(static_cast<uint64_t>(message.number));
    const size_t step = bytes.size() > 1000 ? 97 : 1;
    for (size_t i = 0; i < bytes.size(); i += step) { bytes[i] = std::byte(noise.below(256)); }
    std::memcpy(bytes.data(), &message.number, sizeof message.number);
    return bytes;
}

Round Round::random(Random& random, const Job& job) {
    Round round;
    const int ranks = job.size();
    round.sends.resize(static_cast<size_t>(ranks));
    round.receives.resize(static_cast<size_t>(ranks));
    round.has_gather = random.one_in(3);
    round.has_barrier = random.one_in(2);
    int number = 0;
    for (int destination = 0; destination < ranks; ++destination) {
        std::vector<Planned> messages;
        for (int i = random.between(0, 8); i > 0; --i) {
            Planned& message = messages.emplace_back();
            message.number = ++number;
            message.source = random.between(0, ranks - 1);
            message.destination = destination;
            message.tag = random.between(6, 8);
            message.bytes = random.one_of(sizes);
        }
        const auto naming = static_cast<Naming>(random.below(4));
        // A receive with wildcards may not meet a message of the next round.
        if (naming != Naming::exactly) { round.has_barrier = true; }
        auto& receives = round.receives[static_cast<size_t>(destination)];
        for (Class& its : classes_of(messages, naming)) {
            its.pattern.is_late = random.one_in(3);
            its.pattern.is_gapped = random.one_in(4);
            for (const Planned* message : its.messages) {
                its.pattern.bytes = std::max(its.pattern.bytes, message->bytes);
            }
            for (Planned* message : its.messages) {
                message->mode = mode_of(random, its.pattern, message->bytes, round.has_gather);
                // A rank that waits for a message to itself is not there to receive it.
                if (message->source == destination) { message->mode = Mode::isend; }
                message->is_gapped = its.pattern.is_gapped;
                receives.push_back(its.pattern);
            }
        }
        random.shuffle(receives);
        for (const Planned& message : messages) {
            round.sends[static_cast<size_t>(message.source)].push_back(message);
        }
    }
    for (auto& sends : round.sends) { random.shuffle(sends); }
    return round;
}

Round Round::learned(const Job& job) {
    Round round;
    const auto& nodes = job.settings().nodes;
    round.sends.resize(nodes.size());
    round.receives.resize(nodes.size());
    round.has_barrier = true;
    int number = 0;
    for (size_t source = 0; source < nodes.size(); ++source) {
        for (size_t destination = 0; destination < nodes.size(); ++destination) {
            if (nodes[source] == nodes[destination]) { continue; }
            Planned message;
            message.number = ++number;
            message.source = static_cast<int>(source);
            message.destination = static_cast<int>(destination);
            message.tag = 7;
            message.bytes = 200;
            round.sends[source].push_back(message);
            round.receives[destination].push_back({message.source, 7, 200, false, false});
        }
    }
    return round;
}

void Record::sent(const Planned& message) {
    sent_[message.number] = message;
    order_[{message.source, message.destination}].push_back(message.number);
}

void Record::received(int rank, const Awaited& pattern, size_t position, const MPI_Status& status,
                      const std::vector<std::byte>& bytes) {
    int number = 0;
    int count = 0;
    mpi().Get_count(&status, MPI_BYTE, &count);
    std::memcpy(&number, bytes.data(), sizeof number);
    const auto found = sent_.find(number);
    const auto complain = [&](const std::string& what) {
        wrong_ += "rank " + std::to_string(rank) + ", message " + std::to_string(number) + ": " +
                  what + "\n";
    };
    if (found == sent_.end()) { return complain("was not sent"); }
    const Planned& message = found->second;
    if (message.destination != rank || !accepts(pattern, message)) { complain("is not for it"); }
    if (status.MPI_SOURCE != message.source || status.MPI_TAG != message.tag ||
        count != message.bytes) {
        complain("status is wrong");
    }
    const auto expected = bytes_of(message);
    if (!std::equal(expected.begin(), expected.end(), bytes.begin())) { complain("bytes differ"); }
    if (!received_.emplace(number, Received{rank, pattern, position}).second) {
        complain("came twice");
    }
}

std::string Record::verdict() const {
    std::string text = wrong_;
    for (const auto& [number, message] : sent_) {
        if (received_.count(number) == 0) {
            text += "message " + std::to_string(number) + " was lost\n";
        }
    }
    if (!text.empty()) { return text; }
    for (const auto& [channel, numbers] : order_) {
        for (size_t i = 0; i < numbers.size(); ++i) {
            for (size_t j = i + 1; j < numbers.size(); ++j) {
                const Received& first = received_.at(numbers[i]);
                const Received& second = received_.at(numbers[j]);
                if (second.position < first.position &&
                    accepts(second.pattern, sent_.at(numbers[i]))) {
                    text += "message " + std::to_string(numbers[j]) + " overtook " +
                            std::to_string(numbers[i]) + "\n";
                }
            }
        }
    }
    return text;
}

} // namespace scripted
