#pragma once

#include "tools/nodeaware/trace/analysis.hpp"

#include <array>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// One trace of two, with what it comes to.
struct ComparedTrace {
    const Trace& trace;
    const std::vector<int>& nodes; ///< of each rank
    const TraceAnalysis& analysis;
};

/// The same of both traces: before and after.
struct ComparedRow {
    struct Side {
        uint64_t calls = 0;
        uint64_t messages = 0;
        uint64_t bytes = 0;
        double seconds = 0; ///< mean of the ranks
    };
    std::string what;
    std::array<Side, 2> sides;

    /// Seconds more in the second.
    double change() const { return sides[1].seconds - sides[0].seconds; }
};

/// Calls that the library has moved, or left to MPI.
struct ComparedWay {
    struct Side {
        uint64_t calls = 0;
        uint64_t rerouted = 0;      ///< of these
        uint64_t sent_messages = 0; ///< for them to other nodes, by blocking operations
        uint64_t sent_bytes = 0;
    };
    std::string operation;
    std::array<Side, 2> sides;
};

/// Two traces of the same program; rows that differ most in time come first.
struct Comparison {
    std::array<double, 2> wall{};
    std::array<std::array<double, 2>, trace::purposes> purposes{}; ///< seconds, mean of the ranks
    std::array<MessageSums, 2> between_nodes;
    std::vector<ComparedRow> operations;    ///< messages between nodes
    std::vector<ComparedRow> communicators; ///< likewise
    std::vector<ComparedRow> sites;         ///< all that is sent
    std::vector<ComparedWay> ways;
};

Comparison compare(const ComparedTrace& before, const ComparedTrace& after);

/// In words: first which is faster, by how much, and where.
std::vector<std::string> verdict(const ComparedTrace& before, const ComparedTrace& after,
                                 const Comparison& comparison);

/// All of it; numbers of both are [before, after].
nlohmann::ordered_json to_json(const ComparedTrace& before, const ComparedTrace& after,
                               const Comparison& comparison);

} // namespace nodeaware::tool
