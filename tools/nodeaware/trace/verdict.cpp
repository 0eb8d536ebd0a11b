#include "tools/nodeaware/trace/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nodeaware::tool {

namespace {

constexpr double little_time = 0.01; ///< a part of the time that is not worth a thought
constexpr double little_part = 0.01; ///< of the bytes
constexpr double little_gain = 1.1;  ///< models are not better than that
constexpr double any_gain = 1.01;    ///< of which a table that is far off may be wrong

double gain_of(double native, double best) { return best > 0 ? native / best : 1; }
double best_gain(const TraceForecast& forecast) {
    return gain_of(forecast.native, forecast.strategies.front().seconds);
}
double best_gain(const MessagesForecast& forecast) {
    return gain_of(forecast.native, forecast.gathered);
}

double share_of(const TraceAnalysis& analysis, Purpose purpose) {
    return analysis.shares[static_cast<size_t>(purpose)];
}

/// With two digits, but no exponent.
std::string percent(double part) {
    constexpr double many = 0.0995;
    return part < many ? fmt::format("{:.2g} %", 100 * part) : fmt::format("{:.0f} %", 100 * part);
}

/// What a gain in a part of the time makes of the whole run, by Amdahl's law.
std::string whole_run(double share, double gain) {
    return fmt::format("so the whole run would be at most {:.2f} times as fast",
                       1 / (1 - share * (1 - 1 / gain)));
}

/// Exchanges took far less or far more time by MPI than the model table says.
bool is_far_off(const Trace& trace, const TraceAnalysis& analysis, const TraceForecast& forecast) {
    constexpr double far = 5;
    const bool was_rerouted =
        std::any_of(trace.ranks.begin(), trace.ranks.end(), [](const RankTrace& rank) {
            return std::any_of(rank.ways.begin(), rank.ways.end(),
                               [](const TracedWay& way) { return way.reason == "rerouted"; });
        });
    // Nonblocking ones may pass unseen behind the program's own work.
    const bool is_hidden = forecast.has_nonblocking && forecast.measured < forecast.native;
    // There is no network between virtual nodes.
    const bool is_comparable = forecast.calls > 0 && forecast.is_of_its_nodes && !is_hidden &&
                               !trace.nodes_are_virtual && (trace.observes || !was_rerouted);
    const double less = std::min(forecast.measured, forecast.native);
    const double more = std::max(forecast.measured, forecast.native);
    return is_comparable && more > far * less && more - less > little_time * analysis.wall;
}

std::string far_off(const Trace& trace, const TraceForecast& forecast) {
    std::string why;
    if (forecast.measured > forecast.native) {
        why = "ranks wait in them for others that come late, or ";
    } else if (trace.nodes_are_virtual) {
        why = "virtual nodes of one machine have no network between them, or ";
    }
    return fmt::format(
        "The collective exchanges took {:.2g} s, but {:.2g} s by the model table, so "
        "what is predicted may be far from what is gained: {}the table is of another "
        "machine (`nodeaware calibrate` measures one).",
        forecast.measured, forecast.native, why);
}

/// Of a job that was killed before it came to anything.
bool is_too_short(const Trace& trace, const TraceAnalysis& analysis) {
    return !trace.is_complete && analysis.between_nodes().messages == 0 && analysis.nodes > 1 &&
           analysis.most_ranks_on_a_node > 1;
}

/// Also where nothing can be said of them.
bool exchanges_may_gain(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    return analysis.collective_between_nodes.messages > 0 &&
           (forecast.calls == 0 || best_gain(forecast) >= little_gain);
}

bool may_gain(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    const bool has_messages = analysis.messages_between_nodes.messages > 0;
    return exchanges_may_gain(analysis, forecast) ||
           (has_messages && best_gain(forecast.messages) >= little_gain);
}

/// The first reason why nothing is to be gained; empty: there is none.
std::string why_no_gain(const Trace& trace, const TraceAnalysis& analysis,
                        const TraceForecast& forecast) {
    if (analysis.nodes < 2) { return "all ranks are on one node"; }
    if (analysis.most_ranks_on_a_node < 2 && !exchanges_may_gain(analysis, forecast)) {
        return "there is one rank on each node, so there is nothing to gather";
    }
    if (analysis.between_nodes().messages == 0) {
        return "no messages between nodes were recorded, by functions that the library serves";
    }
    const double share =
        share_of(analysis, Purpose::exchange) + share_of(analysis, Purpose::message);
    if (share < little_time) {
        return fmt::format("exchanges and messages take {} of the time", percent(share));
    }
    // By a table that is far off nothing is left to MPI.
    if (!may_gain(analysis, forecast) && !is_far_off(trace, analysis, forecast)) {
        return "every message by itself is thought to be as fast as any strategy";
    }
    return "";
}

/// Nonblocking exchanges travel alike by every strategy.
std::string name_of_best(const TraceForecast& forecast) {
    const auto& all = forecast.strategies;
    const bool are_alike = all.size() > 1 && all.back().seconds <= 1.000001 * all.front().seconds;
    return are_alike ? "Gathering" : all.front().strategy;
}

std::string gain_of_exchanges(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    if (forecast.calls == 0) {
        return "Nothing is predicted for collective exchanges: none between nodes could be put "
               "together from all ranks.";
    }
    const double share = share_of(analysis, Purpose::exchange);
    if (best_gain(forecast) < little_gain) {
        return fmt::format("No gain expected from the collective exchanges, which take {} of the "
                           "time: every message by itself is thought to be as fast.",
                           percent(share));
    }
    return fmt::format(
        "{} is predicted to make the collective exchanges {:.1f} times as fast; they take "
        "{} of the time, {}.",
        name_of_best(forecast), best_gain(forecast), percent(share),
        whole_run(share, best_gain(forecast)));
}

std::string gain_of_messages(const TraceAnalysis& analysis, const TraceForecast& forecast) {
    const double share = share_of(analysis, Purpose::message);
    if (best_gain(forecast.messages) < little_gain) {
        return fmt::format("No gain expected from the messages from point to point, which take {} "
                           "of the time with waiting: each by itself is thought to be as fast.",
                           percent(share));
    }
    return fmt::format(
        "Messages from point to point between nodes are predicted to be {:.1f} times as "
        "fast when gathered, {}; with waiting they take {} of the time, {}.",
        best_gain(forecast.messages), basis_of(forecast.messages), percent(share),
        whole_run(share, best_gain(forecast.messages)));
}

std::vector<std::string> gains(const Trace& trace, const TraceAnalysis& analysis,
                               const TraceForecast& forecast) {
    if (is_too_short(trace, analysis)) {
        return {
            "The job did not come to its end, and no messages between nodes were recorded until "
            "then: whether the library would help cannot be said."};
    }
    const std::string obstacle = why_no_gain(trace, analysis, forecast);
    if (!obstacle.empty()) { return {"No gain expected, because " + obstacle + "."}; }
    std::vector<std::string> text;
    if (is_far_off(trace, analysis, forecast)) { text.push_back(far_off(trace, forecast)); }
    if (analysis.collective_between_nodes.messages > 0) {
        text.push_back(gain_of_exchanges(analysis, forecast));
    }
    if (analysis.messages_between_nodes.messages > 0) {
        text.push_back(gain_of_messages(analysis, forecast));
    }
    return text;
}

/// Of the messages between nodes those of less than 1 KiB.
double small_part(const TraceAnalysis& analysis) {
    constexpr size_t first_large = 11; // the class of 1024 bytes
    uint64_t small = 0;
    for (size_t i = 0; i < first_large; ++i) {
        small += analysis.between_nodes_by_size[i].messages;
    }
    const uint64_t all = analysis.between_nodes().messages;
    return all == 0 ? 0 : static_cast<double>(small) / static_cast<double>(all);
}

std::string nodes_text(const Trace& trace, const TraceAnalysis& analysis) {
    return std::string(trace.nodes_are_virtual ? "virtual " : "") +
           (analysis.nodes == 1 ? "node" : "nodes");
}

void add_repeated(const TraceAnalysis& analysis, std::vector<std::string>& text) {
    if (analysis.between_nodes().bytes == 0) { return; }
    const auto all = static_cast<double>(analysis.between_nodes().bytes);
    const double repeated = static_cast<double>(analysis.repeated_between_nodes) / all;
    const double equal = static_cast<double>(analysis.equal_between_nodes) / all;
    if (repeated > 0) {
        text.push_back(fmt::format("{} of the bytes between nodes are the same bytes sent to "
                                   "several ranks of a node.",
                                   percent(repeated)));
    }
    if (equal >= little_part) {
        text.push_back(fmt::format(
            "{}{} of the bytes between nodes go to several ranks of a node with equal values "
            "from different places in memory, as hashes of samples tell.",
            repeated > 0 ? "Another " : "", percent(equal)));
    }
}

} // namespace

