#pragma once

#include "runtime/trace/values.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nodeaware::trace {

/// Most of each that a rank keeps, however long it runs. What is beyond is counted in sums
/// (`Other`): 16 MiB of memory, and files of 24 MiB before compression.
struct Limits {
    size_t patterns = 8192;
    size_t blocks = 1 << 19; ///< of all patterns
    size_t communicators = 4096;
    size_t runs_of_members = 1 << 16; ///< of all communicators
    size_t connections = 16384;
    size_t size_classes = 1 << 16; ///< of all connections
    size_t sites = 8192;
    size_t sequence = 1 << 15; ///< runs, of all communicators
    size_t events = 8192;      ///< the first and the last, half of it each
    size_t values = 1 << 18;   ///< blocks of which it is known whether they are equal

    /// Of what is summed up by communicator and function only.
    static Limits of_sums() {
        Limits limits;
        limits.patterns = limits.blocks = limits.connections = limits.size_classes = 0;
        limits.sequence = limits.events = limits.values = 0;
        return limits;
    }
};

/// Since the trace began.
using Nanoseconds = uint64_t;

/// When calls were made that are counted together.
struct Times {
    uint64_t calls = 0;
    Nanoseconds first = 0; ///< begin of the first
    Nanoseconds last = 0;  ///< end of the last
    Nanoseconds sum = 0;
    Nanoseconds least = 0;
    Nanoseconds most = 0;

    void add(Nanoseconds begin, Nanoseconds end);
};

/// Messages by size: class 0 has the empty ones, class k those of 2^(k-1) to 2^k - 1 bytes.
class Sizes {
  public:
    struct Class {
        int number = 0;
        uint64_t messages = 0;
        uint64_t bytes = 0;
    };

    static int class_of(uint64_t bytes);
    bool has(int number) const;
    void add(uint64_t bytes, uint64_t messages = 1);
    const std::vector<Class>& classes() const { return classes_; } ///< ascending

  private:
    std::vector<Class> classes_;
};

/// Where messages begin.
enum class Memory : uint8_t { unknown, host, device };

/// For what does not belong to a communicator, or to one beyond the limit.
inline constexpr int no_communicator = -1;
/// For calls that have none, or several, or take what comes.
inline constexpr int no_peer = -1;

/// One call of the application. `function` is a literal: calls are compared by its address.
struct Call {
    const char* function = nullptr;
    const void* site = nullptr; ///< return address; nullptr: not known
    int communicator = no_communicator;
    Memory memory = Memory::unknown;
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    int peer = no_peer;      ///< of one message
    uint64_t type_bytes = 0; ///< of the datatype that is sent; 0: nothing, or of several
};

/// Ranks in an arithmetic progression.
struct Run {
    int first = 0;
    int step = 1;
    int count = 1;
};
/// A list of ranks in such runs.
std::vector<Run> runs_of(const std::vector<int>& ranks);

struct Communicator {
    int rank = 0;
    int size = 0; ///< of the group that messages go to
    bool is_inter = false;
    std::vector<Run> members; ///< ranks in MPI_COMM_WORLD of that group; -1: from outside
    std::string name = {};    ///< when it was first used
};

/// What one call sends to one rank.
struct Block {
    static constexpr int every_rank = -1; ///< as much to each rank of the communicator
    int32_t peer = 0;                     ///< in the communicator
    uint64_t bytes = 0;
    bool operator==(const Block&) const = default;
};

/// Messages that are not empty.
struct Sums {
    uint64_t messages = 0;
    uint64_t bytes = 0;
};

/// Collective calls that send the same.
struct Pattern {
    const char* function = nullptr;
    int communicator = no_communicator;
    Memory memory = Memory::unknown;
    uint64_t type_bytes = 0; ///< of the datatype that is sent; 0: of several
    std::vector<Block> blocks;
    /// For each block the first one that is sent from the same memory; empty: all are from others.
    Firsts data;
    uint64_t made = 0;      ///< times that it is in the sequence of its communicator
    Times times;            ///< of exchanges: of a persistent one, its starts
    Nanoseconds waited = 0; ///< in functions that complete them
    /// For each block (for each rank, where one is for every rank) the first one with equal values
    /// in all samples, be it from the same memory or not; empty: as `data` says.
    Firsts values = {};
    uint64_t samples = 0; ///< calls whose blocks have been compared
    /// The next call that is to be, and the one after that: Fibonacci's numbers, for calls come in
    /// cycles, as where two buffers take turns, and these miss no stage of a short one. 0: no more.
    uint64_t next_sample = 1;
    uint64_t sample_after = 2;
};

/// Patterns of one kind, which may be as many as the limits allow of all, or a part of that.
struct PatternList {
    size_t share = 1; ///< the part, as a divisor
    std::vector<Pattern> all = {};
    std::unordered_multimap<uint64_t, int> by_hash = {};
    size_t blocks = 0;
};

/// Messages to one rank of a communicator.
struct Connection {
    int communicator = no_communicator;
    int peer = 0;
    Sizes sizes;
};

/// Calls of one function at one place in the program.
struct Site {
    Call call; ///< without its times
    Times times;
    uint64_t messages = 0;
    uint64_t bytes = 0;
    bool has_several_types = false; ///< of datatypes, and so no size of them
};

/// Calls on one communicator that receive.
struct Receives {
    uint64_t all = 0;
    uint64_t from_any_source = 0;
    uint64_t with_any_tag = 0;
};

