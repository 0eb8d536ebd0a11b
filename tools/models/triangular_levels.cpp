#include "tools/models/triangular_levels.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace nodeaware::tuning {

namespace {

using namespace triangular;

constexpr double bytes_of_number = 8;

size_t at(int i) { return static_cast<size_t>(i); }

/// Edges between blocks of one GPU are none: its blocks wait for each other in its own memory.
std::vector<int> levels_of(const Supernodes& supernodes, const ProcessGrid& grid) {
    std::vector<int> levels(at(supernodes.count()), 0);
    // Blocks come by columns, and all of what a column waits for is in columns before it.
    for (const Block& block : supernodes.blocks) {
        const int owner = grid.owner(block.row, block.column);
        const bool is_message = owner != grid.owner(block.column, block.column) ||
                                owner != grid.owner(block.row, block.row);
        levels[at(block.row)] =
            std::max(levels[at(block.row)], levels[at(block.column)] + (is_message ? 1 : 0));
    }
    return levels;
}

/// GPUs, beside the one of the diagonal, that take part in a broadcast or a reduction.
using Others = std::vector<std::set<int>>;

class Levels {
  public:
    Levels(const Supernodes& supernodes, const ProcessGrid& grid, const SolvingGpus& gpus)
        : supernodes_(supernodes), grid_(grid), gpus_(gpus), levels_(levels_of(supernodes, grid)) {
        const int most = *std::max_element(levels_.begin(), levels_.end());
        bytes_.assign(at(most + 1), {});
        for (auto& of_level : bytes_) { of_level.resize(at(processes())); }
        others_of_column_.resize(levels_.size());
        others_of_row_.resize(levels_.size());
        collect();
    }

    LevelTimes run(bool adjusts) const {
        std::vector<LevelTimes> times(at(processes()));
        for (const auto& of_level : bytes_) {
            for (size_t p = 0; p < times.size(); ++p) {
                times[p].computation += computation(of_level[p], adjusts);
            }
        }
        for (int k = 0; k < supernodes_.count(); ++k) {
            const int root = grid_.owner(k, k);
            times[at(root)].communication += messages(k, root, others_of_column_[at(k)], false) +
                                             messages(k, root, others_of_row_[at(k)], true);
        }
        return *std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) {
            return a.total() < b.total();
        });
    }

    int processes() const { return grid_.rows * grid_.columns; }

  private:
    void collect() {
        // By column and GPU: one thread block does all of a column that its GPU has.
        std::vector<double> of_column(at(processes()), 0);
        size_t block = 0;
        for (int k = 0; k < supernodes_.count(); ++k) {
            const double width = supernodes_.width(k);
            const int root = grid_.owner(k, k);
            of_column[at(root)] += width * width * bytes_of_number;
            for (; block < supernodes_.blocks.size() && supernodes_.blocks[block].column == k;
                 ++block) {
                const Block& one = supernodes_.blocks[block];
                const int owner = grid_.owner(one.row, k);
                of_column[at(owner)] +=
                    width * static_cast<double>(one.rows.size()) * bytes_of_number;
                if (owner != root) { others_of_column_[at(k)].insert(owner); }
                if (owner != grid_.owner(one.row, one.row)) {
                    others_of_row_[at(one.row)].insert(owner);
                }
            }
            for (size_t p = 0; p < of_column.size(); ++p) {
                if (of_column[p] > 0) { bytes_[at(levels_[at(k)])][p].push_back(of_column[p]); }
                of_column[p] = 0;
            }
        }
    }

    double within_bounds(double bandwidth) const {
        return std::clamp(bandwidth, gpus_.least_of_block, gpus_.most_of_block);
    }

    double computation(const std::vector<double>& bytes, bool adjusts) const {
        double seconds = 0;
        double sum = 0;
        int blocks = 0;
        for (const double one : bytes) {
            sum += one;
            if (++blocks >= gpus_.most_blocks) {
                seconds += sum / gpus_.bandwidth;
                sum = 0;
                blocks = 0;
            }
        }
        if (blocks == 0) { return seconds; }
        const double of_gpu =
            static_cast<double>(supernodes_.count()) / static_cast<double>(processes());
        const double sharing = adjusts ? static_cast<double>(blocks) : of_gpu;
        return seconds + sum / (within_bounds(gpus_.bandwidth / sharing) * blocks);
    }

    double messages(int supernode, int root, const std::set<int>& others, bool is_sum) const {
        if (others.empty()) { return 0; }
        const auto out = static_cast<double>(others.size());
        double rate = gpus_.on_socket;
        for (const int other : others) { rate = std::min(rate, rate_between(root, other)); }
        if (is_sum && rate > gpus_.between_nodes) { rate *= gpus_.of_thread; }
        const double bytes =
            std::max(gpus_.typical_bytes, supernodes_.width(supernode) * bytes_of_number);
        return (out > 2 ? std::log2(out) : out) * bytes / rate;
    }

    double rate_between(int a, int b) const {
        if (a / gpus_.per_node != b / gpus_.per_node) { return gpus_.between_nodes; }
        const int of_socket = std::max(gpus_.per_node / 2, 1);
        return a % gpus_.per_node / of_socket == b % gpus_.per_node / of_socket ? gpus_.on_socket
                                                                                : gpus_.on_node;
    }

    const Supernodes& supernodes_;
    ProcessGrid grid_;
    SolvingGpus gpus_;
    std::vector<int> levels_;                             ///< of each supernode
    std::vector<std::vector<std::vector<double>>> bytes_; ///< of columns, by level and GPU
    Others others_of_column_;
    Others others_of_row_;
};

} // namespace

LevelTimes solve_by_levels(const Supernodes& supernodes, const ProcessGrid& grid,
                           const SolvingGpus& gpus) {
    const Levels levels(supernodes, grid, gpus);
    const LevelTimes times = levels.run(true);
    if (levels.processes() == 1) { return times; }
    const double single = Levels(supernodes, {1, 1}, gpus).run(true).total();
    return single > levels.processes() * times.total() ? levels.run(false) : times;
}

} // namespace nodeaware::tuning
