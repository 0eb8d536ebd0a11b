#include "tools/nodeaware/trace/segments.hpp"

#include "runtime/trace/purpose.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

namespace nodeaware::tool {

namespace {

using trace::Purpose;

/// What functions do that are recorded.
struct Function {
    bool is_of_messages = false; ///< maybe of exchanges, too
    bool begins = false;         ///< a message
    bool waits = false;
};

/// A blocking send waits for its own message at most, which then is too large to be gathered.
Function function_of(std::string_view name) {
    if (name.ends_with("_c")) { name.remove_suffix(2); }
    constexpr std::array blocking = {"MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend"};
    constexpr std::array brief = {"MPI_Start", "MPI_Startall", "MPI_Cancel", "MPI_Request_free"};
    const auto is_in = [name](const auto& list) {
        return std::find(list.begin(), list.end(), name) != list.end();
    };
    const bool is_init = name.ends_with("_init");
    // MPI_Isend and its like; those that look for a message are recorded if they have found one.
    const bool is_nonblocking = name.starts_with("MPI_I") && name.size() > 5 &&
                                std::islower(static_cast<unsigned char>(name[5])) != 0 &&
                                !name.starts_with("MPI_Inter") &&
                                name.find("probe") == std::string_view::npos;
    const bool sends = name.find("send") != std::string_view::npos || is_in(blocking) ||
                       name.find("Sendrecv") != std::string_view::npos;
    const bool completes_exchanges = name.ends_with(" of exchanges");
    return {trace::purpose_of(name) == Purpose::message || completes_exchanges, sends && !is_init,
            !is_init && !is_nonblocking && !is_in(blocking) && !is_in(brief) &&
                !trace::is_started_send(name)};
}

/// What a rank begins between two calls that wait, and where it stands in its calls.
struct Segment {
    int half = 0; ///< of the timeline, which may lack calls in the middle
    int64_t meeting =
        0;              ///< collectives of all ranks before it; in the second half: -those after it
    int64_t number = 0; ///< likewise: segments since that meeting, or until the next one
    std::vector<MessagesTogether::Message> messages; ///< to other nodes
};

/// Cuts the calls of a rank.
class Cutter {
  public:
    Cutter(const RankTrace& rank, const std::vector<int>& nodes) : rank_(rank), nodes_(nodes) {
        for (const std::string& name : rank.functions) { functions_.push_back(function_of(name)); }
    }

    /// Whether the rank waits in calls that are recorded. One that only looks, again and again,
    /// whether something has come, does not.
    bool tells() const {
        const bool sends = std::any_of(functions_.begin(), functions_.end(),
                                       [](const Function& one) { return one.begins; });
        return !sends || std::any_of(functions_.begin(), functions_.end(), [](const Function& one) {
            return one.is_of_messages && one.waits;
        });
    }

    std::vector<Segment> segments() {
        const size_t all = rank_.events.size();
        const size_t middle = rank_.events_left_out > 0 ? all / 2 : all;
        cut(0, 0, middle);
        const size_t first = segments_.size();
        cut(1, middle, all);
        count_from_the_end(first);
        return std::move(segments_);
    }

  private:
    void cut(int half, size_t from, size_t to) {
        open_ = {half, 0, 0, {}};
        for (size_t i = from; i < to; ++i) {
            const TracedEvent& event = rank_.events[i];
            const Function& function = functions_[event.function];
            if (function.begins) { add(event); }
            if (function.waits) { close(); }
            if (function.waits && !function.is_of_messages && is_of_all(event.communicator)) {
                ++open_.meeting;
                open_.number = 0;
            }
        }
        close();
    }

    void add(const TracedEvent& event) {
        if (event.peer < 0 || event.bytes == 0 || event.communicator < 0) { return; }
        const auto& of = rank_.communicators[static_cast<size_t>(event.communicator)];
        const int to = of.members[static_cast<size_t>(event.peer)];
        const auto node_of = [this](int rank) { return nodes_[static_cast<size_t>(rank)]; };
        if (to < 0 || node_of(to) == node_of(rank_.rank)) { return; }
        open_.messages.push_back({rank_.rank, to, event.bytes});
    }

    void close() {
        if (open_.messages.empty()) { return; }
        segments_.push_back(open_);
        open_.messages.clear();
        ++open_.number;
    }

    bool is_of_all(int communicator) const {
        if (communicator < 0) { return false; }
        const auto& of = rank_.communicators[static_cast<size_t>(communicator)];
        return !of.is_inter && of.members.size() == nodes_.size();
    }

    /// The ranks end together, but have not lost the same calls in the middle.
    void count_from_the_end(size_t first) {
        const int64_t meetings = open_.meeting;
        std::map<int64_t, int64_t> sizes;
        for (size_t i = first; i < segments_.size(); ++i) { ++sizes[segments_[i].meeting]; }
        for (size_t i = first; i < segments_.size(); ++i) {
            segments_[i].number -= sizes[segments_[i].meeting];
            segments_[i].meeting -= meetings;
        }
    }

    const RankTrace& rank_;
    const std::vector<int>& nodes_;
    std::vector<Function> functions_;
    Segment open_;
    std::vector<Segment> segments_;
};

/// Of the ranks of a node, by where they stand; empty where a rank does not tell.
std::vector<MessagesTogether> together_on(const std::vector<const RankTrace*>& ranks,
                                          const std::vector<int>& nodes) {
    std::map<std::tuple<int, int64_t, int64_t>, MessagesTogether> groups;
    for (const RankTrace* rank : ranks) {
        Cutter cutter(*rank, nodes);
        if (!cutter.tells()) { return {}; }
        for (const Segment& one : cutter.segments()) {
            auto& messages = groups[{one.half, one.meeting, one.number}].messages;
            messages.insert(messages.end(), one.messages.begin(), one.messages.end());
        }
    }
    std::vector<MessagesTogether> list;
    list.reserve(groups.size());
    for (auto& [place, group] : groups) { list.push_back(std::move(group)); }
    return list;
}

/// Nodes all of whose ranks can be cut.
std::map<int, std::vector<const RankTrace*>> whole_nodes(const Trace& trace,
                                                         const std::vector<int>& nodes) {
    std::map<int, size_t> sizes;
    for (const int node : nodes) { ++sizes[node]; }
    std::map<int, std::vector<const RankTrace*>> whole;
    for (const RankTrace& rank : trace.ranks) {
        if (rank.has_timeline) { whole[nodes[static_cast<size_t>(rank.rank)]].push_back(&rank); }
    }
    std::erase_if(whole, [&](const auto& node) { return node.second.size() < sizes[node.first]; });
    return whole;
}

} // namespace

std::vector<MessagesTogether> messages_together(const Trace& trace, const std::vector<int>& nodes,
                                                size_t most) {
    const auto whole = whole_nodes(trace, nodes);
    std::vector<MessagesTogether> list;
    for (const auto& [node, ranks] : whole) {
        std::vector<MessagesTogether> groups = together_on(ranks, nodes);
        const size_t share = std::max<size_t>(2, most / whole.size());
        if (groups.size() > share) {
            const auto half = static_cast<std::ptrdiff_t>(share / 2);
            groups.erase(groups.begin() + half, groups.end() - half);
        }
        std::move(groups.begin(), groups.end(), std::back_inserter(list));
    }
    return list;
}

} // namespace nodeaware::tool
