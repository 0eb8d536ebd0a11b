#include "tools/nodeaware/trace/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nodeaware::tool {

namespace {

using nlohmann::ordered_json;

constexpr double little = 0.02;     ///< a part of the time that runs of the same differ by
constexpr double small_part = 0.25; ///< of a difference, which does not explain it

/// What has changed most, in the direction of the whole.
std::string where(const Comparison& comparison, double difference) {
    const double sign = difference < 0 ? -1 : 1;
    double in_calls = 0;
    for (const auto& purpose : comparison.purposes) { in_calls += purpose[1] - purpose[0]; }
    if (sign * in_calls < small_part * std::abs(difference)) {
        return ", most of which is not in the calls that are recorded";
    }
    const auto most = std::max_element(
        comparison.sites.begin(), comparison.sites.end(),
        [&](const auto& a, const auto& b) { return sign * a.change() < sign * b.change(); });
    if (most == comparison.sites.end() || sign * most->change() <= 0) { return ""; }
    return fmt::format(", most of all in {} ({:.3g} : {:.3g} s in it, mean of the ranks)",
                       most->what, most->sides[0].seconds, most->sides[1].seconds);
}

std::string first_sentence(const ComparedTrace& before, const ComparedTrace& after,
                           const Comparison& comparison) {
    const auto& [first, second] = comparison.wall;
    const std::string names = fmt::format("{} : {}", before.trace.folder, after.trace.folder);
    if (first <= 0 || second <= 0) {
        return fmt::format("Which is faster cannot be said, one has taken no time ({}).", names);
    }
    const std::string times = fmt::format("{:.4g} : {:.4g} s from start to end", first, second);
    if (std::abs(first - second) <= little * std::max(first, second)) {
        return fmt::format("The second is as fast as the first: {} ({}).", times, names);
    }
    const bool is_faster = second < first;
    return fmt::format("The second {} {:.2f} times as {}: {}{} ({}).", is_faster ? "is" : "takes",
                       is_faster ? first / second : second / first,
                       is_faster ? "fast as the first" : "long as the first", times,
                       where(comparison, second - first), names);
}

uint64_t sum_of(const Comparison& comparison, size_t side, uint64_t ComparedWay::Side::*member) {
    uint64_t sum = 0;
    for (const ComparedWay& way : comparison.ways) { sum += way.sides[side].*member; }
    return sum;
}

bool differ(uint64_t one, uint64_t other) {
    const auto most = static_cast<double>(std::max(one, other));
    return std::abs(static_cast<double>(one) - static_cast<double>(other)) > little * most;
}

void add_messages(const Comparison& comparison, std::vector<std::string>& text) {
    const auto& [first, second] = comparison.between_nodes;
    text.push_back(fmt::format("The program has sent {} : {} messages with {} : {} bytes between "
                               "nodes.",
                               first.messages, second.messages, first.bytes, second.bytes));
    if (differ(first.messages, second.messages) || differ(first.bytes, second.bytes)) {
        text.emplace_back("That is not the same work, so times are not those of the same thing.");
    }
    using Side = ComparedWay::Side;
    const uint64_t before = sum_of(comparison, 0, &Side::rerouted);
    const uint64_t after = sum_of(comparison, 1, &Side::rerouted);
    if (before + after == 0) { return; }
    text.push_back(fmt::format(
        "The library has rerouted {} : {} calls; for the blocking ones of them {} : {} messages "
        "with {} : {} bytes went to other nodes.",
        before, after, sum_of(comparison, 0, &Side::sent_messages),
        sum_of(comparison, 1, &Side::sent_messages), sum_of(comparison, 0, &Side::sent_bytes),
        sum_of(comparison, 1, &Side::sent_bytes)));
}

void add_flaws(const ComparedTrace& compared, std::vector<std::string>& text) {
    const Trace& trace = compared.trace;
    if (!trace.is_complete) {
        text.push_back(fmt::format("The job of {} did not come to its end.", trace.folder));
    }
    if (std::any_of(trace.ranks.begin(), trace.ranks.end(),
                    [](const RankTrace& rank) { return rank.is_cut; })) {
        text.push_back(fmt::format("Some had no room in {}, and is missing.", trace.folder));
    }
    if (!trace.complaints.empty()) {
        text.push_back(fmt::format("{} of {} ranks of {} could not be read and are missing.",
                                   trace.complaints.size(), trace.nodes.size(), trace.folder));
    }
}

template <class Value> ordered_json pair_of(const std::array<Value, 2>& values) {
    return {values[0], values[1]};
}

template <class Side, class Value>
ordered_json pair_of(const std::array<Side, 2>& sides, Value Side::*member) {
    return {sides[0].*member, sides[1].*member};
}

ordered_json rows_of(const std::vector<ComparedRow>& rows, const char* name) {
    using Side = ComparedRow::Side;
    ordered_json list = ordered_json::array();
    for (const ComparedRow& row : rows) {
        list.push_back({{name, row.what},
                        {"calls", pair_of(row.sides, &Side::calls)},
                        {"messages", pair_of(row.sides, &Side::messages)},
                        {"bytes", pair_of(row.sides, &Side::bytes)},
                        {"seconds", pair_of(row.sides, &Side::seconds)}});
    }
    return list;
}

ordered_json ways_of(const std::vector<ComparedWay>& ways) {
    using Side = ComparedWay::Side;
    ordered_json list = ordered_json::array();
    for (const ComparedWay& way : ways) {
        list.push_back({{"operation", way.operation},
                        {"calls", pair_of(way.sides, &Side::calls)},
                        {"rerouted", pair_of(way.sides, &Side::rerouted)},
                        {"sent_messages", pair_of(way.sides, &Side::sent_messages)},
                        {"sent_bytes", pair_of(way.sides, &Side::sent_bytes)}});
    }
    return list;
}

ordered_json trace_of(const ComparedTrace& compared) {
    ordered_json trace = {{"folder", compared.trace.folder}, {"observes", compared.trace.observes}};
    trace.update(job_json(compared.trace, compared.analysis));
    return trace;
}

} // namespace