std::vector<std::string> verdict(const Trace& trace, const TraceAnalysis& analysis,
                                 const TraceForecast& forecast) {
    std::vector<std::string> text = gains(trace, analysis, forecast);
    const auto part = [&](Purpose purpose) { return percent(share_of(analysis, purpose)); };
    const MessageSums between = analysis.between_nodes();
    if (between.messages > 0) {
        text.push_back(
            fmt::format("{} of {} messages between nodes are below 1 KiB; {} of them go from "
                        "point to point.",
                        percent(small_part(analysis)), between.messages,
                        analysis.messages_between_nodes.messages));
    }
    add_repeated(analysis, text);
    text.push_back(fmt::format("{} ranks on {} {} ran for {:.3g} s, of which {} were spent in "
                               "exchanges, {} in messages from point to point and in waiting, "
                               "{} in other collectives, and {} in functions on files.",
                               trace.nodes.size(), analysis.nodes,
                               nodes_text(trace, analysis).c_str(), analysis.wall,
                               part(Purpose::exchange), part(Purpose::message),
                               part(Purpose::other), part(Purpose::file)));
    if (!trace.observes) {
        text.emplace_back("The times are those with the library at work; NODEAWARE_MODE=observe "
                          "records those without it.");
    }
    if (!trace.is_complete && !is_too_short(trace, analysis)) {
        text.emplace_back("The job did not come to its end: what follows is what it had recorded.");
    }
    const bool is_cut = std::any_of(trace.ranks.begin(), trace.ranks.end(),
                                    [](const RankTrace& rank) { return rank.is_cut; });
    if (is_cut) {
        text.emplace_back("Some of it had no room in the trace, and is missing in what follows.");
    }
    if (!trace.complaints.empty()) {
        text.push_back(
            fmt::format("{} of {} ranks could not be read and are missing in what follows.",
                        trace.complaints.size(), trace.nodes.size()));
    }
    return text;
}

/// `auto` finds what is best by itself, among what may gain.
std::string recommended_config(const Trace& trace, const TraceAnalysis& analysis,
                               const TraceForecast& forecast, const std::string& model) {
    std::string text = "# By nodeaware analyze, of a trace of " +
                       std::to_string(trace.nodes.size()) + " ranks on " +
                       std::to_string(analysis.nodes) + " " + nodes_text(trace, analysis) + "\n";
    for (const std::string& line : verdict(trace, analysis, forecast)) {
        text += "# " + line + "\n";
    }
    const bool is_known = !is_too_short(trace, analysis);
    if (is_known && !why_no_gain(trace, analysis, forecast).empty()) {
        return text + "DISABLE = 1\n";
    }
    text += "STRATEGY = auto";
    const bool messages_gain =
        analysis.messages_between_nodes.messages == 0 ||
        best_gain(forecast.messages) >= little_gain ||
        (best_gain(forecast.messages) > any_gain && is_far_off(trace, analysis, forecast));
    if (!messages_gain) { text += ",p2p:native"; }
    return text + (model.empty() ? "\n" : "\nMODEL = " + model + "\n");
}

} // namespace nodeaware::tool
