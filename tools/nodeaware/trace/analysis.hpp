#pragma once

#include "runtime/trace/purpose.hpp"
#include "tools/nodeaware/trace/forecast.hpp"
#include "tools/nodeaware/trace/reader.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// Messages by where they go.
struct MessageSums {
    uint64_t messages = 0; ///< empty ones only from point to point
    uint64_t bytes = 0;
    void add(uint64_t more_messages, uint64_t more_bytes) {
        messages += more_messages;
        bytes += more_bytes;
    }
};

using trace::Purpose;
using trace::purpose_of;

/// "all 16 ranks", or the first ones, of `ranks` in all; -1: from outside.
std::string name_of_ranks(const std::vector<int>& members, size_t ranks);

/// What a trace comes to.
struct TraceAnalysis {
    int nodes = 1;
    int most_ranks_on_a_node = 1;
    double wall = 0; ///< of the rank that has recorded for the longest (seconds)
    /// Parts of the time of all ranks, by purpose.
    std::array<double, trace::purposes> shares{};
    MessageSums collective_between_nodes;
    MessageSums messages_between_nodes; ///< from point to point
    /// Bytes between nodes, in collectives, that another rank of that node gets from the same
    /// memory.
    uint64_t repeated_between_nodes = 0;
    /// The same with equal values from other places, as far as the calls that were compared tell.
    uint64_t equal_between_nodes = 0;
    MessageSums within_nodes;
    std::array<MessageSums, 65> between_nodes_by_size{}; ///< by class
    uint64_t receives = 0;
    uint64_t from_any_source = 0;

    /// Seconds in calls: who is in them for the shortest time is waited for by the others.
    struct Extreme {
        int rank = 0;
        double seconds = 0;
    };
    Extreme least_in_calls;
    Extreme most_in_calls;
    double mean_in_calls = 0;
    /// Whether it is for so much less that this is worth a thought.
    bool least_stands_out() const {
        constexpr double much = 0.05; // of the time of the run
        return mean_in_calls - least_in_calls.seconds >= much * wall && wall > 0;
    }

    struct Row {
        std::string what; ///< ranks of a communicator, or FUNCTION at SITE
        uint64_t calls = 0;
        uint64_t messages = 0;
        uint64_t bytes = 0;
        double seconds = 0; ///< of all ranks
        std::vector<SourcePlace> places;
        std::set<std::string> addresses; ///< of the place: FILE+0xOFFSET
    };
    std::vector<Row> communicators; ///< most seconds first
    std::vector<Row> sites;

    /// Collectives that are no exchanges: what ranks pass to them, whatever way MPI takes.
    struct Passed {
        std::string function;
        std::string ranks;  ///< of the communicator
        uint64_t calls = 0; ///< of ranks that pass anything
        uint64_t bytes = 0; ///< what several ranks get counts once
        uint64_t most = 0;  ///< bytes of one call
    };
    std::vector<Passed> collectives;   ///< most bytes first
    uint64_t collectives_left_out = 0; ///< calls that had no room in the trace

    /// What has become of messages where the library was at work: numbers by their texts.
    std::map<std::string, uint64_t> notes;

    MessageSums between_nodes() const {
        return {collective_between_nodes.messages + messages_between_nodes.messages,
                collective_between_nodes.bytes + messages_between_nodes.bytes};
    }
};

/// `nodes`: of each rank.
TraceAnalysis analyze(const Trace& trace, const std::vector<int>& nodes);

/// Bytes that one call of a pattern sends to other nodes and that another rank there gets in the
/// same call.
struct RepeatedBytes {
    uint64_t from_same_memory = 0;
    uint64_t of_equal_values = 0; ///< from other memory
};
RepeatedBytes repeated_bytes(const RankTrace& rank, const TracedPattern& pattern,
                             const std::vector<int>& nodes);

/// In words, the answer first: would the library help?
std::vector<std::string> verdict(const Trace& trace, const TraceAnalysis& analysis,
                                 const TraceForecast& forecast);

/// The settings that are thought best, as a file for NODEAWARE_CONFIG. `model`: as NODEAWARE_MODEL,
/// if another table was asked for than the job's, by which the job would choose otherwise.
std::string recommended_config(const Trace& trace, const TraceAnalysis& analysis,
                               const TraceForecast& forecast, const std::string& model = "");

/// Which job a trace is of, and how much of it is there.
nlohmann::ordered_json job_json(const Trace& trace, const TraceAnalysis& analysis);

/// All of it; `table`: the name of the model table.
nlohmann::ordered_json to_json(const Trace& trace, const TraceAnalysis& analysis,
                               const TraceForecast& forecast, const std::string& table);

} // namespace nodeaware::tool
