#include "tools/nodeaware/trace/page_timeline.hpp"

#include "runtime/trace/purpose.hpp"
#include "tools/nodeaware/trace/clocks.hpp"

#include <algorithm>
#include <cmath>

namespace nodeaware::tool {

size_t PageTimeline::number_of(const std::string& function) {
    const auto found = std::find(functions_.begin(), functions_.end(), function);
    const auto number = static_cast<size_t>(found - functions_.begin());
    if (number == functions_.size()) { functions_.push_back(function); }
    return number;
}

/// Joins calls with no more than these seconds between them: those of the same function, and
/// others into blocks that are not much longer, so that long calls can still be told apart.
std::vector<PageTimeline::Block> PageTimeline::joined(const std::vector<Block>& blocks,
                                                      double seconds) {
    std::vector<Block> result;
    for (const Block& block : blocks) {
        Block* const last = result.empty() ? nullptr : &result.back();
        const bool is_near = last != nullptr && block.begin - last->end <= seconds;
        const bool may_join =
            is_near && (block.function == last->function || block.end - last->begin <= 4 * seconds);
        if (!may_join) {
            result.push_back(block);
            continue;
        }
        last->end = std::max(last->end, block.end);
        last->calls += block.calls;
        if (block.longest > last->longest) {
            last->longest = block.longest;
            last->function = block.function;
        }
    }
    return result;
}

PageTimeline::PageTimeline(const Trace& trace) {
    const size_t ranks = trace.nodes.size();
    const size_t step = (ranks + most_ranks - 1) / most_ranks;
    const size_t shown = (ranks + step - 1) / step;
    const std::vector<double> begins = begins_of(trace);
    for (size_t i = 0; i < trace.ranks.size(); ++i) {
        const bool is_shown = static_cast<size_t>(trace.ranks[i].rank) % step == 0;
        if (is_shown) { add(trace.ranks[i], begins[i], most_blocks / shown); }
    }
}

void PageTimeline::add(const RankTrace& rank, double begin, size_t most) {
    std::vector<Block> blocks;
    blocks.reserve(rank.events.size());
    for (const TracedEvent& event : rank.events) {
        // Lies within its call, which is there.
        const std::string& function = rank.functions[event.function];
        if (trace::is_started_send(function)) { continue; }
        blocks.push_back({begin + event.begin, begin + event.end, number_of(function),
                          event.end - event.begin, 1});
    }
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& a, const Block& b) { return a.begin < b.begin; });
    double seconds = rank.wall / 16384;
    while (blocks.size() > most && seconds < 2 * rank.wall) {
        blocks = joined(blocks, seconds);
        seconds *= 2;
    }
    rows_.push_back({rank.rank, begin, rank.wall, rank.events_left_out, std::move(blocks)});
}

nlohmann::ordered_json PageTimeline::to_json() const {
    const auto microseconds = [](double seconds) { return std::llround(seconds * 1e6); };
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const Row& row : rows_) {
        nlohmann::ordered_json blocks = nlohmann::ordered_json::array();
        long long last = 0;
        for (const Block& block : row.blocks) {
            blocks.push_back(microseconds(block.begin) - last);
            last = microseconds(block.end);
            blocks.push_back(last - microseconds(block.begin));
            blocks.push_back(block.function);
            blocks.push_back(block.calls);
        }
        ranks.push_back({{"rank", row.rank},
                         {"begin", row.begin},
                         {"wall", row.wall},
                         {"without_room", row.without_room},
                         {"blocks", std::move(blocks)}});
    }
    return {{"functions", functions_}, {"ranks", std::move(ranks)}};
}

} // namespace nodeaware::tool
