#pragma once

#include "strategies/strategy.hpp"
#include "tools/nodeaware/trace/reader.hpp"

#include <string>
#include <vector>

namespace nodeaware::tool {

/// What messages from point to point are thought to take.
struct MessagesForecast {
    double native = 0;     ///< seconds, every message by itself
    double gathered = 0;   ///< small ones to the same node together
    uint64_t left_out = 0; ///< kinds of exchanges beyond those that are looked at
    /// Part of the messages of which the order of the calls tells which go together; of the others
    /// that is taken from how often they are sent.
    double told = 0;
};

/// What the collective exchanges of a trace are thought to take, and its messages.
struct TraceForecast {
    /// Of exchanges, so that large traces take seconds.
    static constexpr size_t most_kinds = 256;

    MessagesForecast messages;
    /// Of those that could be put together from all their ranks; like the seconds the mean of all
    /// ranks of the job.
    uint64_t calls = 0;
    double measured = 0;          ///< seconds in them
    double native = 0;            ///< predicted: every message by itself
    bool is_of_its_nodes = true;  ///< of those that the job ran on
    bool has_nonblocking = false; ///< which take time that is not measured
    struct Row {
        std::string strategy;
        double seconds = 0;
    };
    std::vector<Row> strategies; ///< cheapest first
    uint64_t left_out = 0;       ///< kinds of exchanges beyond those that are looked at
};

/// By the model. `nodes`: of each rank. What the ranks of a communicator send in the same call is
/// put together by the order of their calls; exchanges of which a rank is missing are left out.
TraceForecast forecast_of(const Trace& trace, const std::vector<int>& nodes,
                          const Parameters& parameters);

/// The same of messages from point to point. A trace has how many there were from rank to rank, and
/// which went together only of some, in the order of calls (see messages_together()): what they
/// gain is taken for the gain of all whose calls are recorded so. Else those of a communicator that
/// were sent about as often are taken for one exchange, as those of a program are that sends to the
/// same neighbours in each step; which is the most that can be gained.
MessagesForecast forecast_of_messages(const Trace& trace, const std::vector<int>& nodes,
                                      const Parameters& parameters);

/// What it goes by, for after a comma: "as far as ..." or "if ...".
std::string basis_of(const MessagesForecast& forecast);

} // namespace nodeaware::tool
