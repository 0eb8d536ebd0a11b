#pragma once

#include "runtime/collectives/execution.hpp"
#include "tests/unit/random_case.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

/// A machine made of plain memory that runs the schedules of random cases.
namespace nodeaware::test {

inline void require(bool condition, const char* what) {
    if (!condition) { throw std::runtime_error(what); }
}

inline std::byte content(int source, uint32_t memory, uint64_t offset) {
    return static_cast<std::byte>(
        (static_cast<uint64_t>(source) * 167 + uint64_t{memory} * 59 + offset * 13 + 1) % 251);
}

/// Memory and counters of those that execute one schedule.
struct Arena {
    std::vector<std::byte> bytes;
    std::vector<uint32_t> counters;
    uint32_t bell = 0; ///< wakes those that sleep when it changes

    Arena() = default;
    explicit Arena(const Schedule& schedule)
        : bytes(schedule.arena_bytes), counters(schedule.counters, 0) {}

    void check(const std::byte* at, uint64_t size) const {
        const auto offset = static_cast<uint64_t>(at - bytes.data());
        require(offset <= bytes.size() && offset + size <= bytes.size(), "access beyond the arena");
    }
};

/// Messages under way. A send is over when it is received (rendezvous) or at once (eager), as the
/// dice say.
class Network {
  public:
    explicit Network(Random& random) : random_(random) {}

    enum class Kind { direct, piece, carrier };
    using Channel = std::tuple<int, int, Kind>; // source, destination

    struct Send {
        std::vector<std::byte> data;
        const std::byte* memory = nullptr; ///< that the data is read from when it is received
        std::vector<FinishedStep>* sender = nullptr; ///< null when it was told already
        uint32_t step = 0;
    };
    struct Receive {
        std::byte* to = nullptr;
        uint64_t capacity = 0;
        std::vector<FinishedStep>* receiver = nullptr;
        uint32_t step = 0;
        bool exact = false;
    };

    bool is_eager = false; ///< no send waits for its receive

    void send(const Channel& channel, Send message) {
        if (is_eager || draw(random_, 0, 1) == 0) {
            message.sender->push_back({message.step, message.data.size(), false});
            message.sender = nullptr;
            message.memory = nullptr;
        }
        sends_[channel].push_back(std::move(message));
        match(channel);
    }

    void receive(const Channel& channel, const Receive& receive) {
        receives_[channel].push_back(receive);
        match(channel);
    }

    bool empty() const {
        const auto none = [](const auto& entry) { return entry.second.empty(); };
        return std::all_of(sends_.begin(), sends_.end(), none) &&
               std::all_of(receives_.begin(), receives_.end(), none);
    }

  private:
    void match(const Channel& channel) {
        auto& sends = sends_[channel];
        auto& receives = receives_[channel];
        while (!sends.empty() && !receives.empty()) {
            Send& message = sends.front();
            const Receive& receive = receives.front();
            require(message.data.size() <= receive.capacity,
                    "a message is larger than its receive");
            require(!receive.exact || message.data.size() == receive.capacity,
                    "a direct message is smaller than its receive");
            const std::byte* const from =
                message.memory != nullptr ? message.memory : message.data.data();
            std::copy_n(from, message.data.size(), receive.to);
            receive.receiver->push_back({receive.step, message.data.size(), false});
            if (message.sender != nullptr) {
                message.sender->push_back({message.step, message.data.size(), false});
            }
            sends.pop_front();
            receives.pop_front();
        }
    }

    Random& random_;
    std::map<Channel, std::deque<Send>> sends_;
    std::map<Channel, std::deque<Receive>> receives_;
};

/// Copies that end later than they begin, in any order, as those of devices: then what they copy
/// from is read, and until then what they copy to is spoilt.
class LateCopies {
  public:
    /// Some ranks have none, some have nothing else.
    explicit LateCopies(Random& random) : random_(random), percent_(draw(random, 0, 2) * 50) {}

    template <class Copy> bool is_over(std::byte* to, uint64_t bytes, uint32_t step, Copy copy) {
        if (draw(random_, 1, 100) > percent_) {
            copy();
            return true;
        }
        std::fill_n(to, bytes, std::byte{0xff}); // no content has it
        under_way_.emplace_back(step, std::move(copy));
        return false;
    }

    /// Ends some of them; at least one, if there are any.
    void end_some(std::vector<FinishedStep>& ended) {
        if (under_way_.empty()) { return; }
        std::shuffle(under_way_.begin(), under_way_.end(), random_);
        for (uint64_t left = draw(random_, 1, under_way_.size()); left > 0; --left) {
            const auto [step, copy] = std::move(under_way_.back());
            under_way_.pop_back();
            copy();
            if (step != Step::not_listed) { ended.push_back({step, 0, false}); }
        }
    }

