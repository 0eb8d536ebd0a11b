#include "tools/nodeaware/trace/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace nodeaware::tool {

namespace {

/// Rows of both traces by their names.
class Rows {
  public:
    ComparedRow::Side& at(const std::string& what, size_t side) { return rows_[what][side]; }

    std::vector<ComparedRow> take() const {
        std::vector<ComparedRow> list;
        for (const auto& [what, sides] : rows_) { list.push_back({what, sides}); }
        std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
            return std::abs(a.change()) > std::abs(b.change());
        });
        return list;
    }

  private:
    std::map<std::string, std::array<ComparedRow::Side, 2>> rows_;
};

/// Functions that have to do with the same messages are not told apart.
std::string operation_of(const std::string& function) {
    return purpose_of(function) == Purpose::message ? "messages from point to point" : function;
}

class Side {
  public:
    Side(const ComparedTrace& compared, size_t number, Rows& operations, Rows& communicators)
        : compared_(compared), number_(number), operations_(operations),
          communicators_(communicators),
          part_(1.0 / static_cast<double>(std::max<size_t>(compared.trace.ranks.size(), 1))) {}

    void add() {
        for (const RankTrace& rank : compared_.trace.ranks) { add(rank); }
    }

  private:
    void add(const RankTrace& rank) {
        std::vector<std::string> names;
        std::vector<uint64_t> remote; // ranks of each communicator
        for (const TracedCommunicator& communicator : rank.communicators) {
            const auto& members = communicator.members;
            names.push_back(name_of_ranks(members, compared_.trace.nodes.size()));
            remote.push_back(static_cast<uint64_t>(std::count_if(
                members.begin(), members.end(), [&](int to) { return is_remote(rank.rank, to); })));
        }
        for (const TracedSite& site : rank.sites) {
            add_calls(operations_.at(operation_of(site.function), number_), site);
            if (site.communicator < 0) { continue; }
            add_calls(communicators_.at(names[static_cast<size_t>(site.communicator)], number_),
                      site);
        }
        for (const TracedPattern& pattern : rank.patterns) {
            const MessageSums sums = sums_of(rank, pattern, remote);
            add_sums(operation_of(pattern.function), pattern.communicator, names, sums);
        }
        for (const TracedSends& sends : rank.sends) {
            add_sums(operation_of("MPI_Send"), sends.communicator, names, sums_of(rank, sends));
        }
    }

    /// Ranks from outside are on other nodes.
    bool is_remote(int from, int to) const {
        return to < 0 || compared_.nodes[static_cast<size_t>(from)] !=
                             compared_.nodes[static_cast<size_t>(to)];
    }

    static const std::vector<int>& members_of(const RankTrace& rank, int communicator) {
        return rank.communicators[static_cast<size_t>(communicator)].members;
    }

    MessageSums sums_of(const RankTrace& rank, const TracedPattern& pattern,
                        const std::vector<uint64_t>& remote) const {
        MessageSums sums;
        if (pattern.communicator < 0) { return sums; }
        for (const auto& [peer, bytes] : pattern.to) {
            const bool is_to_each = peer < 0;
            const bool goes_out =
                !is_to_each &&
                is_remote(rank.rank,
                          members_of(rank, pattern.communicator)[static_cast<size_t>(peer)]);
            const uint64_t receivers =
                is_to_each ? remote[static_cast<size_t>(pattern.communicator)] : (goes_out ? 1 : 0);
            if (bytes > 0) {
                sums.add(pattern.calls * receivers, pattern.calls * receivers * bytes);
            }
        }
        return sums;
    }

    MessageSums sums_of(const RankTrace& rank, const TracedSends& sends) const {
        MessageSums sums;
        const int to = members_of(rank, sends.communicator)[static_cast<size_t>(sends.peer)];
        for (const SizeClass& part : sends.sizes) {
            if (is_remote(rank.rank, to)) { sums.add(part.messages, part.bytes); }
        }
        return sums;
    }

    void add_calls(ComparedRow::Side& side, const TracedSite& site) const {
        side.calls += site.calls;
        side.seconds += site.seconds * part_;
    }

    void add_sums(const std::string& operation, int communicator,
                  const std::vector<std::string>& names, const MessageSums& sums) {
        ComparedRow::Side& of_operation = operations_.at(operation, number_);
        of_operation.messages += sums.messages;
        of_operation.bytes += sums.bytes;
        if (communicator < 0) { return; }
        ComparedRow::Side& of_communicator =
            communicators_.at(names[static_cast<size_t>(communicator)], number_);
        of_communicator.messages += sums.messages;
        of_communicator.bytes += sums.bytes;
    }

    const ComparedTrace& compared_;
    const size_t number_;
    Rows& operations_;
    Rows& communicators_;
    const double part_;
};

void add_sites(const ComparedTrace& compared, size_t number, Rows& rows) {
    const auto ranks = static_cast<double>(std::max<size_t>(compared.trace.ranks.size(), 1));
    for (const TraceAnalysis::Row& row : compared.analysis.sites) {
        ComparedRow::Side& side = rows.at(row.what, number);
        side.calls += row.calls;
        side.messages += row.messages;
        side.bytes += row.bytes;
        side.seconds += row.seconds / ranks;
    }
}

void add_purposes(const ComparedTrace& compared, size_t number, Comparison& comparison) {
    const auto ranks = static_cast<double>(std::max<size_t>(compared.trace.ranks.size(), 1));
    for (const RankTrace& rank : compared.trace.ranks) {
        for (const TracedSite& site : rank.sites) {
            const auto purpose = static_cast<size_t>(purpose_of(site.function));
            comparison.purposes[purpose][number] += site.seconds / ranks;
        }
    }
}

void add_ways(const ComparedTrace& compared, size_t number,
              std::map<std::string, std::array<ComparedWay::Side, 2>>& ways) {
    for (const RankTrace& rank : compared.trace.ranks) {
        for (const TracedWay& way : rank.ways) {
            ComparedWay::Side& side = ways[way.operation][number];
            side.calls += way.calls;
            if (way.reason != "rerouted") { continue; }
            side.rerouted += way.calls;
            side.sent_messages += way.sent_messages;
            side.sent_bytes += way.sent_bytes;
        }
    }
}

} // namespace

Comparison compare(const ComparedTrace& before, const ComparedTrace& after) {
    Comparison comparison;
    Rows operations;
    Rows communicators;
    Rows sites;
    std::map<std::string, std::array<ComparedWay::Side, 2>> ways;
    size_t number = 0;
    for (const ComparedTrace* compared : {&before, &after}) {
        comparison.wall[number] = compared->analysis.wall;
        comparison.between_nodes[number] = compared->analysis.between_nodes();
        add_purposes(*compared, number, comparison);
        Side(*compared, number, operations, communicators).add();
        add_sites(*compared, number, sites);
        add_ways(*compared, number, ways);
        ++number;
    }
    comparison.operations = operations.take();
    comparison.communicators = communicators.take();
    comparison.sites = sites.take();
    for (const auto& [operation, sides] : ways) { comparison.ways.push_back({operation, sides}); }
    return comparison;
}

} // namespace nodeaware::tool
