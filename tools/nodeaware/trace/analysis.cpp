#include "tools/nodeaware/trace/analysis.hpp"

#include "tools/nodeaware/trace/places.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace nodeaware::tool {

namespace {

/// Adds up what the ranks of a trace have sent.
class Sums {
  public:
    Sums(TraceAnalysis& analysis, const std::vector<int>& nodes)
        : analysis_(analysis), nodes_(nodes) {}

    void add_pattern(const RankTrace& rank, const TracedPattern& pattern) {
        if (pattern.communicator < 0) { return; }
        const auto& members = rank.communicators[static_cast<size_t>(pattern.communicator)].members;
        MessageSums& between = analysis_.collective_between_nodes;
        const RepeatedBytes repeated = repeated_bytes(rank, pattern, nodes_);
        analysis_.repeated_between_nodes += pattern.calls * repeated.from_same_memory;
        analysis_.equal_between_nodes += pattern.calls * repeated.of_equal_values;
        for (const auto& [peer, bytes] : pattern.to) {
            if (bytes == 0) { continue; } // no message, other than from point to point
            const auto number = static_cast<int>(std::bit_width(bytes));
            const SizeClass part{number, pattern.calls, pattern.calls * bytes};
            if (peer >= 0) {
                add(rank.rank, members[static_cast<size_t>(peer)], part, between);
                continue;
            }
            for (const int member : members) { add(rank.rank, member, part, between); }
        }
    }
    void add_sends(const RankTrace& rank, const TracedSends& sends) {
        const auto& members = rank.communicators[static_cast<size_t>(sends.communicator)].members;
        for (const SizeClass& part : sends.sizes) {
            add(rank.rank, members[static_cast<size_t>(sends.peer)], part,
                analysis_.messages_between_nodes);
        }
    }

  private:
    /// Ranks from outside are on other nodes.
    void add(int from, int to, const SizeClass& part, MessageSums& between) {
        const bool is_local =
            to >= 0 && nodes_[static_cast<size_t>(from)] == nodes_[static_cast<size_t>(to)];
        if (is_local) { return analysis_.within_nodes.add(part.messages, part.bytes); }
        between.add(part.messages, part.bytes);
        analysis_.between_nodes_by_size[static_cast<size_t>(part.number)].add(part.messages,
                                                                              part.bytes);
    }

    TraceAnalysis& analysis_;
    const std::vector<int>& nodes_;
};

std::string name_of(const TracedSite& site) {
    return site.site.empty() ? site.function : site.function + " at " + short_name_of_place(site);
}

/// Calls that the compiler has put at several addresses stand at one place.
std::string key_of(const TracedSite& site) {
    const bool has_line = !site.places.empty() && !site.places.front().file.empty();
    if (!has_line) { return site.function + " at " + site.site; }
    const SourcePlace& place = site.places.front();
    return site.function + " in " + place.function + " at " + place.file + ":" +
           std::to_string(place.line);
}

class Rows {
  public:
    void add_place(const TracedSite& site) {
        TraceAnalysis::Row& row = add(name_of(site), site, key_of(site));
        row.places = site.places;
        if (!site.site.empty()) { row.addresses.insert(site.site); }
    }
    TraceAnalysis::Row& add(const std::string& what, const TracedSite& site,
                            const std::string& key) {
        TraceAnalysis::Row& row = rows_[key];
        row.what = what;
        row.calls += site.calls;
        row.messages += site.messages;
        row.bytes += site.bytes;
        row.seconds += site.seconds;
        return row;
    }
    std::vector<TraceAnalysis::Row> take() const {
        std::vector<TraceAnalysis::Row> list;
        for (const auto& [what, row] : rows_) { list.push_back(row); }
        std::stable_sort(list.begin(), list.end(),
                         [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
        return list;
    }

  private:
    std::map<std::string, TraceAnalysis::Row> rows_;
};

/// Those of one rank that sends itself nothing, as MPI_COMM_SELF of each, are one row.
std::vector<TraceAnalysis::Row> joined(const std::vector<TraceAnalysis::Row>& rows,
                                       const std::set<std::string>& alone) {
    std::vector<TraceAnalysis::Row> list;
    TraceAnalysis::Row together;
    size_t count = 0;
    for (const TraceAnalysis::Row& row : rows) {
        if (row.messages > 0 || alone.count(row.what) == 0) {
            list.push_back(row);
            continue;
        }
        together.what = ++count == 1 ? row.what : std::to_string(count) + " ranks, each by itself";
        together.calls += row.calls;
        together.seconds += row.seconds;
    }
    if (count > 0) { list.push_back(together); }
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    return list;
}

std::vector<TraceAnalysis::Passed> passed_by(const Trace& trace) {
    std::map<std::pair<std::string, std::string>, TraceAnalysis::Passed> rows;
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedCollective& collective : rank.collectives) {
            if (collective.communicator < 0) { continue; }
            const auto& of = rank.communicators[static_cast<size_t>(collective.communicator)];
            const std::string ranks = name_of_ranks(of.members, trace.nodes.size());
            TraceAnalysis::Passed& row = rows[{collective.function, ranks}];
            row.function = collective.function;
            row.ranks = ranks;
            uint64_t bytes = 0;
            for (const auto& [peer, of_block] : collective.to) { bytes += of_block; }
            row.calls += collective.calls;
            row.bytes += collective.calls * bytes;
            row.most = std::max(row.most, bytes);
        }
    }
    std::vector<TraceAnalysis::Passed> list;
    list.reserve(rows.size());
    for (const auto& [key, row] : rows) { list.push_back(row); }
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return list;
}

void add_times(const Trace& trace, TraceAnalysis& analysis) {
    double all = 0;
    for (const RankTrace& rank : trace.ranks) {
        analysis.wall = std::max(analysis.wall, rank.wall);
        all += rank.wall;
        analysis.mean_in_calls += rank.seconds_in_calls / static_cast<double>(trace.ranks.size());
        const bool is_first = &rank == &trace.ranks.front();
        if (is_first || rank.seconds_in_calls < analysis.least_in_calls.seconds) {
            analysis.least_in_calls = {rank.rank, rank.seconds_in_calls};
        }
        if (is_first || rank.seconds_in_calls > analysis.most_in_calls.seconds) {
            analysis.most_in_calls = {rank.rank, rank.seconds_in_calls};
        }
        for (const TracedSite& site : rank.sites) {
            analysis.shares[static_cast<size_t>(purpose_of(site.function))] += site.seconds;
        }
    }
    for (double& share : analysis.shares) { share = all > 0 ? share / all : 0; }
}

} // namespace

