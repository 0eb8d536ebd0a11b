#pragma once

#include "tools/nodeaware/replay/patterns.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nodeaware::tool::replay {

struct Range {
    double median = 0;
    double least = 0;
    double most = 0;
};

/// One pattern in the run of one strategy, in which it and the native call took turns.
struct Measured {
    Range native;                 ///< seconds
    Range strategy;               ///< likewise
    Range times_native;           ///< native : strategy of each repeat
    std::string operation;        ///< that was called
    int64_t wrong_bytes = 0;      ///< by either
    int64_t late_starts = 0;      ///< of ranks, where all start by one clock
    bool is_on_same_nodes = true; ///< as the trace
};

/// A strategy, or "native".
struct Row {
    std::string strategy;
    double predicted = 0; ///< seconds
    Range seconds;
    Range times_native; ///< measured
};

/// What came of one pattern.
struct Outcome {
    Pattern pattern;     ///< without messages
    size_t messages = 0; ///< between nodes, of one exchange
    uint64_t bytes = 0;  ///< of these
    std::string operation;
    std::vector<Row> rows; ///< native first
    int64_t wrong_bytes = 0;
    int64_t late_starts = 0;
    bool is_on_same_nodes = true; ///< as the trace, for which was predicted
};

/// `measured`: of the predicted strategies but native, in their order.
Outcome outcome_of(const Pattern& pattern, const std::vector<int>& nodes,
                   const std::vector<Prediction>& predictions,
                   const std::vector<Measured>& measured);

/// Who is fastest, by prediction and measured against native in the same run.
struct Winners {
    /// Rows that are thought to take the same, mostly because they move the messages in one way.
    std::vector<size_t> predicted;
    size_t measured = 0;
    /// By how much longer the fastest of the predicted ones takes than the measured one, as a part.
    double loss = 0;
    bool is_told_apart = false; ///< of these two, the repeats of one are all faster
    bool is_all_alike = false;  ///< no row takes longer than any other, but for `most_loss`
    static constexpr double most_loss = 0.05;
    bool is_right() const { return loss <= most_loss && !is_all_alike; }
};
Winners winners_of(const std::vector<Row>& rows);

/// Native was measured to take more than twice as long as predicted, or less than half of it: the
/// model is of something else, and its winner says little.
bool is_far_off(const Row& native);

/// "3 of 4 winners predicted right (within 5 %)", and how many others were not told apart, or made
/// no difference.
std::string summary_of(const std::vector<Outcome>& outcomes);

std::string table_of(const Outcome& outcome, size_t ranks);

nlohmann::ordered_json to_json(const Outcome& outcome);

/// What nodeaware_replay says of one pattern, in a line of its own among whatever else is printed.
/// False where the line is another one. Throws std::runtime_error where it is cut off.
inline constexpr const char* result_mark = "{\"nodeaware_replay\":";
bool read_result(const std::string& line, int& pattern, Measured& measured);

} // namespace nodeaware::tool::replay
