#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <vector>

namespace nodeaware::tool {

/// Who sends how much to whom, of bounded size: where there are too many senders, several that
/// follow each other have one place.
class HeatMap {
  public:
    static constexpr int most_places = 512; ///< on a side

    /// `count`: of ranks, or of nodes, at least 1.
    explicit HeatMap(int count);

    /// Nothing of empty messages.
    void add(int from, int to, uint64_t messages, uint64_t bytes);

    /// {"count": N, "together": how many have one place, "rows": [...]}; a row is the list of what
    /// a place sends, without those that get nothing: first receiving place, how many that follow
    /// it get as much each, messages, bytes, and so on. More have one place where the rows would
    /// have more than `most` bytes.
    nlohmann::ordered_json to_json(size_t most) const;

  private:
    struct Cell {
        uint64_t messages = 0;
        uint64_t bytes = 0;
        bool operator==(const Cell&) const = default;
    };
    nlohmann::ordered_json row(int from) const;
    HeatMap coarser() const;
    HeatMap(int count, int together);

    int count_;
    int together_;
    int places_;
    std::vector<Cell> cells_; ///< by sender and receiver
};

/// Of all messages that were recorded; those to ranks from outside are left out.
struct HeatMaps {
    HeatMap ranks;
    HeatMap nodes;
};

/// `nodes`: of each rank.
HeatMaps heat_maps_of(const Trace& trace, const std::vector<int>& nodes);

} // namespace nodeaware::tool