std::string name_of_ranks(const std::vector<int>& members, size_t ranks) {
    constexpr size_t most = 6;
    if (members.size() == ranks && ranks > 1) { return "all " + std::to_string(ranks) + " ranks"; }
    std::string name = members.size() == 1 ? "rank" : "ranks";
    for (size_t i = 0; i < std::min(members.size(), most); ++i) {
        name += (i == 0 ? " " : ", ") +
                (members[i] < 0 ? std::string("outside") : std::to_string(members[i]));
    }
    return members.size() > most ? name + ", ... (" + std::to_string(members.size()) + ")" : name;
}

TraceAnalysis analyze(const Trace& trace, const std::vector<int>& nodes) {
    TraceAnalysis analysis;
    std::map<int, int> ranks_on;
    for (const int node : nodes) {
        analysis.most_ranks_on_a_node = std::max(analysis.most_ranks_on_a_node, ++ranks_on[node]);
    }
    analysis.nodes = static_cast<int>(ranks_on.size());
    Sums sums(analysis, nodes);
    Rows communicators;
    Rows sites;
    std::set<std::string> alone; // communicators of one rank
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedPattern& pattern : rank.patterns) { sums.add_pattern(rank, pattern); }
        for (const TracedSends& sends : rank.sends) { sums.add_sends(rank, sends); }
        analysis.collectives_left_out += rank.collectives_left_out;
        for (const auto& [text, value] : rank.notes) { analysis.notes[text] += value; }
        for (const TracedCommunicator& communicator : rank.communicators) {
            analysis.receives += communicator.receives;
            analysis.from_any_source += communicator.from_any_source;
        }
        for (const TracedSite& site : rank.sites) {
            sites.add_place(site);
            if (site.communicator < 0) {
                communicators.add("no communicator (as waiting, and persistent requests)", site,
                                  "");
                continue;
            }
            const auto& of = rank.communicators[static_cast<size_t>(site.communicator)];
            const std::string name = name_of_ranks(of.members, nodes.size());
            communicators.add(name, site, name);
            if (of.members.size() == 1) { alone.insert(name); }
        }
    }
    analysis.communicators = joined(communicators.take(), alone);
    analysis.sites = sites.take();
    analysis.collectives = passed_by(trace);
    add_times(trace, analysis);
    return analysis;
}

} // namespace nodeaware::tool