    bool empty() const { return under_way_.empty(); }

  private:
    Random& random_;
    uint64_t percent_;
    std::vector<std::pair<uint32_t, std::function<void()>>> under_way_;
};

/// What each rank has staged for others, by rank.
using Slabs = std::map<int, std::vector<std::byte>>;

/// The Machine of one rank: its user memory, and an arena that it may share.
class Rank {
  public:
    /// `topology`: pieces come from any rank of the node that the receive names; nullptr: from the
    /// rank that it names.
    Rank(int rank, const RankTraffic& traffic, Arena& arena, Network& network, Random& random,
         const Topology* topology = nullptr)
        : rank_(rank), traffic_(traffic), arena_(arena), network_(network), random_(random),
          late_(random), topology_(topology) {
        for (const Incoming& message : traffic.incoming) {
            received_.emplace_back(message.bytes);
            writes_.emplace_back(message.bytes, 0);
        }
    }

    std::byte* arena() { return arena_.bytes.data(); }
    uint32_t counter(int32_t number) { return arena_.counters.at(static_cast<size_t>(number)); }
    void signal(int32_t number, uint32_t wakes_at) {
        const uint32_t now = ++arena_.counters.at(static_cast<size_t>(number));
        if (wakes_at == 0 || now == wakes_at) { ++arena_.bell; }
    }
    uint32_t bell() const { return arena_.bell; }

    bool pack(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to, uint32_t step) {
        arena_.check(to, bytes);
        return pack_anywhere(item, offset, bytes, to, step);
    }

    /// The same, to memory beside the arena.
    bool pack_anywhere(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to,
                       uint32_t step) {
        require(offset + bytes <= traffic_.outgoing.at(item).bytes,
                "pack reads beyond its message");
        return late_.is_over(to, bytes, step, [=, this] { read(item, offset, bytes, to); });
    }

    bool unpack(uint32_t item, uint64_t offset, uint64_t bytes, const std::byte* from,
                uint32_t step) {
        require(offset + bytes <= received_.at(item).size(), "unpack writes beyond its message");
        arena_.check(from, bytes);
        count_writes(item, offset, bytes);
        std::byte* const to = received_[item].data() + offset;
        return late_.is_over(to, bytes, step, [=] { std::copy_n(from, bytes, to); });
    }

    bool copy(uint32_t item, uint32_t other_item, uint64_t bytes, uint32_t step) {
        require(bytes == traffic_.outgoing.at(item).bytes &&
                    bytes == received_.at(other_item).size(),
                "copy of unequal messages");
        count_writes(other_item, 0, bytes);
        std::byte* const to = received_[other_item].data();
        return late_.is_over(to, bytes, step, [=, this] { read(item, 0, bytes, to); });
    }

    /// `slabs`: of all ranks.
    void use_slabs(Slabs& slabs) { slabs_ = &slabs; }

    bool stage(uint32_t item, uint64_t offset, uint64_t bytes, uint64_t slab, uint32_t step) {
        std::vector<std::byte>& own = slabs_->at(rank_);
        require(slab + bytes <= own.size(), "stages beyond the slab");
        return pack_anywhere(item, offset, bytes, own.data() + slab, step);
    }
    bool fetch(int peer, uint64_t slab, uint64_t bytes, std::byte* to, uint32_t step) {
        const std::vector<std::byte>& from = slabs_->at(peer);
        require(peer != rank_ && slab + bytes <= from.size(), "fetches beyond the slab");
        arena_.check(to, bytes);
        ++fetches;
        const std::byte* const begin = from.data() + slab;
        return late_.is_over(to, bytes, step, [=] { std::copy_n(begin, bytes, to); });
    }
    uint64_t fetches = 0;

    void settle() {
        while (!late_.empty()) { late_.end_some(completions_); }
    }

    void send(int peer, const std::byte* data, uint64_t bytes, uint32_t step) {
        arena_.check(data, bytes);
        network_.send(piece_channel(rank_, peer),
                      {{data, data + bytes}, data, &completions_, step});
    }

    void receive(int peer, std::byte* to, uint64_t capacity, uint32_t step) {
        arena_.check(to, capacity);
        network_.receive(piece_channel(peer, rank_), {to, capacity, &completions_, step, false});
    }

    void send_carrier(int peer, const std::byte* data, uint64_t bytes, uint32_t step) {
        arena_.check(data, bytes);
        ++carried;
        if (bytes > 0 && draw(random_, 1, 100) <= failing_percent) {
            completions_.push_back({step, 0, true});
            return;
        }
        network_.send({rank_, peer, Network::Kind::carrier},
                      {{data, data + bytes}, data, &completions_, step});
    }
    void receive_carrier(int peer, std::byte* to, uint64_t capacity, uint32_t step) {
        arena_.check(to, capacity);
        network_.receive({peer, rank_, Network::Kind::carrier},
                         {to, capacity, &completions_, step, false});
    }
    uint64_t carried = 0;