/// The first collective calls on a communicator, in their order: all its ranks make the same.
struct Sequence {
    struct Run {
        int pattern = 0;
        uint64_t calls = 0;
    };
    std::vector<Run> runs;
    bool is_cut = false; ///< there were more
};

/// Exchanges on a communicator by how they travelled.
struct Ways {
    struct Way {
        std::string_view strategy;
        uint64_t calls = 0;
    };
    std::vector<Way> all;
    void add(std::string_view strategy, uint64_t calls = 1);
};

/// One call, for a timeline.
struct Event {
    const char* function = nullptr;
    int communicator = no_communicator;
    int peer = no_peer; ///< in the communicator
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    uint64_t bytes = 0; ///< sent
};

/// What the report says of messages from point to point that the library has moved, or left to MPI.
struct Note {
    std::string_view text; ///< a literal
    uint64_t value = 0;
};

/// What is beyond the limits.
struct Other {
    uint64_t patterns = 0; ///< calls
    Sizes pattern_sizes;
    uint64_t collectives = 0; ///< calls
    uint64_t communicators = 0;
    Sizes messages; ///< of connections
    Times sites;
    uint64_t events = 0;
};

/// All that one rank has recorded, within the limits. No thread-safety of its own.
class Contents {
  public:
    static constexpr int no_pattern = -1;

    explicit Contents(const Limits& limits = {}) : limits_(limits) {}

    /// Its number, or no_communicator where there is no room.
    int add_communicator(const Communicator& communicator);
    /// A collective call, which sends `blocks`. Returns the number of its pattern, or no_pattern.
    /// A persistent one is only made here, and started later. `data`: see Pattern.
    int add_exchange(const Call& call, uint64_t type_bytes, const std::vector<Block>& blocks,
                     bool is_persistent = false, const Firsts& data = {});
    /// A collective call of another kind; `blocks`: what it passes from this rank, whatever way MPI
    /// takes.
    void add_collective(const Call& call, const std::vector<Block>& blocks);
    /// An exchange on a communicator has gone by a strategy, or by MPI ("native"): a literal.
    void add_way(int communicator, std::string_view strategy);
    /// If the blocks of the call that was added last are to be compared: how many of the pattern
    /// have been.
    std::optional<uint64_t> next_sample(int pattern) const;
    /// What equal_blocks() says of them. What has been equal in all calls is so in this one, too.
    void add_sample(int pattern, const Firsts& firsts);
    /// A call that completes exchanges has taken so long.
    void add_waiting(const std::vector<int>& patterns, Nanoseconds time);
    /// A call that sends a message to rank `peer` of its communicator.
    void add_send(const Call& call, int peer, uint64_t bytes);
    /// Any other call, which takes time. `is_event`: of interest for a timeline.
    void add_call(const Call& call, bool is_event = true, const Sums& sent = {});

    // What a call does, which is counted otherwise.
    /// Starts a persistent exchange. Returns what that sends.
    Sums add_start(int pattern, Nanoseconds begin, Nanoseconds end);
    void add_message(int communicator, int peer, uint64_t bytes);
    /// For the timeline; of the call itself add_call() does so.
    void add_event(const Call& call, uint64_t bytes);
    void add_receive(int communicator, bool from_any_source, bool with_any_tag);
    /// At the end.
    void add_note(const Note& note) { notes_.push_back(note); }

    const std::vector<Communicator>& communicators() const { return communicators_; }
    const std::vector<Pattern>& patterns() const { return patterns_.all; }
    const std::vector<Pattern>& collectives() const { return collectives_.all; }
    const std::vector<Connection>& connections() const { return connections_; }
    const std::vector<Site>& sites() const { return sites_; }
    const std::vector<Receives>& receives() const { return receives_; } ///< by communicator
    const std::vector<Ways>& ways() const { return ways_; }             ///< by communicator
    const std::vector<Sequence>& sequences() const { return sequences_; }
    /// In the order of their ends, but for a gap after the first half.
    std::vector<Event> events() const;
    const std::vector<Note>& notes() const { return notes_; }
    const Other& other() const { return other_; }
    const Times& all_calls() const { return all_calls_; }
    const Limits& limits() const { return limits_; }

  private:
    /// Of the calls that are like this one; makes it where there is room.
    int find_pattern(PatternList& in, const Call& call, uint64_t type_bytes,
                     const std::vector<Block>& blocks, const Firsts& data);
    /// That are compared in a call of the pattern.
    size_t blocks_of(const Pattern& pattern) const;
    void add_to_sequence(int communicator, int pattern);

    Limits limits_;
    std::vector<Communicator> communicators_;
    PatternList patterns_;
    PatternList collectives_{4}; // of which there is no prediction
    std::vector<Connection> connections_;
    std::unordered_map<uint64_t, size_t> connection_numbers_;
    std::vector<Site> sites_;
    std::unordered_multimap<uint64_t, size_t> sites_by_hash_;
    std::vector<Receives> receives_;
    std::vector<Sequence> sequences_;
    std::vector<Ways> ways_;
    std::vector<Event> events_;
    size_t next_event_ = 0; ///< of the second half, which is a ring
    size_t values_ = 0;
    size_t runs_of_members_ = 0;
    size_t size_classes_ = 0;
    size_t runs_of_sequences_ = 0;
    std::vector<Note> notes_;
    Other other_;
    Times all_calls_;
};

/// On a communicator of `size` ranks.
Sums sums_of(const std::vector<Block>& blocks, int size);

std::string_view name_of(Memory memory);

} // namespace nodeaware::trace
