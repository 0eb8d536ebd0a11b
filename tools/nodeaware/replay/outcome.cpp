#include "tools/nodeaware/replay/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace nodeaware::tool::replay {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

Range range_of(const json& summary, double unit) {
    return {summary.at("median").get<double>() * unit, summary.at("min").get<double>() * unit,
            summary.at("max").get<double>() * unit};
}

ordered_json to_json(const Range& range) {
    return {{"median", range.median}, {"min", range.least}, {"max", range.most}};
}

/// Native as all runs have it: the median of their medians.
Range native_of(const std::vector<Measured>& measured) {
    std::vector<double> medians;
    Range all = measured.empty() ? Range() : measured.front().native;
    for (const Measured& one : measured) {
        medians.push_back(one.native.median);
        all.least = std::min(all.least, one.native.least);
        all.most = std::max(all.most, one.native.most);
    }
    std::sort(medians.begin(), medians.end());
    if (!medians.empty()) { all.median = medians[(medians.size() - 1) / 2]; }
    return all;
}

std::string ms(double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); }

std::string line_of(const Row& row) {
    const std::string range = fmt::format("{}-{}", ms(row.seconds.least), ms(row.seconds.most));
    std::string line = fmt::format("  {:<12} {:>12} {:>12} {:>21}", row.strategy, ms(row.predicted),
                                   ms(row.seconds.median), range);
    if (row.strategy != "native") {
        line += fmt::format(" {:>10.2f} ({:.2f}-{:.2f})", row.times_native.median,
                            row.times_native.least, row.times_native.most);
    }
    return line + "\n";
}

std::string predicted_names(const Outcome& outcome, const Winners& winners) {
    std::string names;
    for (const size_t row : winners.predicted) {
        names += (names.empty() ? "" : ", ") + outcome.rows[row].strategy;
    }
    return winners.predicted.size() > 1 ? names + " (alike)" : names;
}

std::string verdict_of(const Outcome& outcome) {
    const Winners winners = winners_of(outcome.rows);
    std::string text =
        fmt::format("  predicted winner {}, measured winner {}", predicted_names(outcome, winners),
                    outcome.rows[winners.measured].strategy);
    if (winners.loss > 0) { text += fmt::format(", {:.1f} % between them", 100 * winners.loss); }
    if (winners.is_all_alike) {
        text += ": no difference\n";
    } else if (winners.is_right()) {
        text += ": right\n";
    } else {
        text += winners.is_told_apart ? ": WRONG\n" : ": cannot be told, the ranges overlap\n";
    }
    const Row& native = outcome.rows.front();
    if (is_far_off(native)) {
        text +=
            fmt::format("  native took {} ms where {} ms were predicted, so the predicted winner "
                        "says little\n",
                        ms(native.seconds.median), ms(native.predicted));
    }
    if (outcome.late_starts > 0) {
        text += fmt::format("  {} late starts of ranks: they share processors with other work, or "
                            "--shared-clock is too short; strategies may take less\n",
                            outcome.late_starts);
    }
    if (outcome.wrong_bytes > 0) {
        text += fmt::format("  WRONG DATA: {} bytes\n", outcome.wrong_bytes);
    }
    return text;
}

} // namespace

Outcome outcome_of(const Pattern& pattern, const std::vector<int>& nodes,
                   const std::vector<Prediction>& predictions,
                   const std::vector<Measured>& measured) {
    Outcome outcome;
    outcome.operation = pattern.operation;
    const auto node_of = [&](int rank) {
        return nodes[static_cast<size_t>(pattern.members[static_cast<size_t>(rank)])];
    };
    for (const Message& message : pattern.messages) {
        if (node_of(message.from) == node_of(message.to)) { continue; }
        ++outcome.messages;
        outcome.bytes += message.bytes;
    }
    outcome.pattern = pattern;
    outcome.pattern.messages.clear();
    outcome.rows.push_back({predictions.front().strategy,
                            predictions.front().seconds,
                            native_of(measured),
                            {1, 1, 1}});
    for (size_t i = 0; i < measured.size(); ++i) {
        const Prediction& prediction = predictions.at(i + 1);
        outcome.rows.push_back({prediction.strategy, prediction.seconds, measured[i].strategy,
                                measured[i].times_native});
        outcome.operation = measured[i].operation;
        outcome.wrong_bytes += measured[i].wrong_bytes;
        outcome.late_starts += measured[i].late_starts;
        outcome.is_on_same_nodes = outcome.is_on_same_nodes && measured[i].is_on_same_nodes;
    }
    return outcome;
}

Winners winners_of(const std::vector<Row>& rows) {
    constexpr double same = 1 + 1e-6;
    const auto is_slower = [](const Row& a, const Row& b) {
        return a.times_native.median < b.times_native.median;
    };
    double least = rows.front().predicted;
    for (const Row& row : rows) { least = std::min(least, row.predicted); }
    Winners winners;
    const Row* best = nullptr; // of the predicted ones
    for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].predicted > same * least) { continue; }
        winners.predicted.push_back(i);
        if (best == nullptr || is_slower(*best, rows[i])) { best = &rows[i]; }
    }
    const auto measured = std::max_element(rows.begin(), rows.end(), is_slower);
    winners.measured = static_cast<size_t>(measured - rows.begin());
    winners.loss = measured->times_native.median / best->times_native.median - 1;
    const auto slowest = std::min_element(rows.begin(), rows.end(), is_slower);
    winners.is_all_alike =
        measured->times_native.median <= (1 + Winners::most_loss) * slowest->times_native.median;
    winners.is_told_apart = best->times_native.most < measured->times_native.least;
    return winners;
}

