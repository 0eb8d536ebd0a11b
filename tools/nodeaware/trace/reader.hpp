#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// What the library has recorded (NODEAWARE_TRACE), read back; runtime/trace/README.md describes
/// the files.
namespace nodeaware::tool {

/// A folder that is no trace, or of another version: what() names the file, the line and what was
/// expected.
struct TraceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct SizeClass {
    int number = 0; ///< 0: empty; k: 2^(k-1) to 2^k - 1 bytes
    uint64_t messages = 0;
    uint64_t bytes = 0;
};

struct TracedCommunicator {
    int rank = 0;
    int size = 0;
    bool is_inter = false;
    std::vector<int> members; ///< in MPI_COMM_WORLD; -1: from outside
    uint64_t receives = 0;
    uint64_t from_any_source = 0;
};

struct TracedPattern {
    std::string function;
    int communicator = 0;
    uint64_t made = 0;
    uint64_t calls = 0;
    double seconds = 0;                       ///< with the time in functions that complete them
    std::vector<std::pair<int, uint64_t>> to; ///< rank (-1: each) and bytes
    /// For each of these the first that is sent from the same memory; empty: all are from others.
    std::vector<int> data = {};
    /// For each of these (for each rank, where one is for each) the first that had equal values in
    /// all calls that were compared; empty: as `data` says.
    std::vector<int> values = {};
};

struct TracedSends {
    int communicator = 0;
    int peer = 0;
    std::vector<SizeClass> sizes;
};

/// Where a call stands in the source.
struct SourcePlace {
    std::string function; ///< may be empty
    std::string file;     ///< empty: only the function is known
    int line = 0;
};

/// Calls of a collective that is no exchange, and what they pass, whatever way MPI takes.
struct TracedCollective {
    std::string function;
    int communicator = 0;
    uint64_t calls = 0;
    std::vector<std::pair<int, uint64_t>> to; ///< rank, or -1 for each one, and bytes
};

struct TracedSite {
    std::string function;
    std::string site; ///< empty: not known
    int communicator = 0;
    uint64_t calls = 0;
    uint64_t messages = 0;
    uint64_t bytes = 0;
    double seconds = 0;
    /// If asked for and known: that of the call, and those that this one has been inlined into.
    std::vector<SourcePlace> places = {};
};

/// Calls of an operation that travelled in the same way.
struct TracedWay {
    std::string operation;
    std::string strategy;
    std::string reason; ///< "rerouted", or why not
    uint64_t calls = 0;
    uint64_t sent_messages = 0; ///< to other nodes
    uint64_t sent_bytes = 0;
};

/// One call.
struct TracedEvent {
    size_t function = 0; ///< in the functions of the rank
    int communicator = 0;
    int peer = -1; ///< in the communicator, of a single message; -1: none or not known
    double begin = 0;
    double end = 0;
    uint64_t bytes = 0; ///< sent
};

/// What one rank has recorded.
struct RankTrace {
    int rank = 0;
    bool is_complete = false;
    bool is_cut = false; ///< some of it had no room
    double wall = 0;
    double seconds_in_calls = 0;
    std::vector<TracedCommunicator> communicators;
    std::vector<TracedPattern> patterns;
    /// By communicator: patterns in the order of the calls, and how often each in turn.
    std::map<int, std::vector<std::pair<int, uint64_t>>> sequences;
    std::vector<TracedCollective> collectives;
    uint64_t collectives_left_out = 0; ///< calls
    std::vector<TracedSends> sends;
    std::vector<TracedSite> sites;
    std::vector<TracedWay> ways;
    std::map<std::string, uint64_t> notes; ///< of messages that the library has moved, or not
    std::map<std::string, std::string> build_ids; ///< of the files that sites are in
    std::string host;
    std::optional<double> clock;     ///< of the host, when the rank's times begin
    bool has_timeline = false;       ///< its events have been read
    std::vector<TracedEvent> events; ///< if there is a timeline
    std::vector<std::string> functions;
    uint64_t events_left_out = 0; ///< between the first half of the events and the second
};

struct Trace {
    std::string folder;
    std::string job;
    std::string file_ending;
    std::string library;
    std::string mpi;
    std::string begin;
    std::string model; ///< that the job asked for; may be empty
    bool observes = false;
    bool is_complete = false;
    bool nodes_are_virtual = false;
    std::string region; ///< of the machine that counts as a node
    std::string ppn;    ///< NODEAWARE_PPN; may be empty
    std::vector<std::pair<std::string, std::string>> settings;
    std::vector<int> nodes;              ///< of each rank
    std::vector<RankTrace> ranks;        ///< those that can be read, ascending
    std::vector<std::string> complaints; ///< of the others: the file, the line, what was expected
};

/// Whether to read the events, which take most of the memory: of no rank, of nodes that have about
/// 512 ranks in all, or of all.
enum class Timeline { skip, sample, read };

/// Reads a folder. Files of ranks that are missing, cut off, corrupt or of another job or version
/// are complained of and left out. Throws TraceError where that can be said of the manifest.
Trace read_trace(const std::string& folder, Timeline timeline = Timeline::skip);

} // namespace nodeaware::tool
