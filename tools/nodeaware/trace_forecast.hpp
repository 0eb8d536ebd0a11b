#pragma once

#include "strategies/strategy.hpp"
#include "tools/nodeaware/trace_reader.hpp"

#include <string>
#include <vector>

namespace nodeaware::tool {

/// What the collective exchanges of a trace are thought to take.
struct TraceForecast {
    uint64_t calls = 0;  ///< of a rank, of those that could be put together from all its ranks
    double measured = 0; ///< seconds in them, mean of the ranks
    double native = 0;   ///< predicted: every message by itself
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

} // namespace nodeaware::tool