bool is_far_off(const Row& native) {
    constexpr double far = 2;
    return native.seconds.median > far * native.predicted ||
           native.predicted > far * native.seconds.median;
}

std::string summary_of(const std::vector<Outcome>& outcomes) {
    size_t right = 0;
    size_t not_told = 0;
    size_t alike = 0;
    for (const Outcome& outcome : outcomes) {
        const Winners winners = winners_of(outcome.rows);
        right += winners.is_right() ? 1 : 0;
        alike += winners.is_all_alike ? 1 : 0;
        const bool is_wrong = !winners.is_right() && !winners.is_all_alike;
        not_told += is_wrong && !winners.is_told_apart ? 1 : 0;
    }
    std::string text = fmt::format("{} of {} winners predicted right (within {:.0f} %)", right,
                                   outcomes.size() - alike, 100 * Winners::most_loss);
    if (not_told > 0) {
        text += fmt::format("; of the others {} cannot be told: the ranges overlap", not_told);
    }
    if (alike > 0) { text += fmt::format("; of {} more all take the same", alike); }
    return text;
}

std::string table_of(const Outcome& outcome, size_t ranks) {
    const Pattern& pattern = outcome.pattern;
    std::string text = fmt::format(
        "Pattern {}: {}: {} messages between nodes, {} bytes; {:.0f} calls, {:.6f} s in the trace",
        pattern.number, title_of(pattern, ranks), outcome.messages, outcome.bytes, pattern.calls,
        pattern.seconds);
    text += fmt::format("; replayed as {}\n", outcome.operation);
    text += fmt::format("  {:<12} {:>12} {:>12} {:>21} {:>10}\n", "", "predicted ms", "measured ms",
                        "", "native:it");
    for (const Row& row : outcome.rows) { text += line_of(row); }
    if (pattern.operation == "p2p") {
        text += "  all at once; a program that sends them one after the other gains less, which "
                "nodeaware analyze accounts for\n";
    }
    return text + verdict_of(outcome);
}

ordered_json to_json(const Outcome& outcome) {
    const Pattern& pattern = outcome.pattern;
    const Winners winners = winners_of(outcome.rows);
    ordered_json json = {{"pattern", pattern.number},
                         {"function", pattern.function},
                         {"operation", outcome.operation},
                         {"ranks", pattern.members},
                         {"messages_between_nodes", outcome.messages},
                         {"bytes_between_nodes", outcome.bytes},
                         {"calls", pattern.calls},
                         {"seconds_in_trace", pattern.seconds},
                         {"wrong_bytes", outcome.wrong_bytes},
                         {"late_starts", outcome.late_starts},
                         {"on_same_nodes", outcome.is_on_same_nodes},
                         {"predicted_winner", outcome.rows[winners.predicted.front()].strategy},
                         {"measured_winner", outcome.rows[winners.measured].strategy},
                         {"predicted_alike", ordered_json::array()},
                         {"loss", winners.loss},
                         {"told_apart", winners.is_told_apart},
                         {"right", winners.is_right()},
                         {"no_difference", winners.is_all_alike},
                         {"native_far_off", is_far_off(outcome.rows.front())},
                         {"strategies", ordered_json::array()}};
    for (const size_t row : winners.predicted) {
        json["predicted_alike"].push_back(outcome.rows[row].strategy);
    }
    for (const Row& row : outcome.rows) {
        json["strategies"].push_back({{"strategy", row.strategy},
                                      {"predicted_seconds", row.predicted},
                                      {"seconds", to_json(row.seconds)},
                                      {"times_native", to_json(row.times_native)}});
    }
    return json;
}

bool read_result(const std::string& line, int& pattern, Measured& measured) {
    const size_t begin = line.find(result_mark);
    if (begin == std::string::npos) { return false; }
    try {
        const json said = json::parse(line.substr(begin));
        const json& result = said.at("result");
        constexpr double microsecond = 1e-6;
        pattern = said.at("nodeaware_replay").get<int>();
        measured.operation = result.at("operation").get<std::string>();
        measured.is_on_same_nodes = said.at("same_nodes").get<bool>();
        measured.wrong_bytes = result.at("wrong_bytes").get<int64_t>();
        measured.late_starts = 0;
        for (const json& form : result.at("forms")) {
            (form.at("form") == "native" ? measured.native : measured.strategy) =
                range_of(form.at("us"), microsecond);
            measured.late_starts += form.at("late").get<int64_t>();
        }
        measured.times_native = range_of(result.at("ratio").at("summary"), 1);
    } catch (const json::exception& error) {
        throw std::runtime_error("what nodeaware_replay has measured cannot be read: " +
                                 std::string(error.what()));
    }
    return true;
}

} // namespace nodeaware::tool::replay
