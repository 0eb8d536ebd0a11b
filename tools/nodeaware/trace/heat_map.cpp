#include "tools/nodeaware/trace/heat_map.hpp"

#include <algorithm>

namespace nodeaware::tool {

namespace {

int divided_up(int value, int by) { return (value + by - 1) / by; }

class Adder {
  public:
    Adder(HeatMaps& maps, const std::vector<int>& nodes) : maps_(maps), nodes_(nodes) {}

    void add_pattern(const RankTrace& rank, const TracedPattern& pattern) {
        if (pattern.communicator < 0) { return; }
        const auto& members = rank.communicators[static_cast<size_t>(pattern.communicator)].members;
        for (const auto& [peer, bytes] : pattern.to) {
            if (bytes == 0) { continue; }
            if (peer >= 0) {
                add(rank.rank, members[static_cast<size_t>(peer)], pattern.calls,
                    pattern.calls * bytes);
                continue;
            }
            for (const int member : members) {
                add(rank.rank, member, pattern.calls, pattern.calls * bytes);
            }
        }
    }
    void add_sends(const RankTrace& rank, const TracedSends& sends) {
        const auto& members = rank.communicators[static_cast<size_t>(sends.communicator)].members;
        for (const SizeClass& part : sends.sizes) {
            add(rank.rank, members[static_cast<size_t>(sends.peer)], part.messages, part.bytes);
        }
    }

  private:
    void add(int from, int to, uint64_t messages, uint64_t bytes) {
        if (to < 0) { return; }
        maps_.ranks.add(from, to, messages, bytes);
        maps_.nodes.add(nodes_[static_cast<size_t>(from)], nodes_[static_cast<size_t>(to)],
                        messages, bytes);
    }

    HeatMaps& maps_;
    const std::vector<int>& nodes_;
};

} // namespace

HeatMap::HeatMap(int count) : HeatMap(count, divided_up(count, most_places)) {}

HeatMap::HeatMap(int count, int together)
    : count_(count), together_(together), places_(divided_up(count, together)),
      cells_(static_cast<size_t>(places_) * static_cast<size_t>(places_)) {}

void HeatMap::add(int from, int to, uint64_t messages, uint64_t bytes) {
    Cell& cell = cells_[static_cast<size_t>(from / together_) * static_cast<size_t>(places_) +
                        static_cast<size_t>(to / together_)];
    cell.messages += messages;
    cell.bytes += bytes;
}

nlohmann::ordered_json HeatMap::row(int from) const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    const Cell* const cells = &cells_[static_cast<size_t>(from) * static_cast<size_t>(places_)];
    for (int to = 0; to < places_;) {
        const Cell& cell = cells[to];
        int end = to + 1;
        while (end < places_ && cells[end] == cell) { ++end; }
        if (cell.messages > 0) {
            for (const uint64_t value : {static_cast<uint64_t>(to), static_cast<uint64_t>(end - to),
                                         cell.messages, cell.bytes}) {
                list.push_back(value);
            }
        }
        to = end;
    }
    return list;
}

HeatMap HeatMap::coarser() const {
    HeatMap map(count_, 2 * together_);
    for (int from = 0; from < places_; ++from) {
        for (int to = 0; to < places_; ++to) {
            const Cell& cell = cells_[static_cast<size_t>(from) * static_cast<size_t>(places_) +
                                      static_cast<size_t>(to)];
            map.add(from * together_, to * together_, cell.messages, cell.bytes);
        }
    }
    return map;
}

nlohmann::ordered_json HeatMap::to_json(size_t most) const {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    size_t text = 0;
    for (int from = 0; from < places_; ++from) {
        rows.push_back(row(from));
        text += rows.back().dump().size();
    }
    if (text > most && places_ > 1) { return coarser().to_json(most); }
    return {{"count", count_}, {"together", together_}, {"rows", std::move(rows)}};
}

HeatMaps heat_maps_of(const Trace& trace, const std::vector<int>& nodes) {
    const int last = *std::max_element(nodes.begin(), nodes.end());
    HeatMaps maps{HeatMap(static_cast<int>(nodes.size())), HeatMap(last + 1)};
    Adder adder(maps, nodes);
    for (const RankTrace& rank : trace.ranks) {
        for (const TracedPattern& pattern : rank.patterns) { adder.add_pattern(rank, pattern); }
        for (const TracedSends& sends : rank.sends) { adder.add_sends(rank, sends); }
    }
    return maps;
}

} // namespace nodeaware::tool
