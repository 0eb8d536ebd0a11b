#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nodeaware::tool {

/// What ranks did when, of bounded size: of many ranks some are shown, and calls that follow each
/// other closely are one block.
class PageTimeline {
  public:
    static constexpr size_t most_ranks = 128;
    static constexpr size_t most_blocks = 8192; ///< of all ranks

    /// `trace` has been read with its timeline.
    explicit PageTimeline(const Trace& trace);

    /// {"functions": [names], "ranks": [{"rank", "begin" (of its trace, since that of the first),
    /// "wall" (seconds both), "without_room" (events),
    /// "blocks"}]}. Blocks are one list of microseconds since the end of the one before (the
    /// first: since the first rank began), length in
    /// microseconds, the number of the function that took most of the time, calls, and so on.
    nlohmann::ordered_json to_json() const;

  private:
    struct Block {
        double begin = 0;
        double end = 0;
        size_t function = 0;
        double longest = 0; ///< of its calls
        uint64_t calls = 0;
    };
    struct Row {
        int rank = 0;
        double begin = 0;
        double wall = 0;
        uint64_t without_room = 0;
        std::vector<Block> blocks;
    };
    void add(const RankTrace& rank, double begin, size_t most);
    size_t number_of(const std::string& function);
    static std::vector<Block> joined(const std::vector<Block>& blocks, double seconds);

    std::vector<std::string> functions_;
    std::vector<Row> rows_;
};

} // namespace nodeaware::tool
