#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// A collective exchange as all ranks of its communicator have recorded it. Refers to the trace.
class TracedExchange {
  public:
    TracedExchange(std::vector<int> members, std::vector<const TracedPattern*> patterns,
                   uint64_t times)
        : members_(std::move(members)), patterns_(std::move(patterns)), times_(times) {}

    /// Ranks of the communicator in MPI_COMM_WORLD.
    const std::vector<int>& members() const { return members_; }
    /// As "MPI_Alltoallv"; empty where the ranks name different ones.
    std::string function() const;
    /// Nonblocking or persistent: travels alike by every strategy.
    bool is_nonblocking() const;
    /// What a rank sends in it goes to several: one block for all.
    bool is_shared() const;
    double calls() const;   ///< of a rank
    double seconds() const; ///< in them, mean of the ranks
    /// Every message: ranks of the communicator and bytes.
    void visit(const std::function<void(int from, int to, uint64_t bytes)>& message) const;

  private:
    std::vector<int> members_;
    std::vector<const TracedPattern*> patterns_; ///< of each rank
    uint64_t times_; ///< how often they stand together in the order of calls
};

/// Exchanges that can be put together from all their ranks, by the order of the calls: each kind
/// once. Communicators of the same ranks are told apart by the order of their first use.
std::vector<TracedExchange> collective_exchanges(const Trace& trace);

/// Messages from point to point of a communicator that were sent about equally often: taken for one
/// exchange, as those of a program are that sends to the same neighbours in each step.
struct RepeatedMessages {
    struct Message {
        int from = 0; ///< in MPI_COMM_WORLD
        int to = 0;
        uint64_t count = 0;
        uint64_t bytes = 0; ///< of one of them, about
    };
    std::vector<int> members; ///< of the communicator, in MPI_COMM_WORLD; -1: from outside
    std::vector<Message> messages;

    uint64_t count() const; ///< of all messages
    /// How often they went together.
    double times() const {
        return static_cast<double>(count()) / static_cast<double>(messages.size());
    }
};

/// Those that are sent most first.
std::vector<RepeatedMessages> repeated_messages(const Trace& trace);

} // namespace nodeaware::tool
