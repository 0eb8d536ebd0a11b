#pragma once

#include "strategies/strategy.hpp"
#include "tools/nodeaware/trace/exchanges.hpp"

#include <string>
#include <vector>

/// Patterns of a trace that can be replayed with made-up data, and what they are thought to take.
namespace nodeaware::tool::replay {

struct Message {
    int from = 0; ///< ranks of the communicator
    int to = 0;
    uint64_t bytes = 0;
};

/// What the ranks of one communicator send at the same time.
struct Pattern {
    int number = 0;           ///< from 1: collective ones, then those from point to point
    std::string function;     ///< as recorded, "MPI_Alltoallv"; or `of_messages`
    std::vector<int> members; ///< of the communicator, in MPI_COMM_WORLD
    double calls = 0;         ///< of a rank
    double seconds = 0;       ///< that the trace has in them, mean of the ranks; of messages: about
    std::string obstacle;     ///< why it is not replayed; empty: it can be
    // Once it is complete:
    std::string operation;         ///< of exchange_bench, by which it is replayed
    std::vector<Message> messages; ///< by sender and receiver
};

inline constexpr const char* of_messages = "messages from point to point";

struct Limits {
    uint64_t bytes = uint64_t{256} << 20; ///< that a rank sends and receives
    size_t messages = size_t{1} << 22;
};

/// The patterns of a trace, which has to outlive them.
class Patterns {
  public:
    Patterns(const Trace& trace, const Limits& limits);

    /// All, by their numbers, without messages.
    const std::vector<Pattern>& all() const { return patterns_; }
    /// The pattern of this number with its messages, or an obstacle.
    Pattern complete(int number) const;
    /// The first of those that can be replayed, most seconds first, complete.
    std::vector<Pattern> most_important(size_t count) const;
    /// How many have messages between nodes.
    size_t between_nodes() const;

  private:
    void add(const TracedExchange& exchange);
    void add(const RepeatedMessages& repeated);
    void share_out_seconds();

    const Trace& trace_;
    Limits limits_;
    std::vector<TracedExchange> exchanges_;
    std::vector<RepeatedMessages> repeated_;
    std::vector<Pattern> patterns_;
};

/// The operation of exchange_bench for an MPI function; empty: there is none. Persistent exchanges
/// travel as nonblocking ones. `has_one_size`: of all messages; `is_full`: each rank sends to each
/// rank. Operations that cannot do others become those with sizes of their own.
std::string operation_of(const std::string& function, bool has_one_size, bool is_full);

struct Prediction {
    std::string strategy; ///< as in NODEAWARE_STRATEGY
    double seconds = 0;   ///< of one exchange
};

/// By the model: "native" first, then the strategies. What is nonblocking or from point to point
/// travels in the same way by all of them: `gathered` stands for it. `nodes`: of each rank of
/// MPI_COMM_WORLD.
std::vector<Prediction> predict(const Pattern& pattern, const std::vector<int>& nodes,
                                const Parameters& parameters);

/// "MPI_Alltoallv, all 16 ranks", or the first ones.
std::string title_of(const Pattern& pattern, size_t ranks);

} // namespace nodeaware::tool::replay