    void send_item(int peer, uint32_t item, uint32_t step) {
        require(traffic_.outgoing.at(item).peer == peer, "direct message to the wrong rank");
        network_.send({rank_, peer, Network::Kind::direct},
                      {whole(item), nullptr, &completions_, step});
    }

    void receive_item(int peer, uint32_t item, uint32_t step) {
        require(traffic_.incoming.at(item).peer == peer, "direct message from the wrong rank");
        count_writes(item, 0, received_[item].size());
        network_.receive(
            {peer, rank_, Network::Kind::direct},
            {received_[item].data(), received_[item].size(), &completions_, step, true});
    }

    std::span<const FinishedStep> poll() {
        late_.end_some(completions_);
        polled_.clear();
        polled_.swap(completions_);
        return polled_;
    }

    void mismatch(int /*peer*/) {
        require(failing_percent > 0, "a piece does not carry what is expected");
        ++mismatches;
    }
    uint64_t failing_percent = 0; ///< of the carriers that are sent
    uint64_t mismatches = 0;

    /// All that `traffic`, of all ranks, has for this rank is in its place.
    void check(const std::vector<RankTraffic>& traffic) const {
        require(late_.empty(), "over before its last copy");
        const auto listed = expected(traffic);
        for (size_t item = 0; item < received_.size(); ++item) {
            for (size_t i = 0; i < received_[item].size(); ++i) {
                if (mismatches > 0 && writes_[item][i] == 0) { continue; }
                require(writes_[item][i] == 1, "a byte was not written exactly once");
                require(received_[item][i] == content(listed[item].first, listed[item].second, i),
                        "a byte is wrong");
            }
        }
    }

  private:
    Network::Channel piece_channel(int source, int destination) const {
        return {topology_ != nullptr ? topology_->node_of(source) : source, destination,
                Network::Kind::piece};
    }

    std::vector<std::byte> whole(uint32_t item) const {
        std::vector<std::byte> data(traffic_.outgoing.at(item).bytes);
        read(item, 0, data.size(), data.data());
        return data;
    }

    void read(uint32_t item, uint64_t offset, uint64_t bytes, std::byte* to) const {
        const uint32_t memory = traffic_.outgoing.at(item).memory;
        for (uint64_t i = 0; i < bytes; ++i) { to[i] = content(rank_, memory, offset + i); }
    }

    /// Source and memory number of every message that this rank lists as incoming.
    std::vector<std::pair<int, uint32_t>> expected(const std::vector<RankTraffic>& traffic) const {
        std::map<int, std::deque<uint32_t>> sent;
        for (size_t source = 0; source < traffic.size(); ++source) {
            for (const Outgoing& message : traffic[source].outgoing) {
                if (message.peer != rank_) { continue; }
                sent[static_cast<int>(source)].push_back(message.memory);
            }
        }
        std::vector<std::pair<int, uint32_t>> list;
        for (const Incoming& message : traffic_.incoming) {
            list.emplace_back(message.peer, sent[message.peer].front());
            sent[message.peer].pop_front();
        }
        return list;
    }

    void count_writes(uint32_t item, uint64_t offset, uint64_t bytes) {
        for (uint64_t i = 0; i < bytes; ++i) { ++writes_[item][offset + i]; }
    }

    int rank_;
    const RankTraffic& traffic_;
    Arena& arena_;
    Network& network_;
    Random& random_;
    LateCopies late_;
    const Topology* topology_;
    Slabs* slabs_ = nullptr;
    std::vector<std::vector<std::byte>> received_;
    std::vector<std::vector<int>> writes_;
    std::vector<FinishedStep> completions_;
    std::vector<FinishedStep> polled_;
};

/// Exit status of a program that runs `run(case, seed)` for so many cases and prints what fails.
template <class Run>
int run_cases(std::string_view name, uint64_t cases, uint64_t first_seed, Run run) {
    for (uint64_t seed = first_seed; seed < first_seed + cases; ++seed) {
        try {
            run(RandomCase(seed), seed);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s, seed %llu: %s\n", std::string(name).c_str(),
                         static_cast<unsigned long long>(seed), error.what());
            return EXIT_FAILURE;
        }
    }
    std::printf("%s: %llu random schedules\n", std::string(name).c_str(),
                static_cast<unsigned long long>(cases));
    return EXIT_SUCCESS;
}

} // namespace nodeaware::test