std::vector<std::string> verdict(const ComparedTrace& before, const ComparedTrace& after,
                                 const Comparison& comparison) {
    std::vector<std::string> text = {first_sentence(before, after, comparison)};
    const auto& [exchanges, messages, others, files] = comparison.purposes;
    text.push_back(fmt::format(
        "A rank spent {:.3g} : {:.3g} s in exchanges, {:.3g} : {:.3g} s in messages from point to "
        "point and in waiting, {:.3g} : {:.3g} s in other collectives, {:.3g} : {:.3g} s in "
        "functions on files (mean).",
        exchanges[0], exchanges[1], messages[0], messages[1], others[0], others[1], files[0],
        files[1]));
    add_messages(comparison, text);
    const size_t ranks[] = {before.trace.nodes.size(), after.trace.nodes.size()};
    const int nodes[] = {before.analysis.nodes, after.analysis.nodes};
    if (ranks[0] != ranks[1] || nodes[0] != nodes[1]) {
        text.push_back(fmt::format("They had {} : {} ranks on {} : {} nodes.", ranks[0], ranks[1],
                                   nodes[0], nodes[1]));
    }
    add_flaws(before, text);
    add_flaws(after, text);
    return text;
}

ordered_json to_json(const ComparedTrace& before, const ComparedTrace& after,
                     const Comparison& comparison) {
    const auto sums = [&](uint64_t MessageSums::*member) {
        return pair_of(comparison.between_nodes, member);
    };
    return {{"verdict", verdict(before, after, comparison)},
            {"before", trace_of(before)},
            {"after", trace_of(after)},
            {"wall", pair_of(comparison.wall)},
            {"seconds",
             {{"exchanges", pair_of(comparison.purposes[0])},
              {"messages", pair_of(comparison.purposes[1])},
              {"other_collectives", pair_of(comparison.purposes[2])},
              {"files", pair_of(comparison.purposes[3])}}},
            {"between_nodes",
             {{"messages", sums(&MessageSums::messages)}, {"bytes", sums(&MessageSums::bytes)}}},
            {"operations", rows_of(comparison.operations, "operation")},
            {"communicators", rows_of(comparison.communicators, "ranks")},
            {"sites", rows_of(comparison.sites, "site")},
            {"ways", ways_of(comparison.ways)}};
}

} // namespace nodeaware::tool
