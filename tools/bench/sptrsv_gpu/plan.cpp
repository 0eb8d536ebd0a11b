#include "plan.hpp"

#include "tools/triangular/indices.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace bench::sptrsv_gpu {
namespace {

using namespace triangular;

// Places in arrays are int on the device.
int size_of(std::size_t size) {
    if (size > at(std::numeric_limits<int>::max()))
        throw std::length_error("the matrix is too large for places of 32 bits");
    return static_cast<int>(size);
}

// Per virtual GPU, by supernodes: where its Column or Row is, -1 where it has none.
using Places = std::vector<std::vector<int>>;

class Planner {
  public:
    Planner(const Supernodes& supernodes, const Distribution& distribution, Plan& plan)
        : supernodes_(supernodes), distribution_(distribution), plan_(plan) {}

    void run() {
        for (int k = 0; k < supernodes_.count(); ++k)
            plan_.widest = std::max(plan_.widest, supernodes_.width(k));
        add_rows();
        add_slots();
        sort_blocks();
        add_columns();
        add_children();
    }

  private:
    int root(int supernode) const { return distribution_.grid.owner(supernode, supernode); }

    // Who has a part of each supernode's tree, by virtual GPUs and supernodes.
    template <class Add> Places add_members(const std::vector<std::vector<Edge>>& trees, Add add) {
        std::vector<std::vector<int>> members(at(plan_.gpus)); // supernodes, which ascend
        for (int k = 0; k < supernodes_.count(); ++k) {
            members[at(root(k))].push_back(k);
            for (const Edge& edge : trees[at(k)]) members[at(edge.child)].push_back(k);
        }
        Places places(at(plan_.gpus), std::vector<int>(at(supernodes_.count()), -1));
        for (int gpu = 0; gpu < plan_.gpus; ++gpu) {
            for (const int k : members[at(gpu)]) places[at(gpu)][at(k)] = add(gpu, k);
        }
        return places;
    }

    void add_rows() {
        row_of_ = add_members(distribution_.reductions, [&](int, int supernode) {
            plan_.rows.push_back({supernode, supernodes_.width(supernode), plan_.sums_size, -1});
            plan_.sums_size += supernodes_.width(supernode);
            return size_of(plan_.rows.size()) - 1;
        });
        plan_.missing.resize(plan_.rows.size());
    }

    void add_slots() {
        std::vector<std::vector<int>> child_rows(plan_.rows.size());
        for (int k = 0; k < supernodes_.count(); ++k) {
            for (const Edge& edge : distribution_.reductions[at(k)]) {
                child_rows[at(row_of_[at(edge.parent)][at(k)])].push_back(
                    row_of_[at(edge.child)][at(k)]);
            }
        }
        for (const std::vector<int>& rows : row_of_) {
            plan_.slot_begin.push_back(size_of(plan_.slots.size()));
            for (const int row : rows) {
                if (row < 0) continue;
                for (const int child : child_rows[at(row)]) {
                    plan_.rows[at(child)].parent_slot = size_of(plan_.slots.size());
                    plan_.slots.push_back({row, plan_.ready_sums_size});
                    plan_.ready_sums_size += plan_.rows[at(row)].width;
                    ++plan_.missing[at(row)];
                }
            }
        }
        plan_.slot_begin.push_back(size_of(plan_.slots.size()));
    }

    void sort_blocks() {
        blocks_.assign(at(plan_.gpus), {});
        for (auto& of_gpu : blocks_) of_gpu.resize(at(supernodes_.count()));
        for (const Block& block : supernodes_.blocks) {
            const int owner = distribution_.grid.owner(block.row, block.column);
            blocks_[at(owner)][at(block.column)].push_back(&block);
        }
    }

    void add_columns() {
        column_of_ = add_members(distribution_.broadcasts, [&](int gpu, int supernode) {
            Column column;
            column.supernode = supernode;
            column.first = supernodes_.first[at(supernode)];
            column.width = supernodes_.width(supernode);
            if (gpu == root(supernode)) {
                column.is_diagonal = 1;
                column.row = row_of_[at(gpu)][at(supernode)];
                add_diagonal(column);
            } else {
                column.x = plan_.ready_x_size;
                plan_.ready_x_size += column.width;
            }
            add_panel(column, gpu);
            plan_.columns.push_back(column);
            return size_of(plan_.columns.size()) - 1;
        });
        int index = 0;
        for (const std::vector<int>& columns : column_of_) {
            plan_.column_begin.push_back(index);
            plan_.awaited_begin.push_back(size_of(plan_.awaited.size()));
            for (const int column : columns) {
                if (column < 0) continue;
                if (plan_.columns[at(column)].is_diagonal == 0) plan_.awaited.push_back(column);
                ++index;
            }
        }
        plan_.column_begin.push_back(index);
        plan_.awaited_begin.push_back(size_of(plan_.awaited.size()));
    }

    void add_diagonal(Column& column) {
        column.diagonal = static_cast<std::int64_t>(plan_.diagonals.size());
        const std::vector<double>& values = supernodes_.diagonals[at(column.supernode)];
        for (int j = 0; j < column.width; ++j) {
            plan_.diagonals.push_back(1 / values[at(j) * at(column.width) + at(j)]);
            for (int i = j + 1; i < column.width; ++i)
                plan_.diagonals.push_back(values[at(j) * at(column.width) + at(i)]);
        }
    }

    void add_panel(Column& column, int gpu) {
        const std::vector<const Block*>& blocks = blocks_[at(gpu)][at(column.supernode)];
        column.panel = static_cast<std::int64_t>(plan_.panels.size());
        column.targets = size_of(plan_.targets.size());
        column.blocks[0] = size_of(plan_.block_rows.size());
        for (const Block* const block : blocks) {
            const int row = row_of_[at(gpu)][at(block->row)];
            plan_.block_rows.push_back(row);
            ++plan_.missing[at(row)];
            for (const int i : block->rows) plan_.targets.push_back(plan_.rows[at(row)].sum + i);
        }
        column.blocks[1] = size_of(plan_.block_rows.size());
        column.panel_rows = size_of(plan_.targets.size()) - column.targets;
        for (int j = 0; j < column.width; ++j) {
            for (const Block* const block : blocks) {
                const auto begin =
                    block->values.begin() + static_cast<std::ptrdiff_t>(at(j) * block->rows.size());
                plan_.panels.insert(plan_.panels.end(), begin,
                                    begin + static_cast<std::ptrdiff_t>(block->rows.size()));
            }
        }
    }

    void add_children() {
        for (int gpu = 0; gpu < plan_.gpus; ++gpu) {
            for (int i = plan_.column_begin[at(gpu)]; i < plan_.column_begin[at(gpu + 1)]; ++i) {
                Column& column = plan_.columns[at(i)];
                column.children[0] = size_of(plan_.children.size());
                for (const Edge& edge : distribution_.broadcasts[at(column.supernode)]) {
                    if (edge.parent != gpu) continue;
                    plan_.children.push_back(column_of_[at(edge.child)][at(column.supernode)]);
                }
                column.children[1] = size_of(plan_.children.size());
            }
        }
    }

    const Supernodes& supernodes_;
    const Distribution& distribution_;
    Plan& plan_;
    Places row_of_;
    Places column_of_;
    std::vector<std::vector<std::vector<const Block*>>> blocks_; // by virtual GPU and column
};

// Messages from the root of a tree, by virtual GPU: edges of a parent come after the one to it.
std::vector<int> depths(const std::vector<Edge>& edges, int gpus) {
    std::vector<int> result(at(gpus), 0);
    for (const Edge& edge : edges) result[at(edge.child)] = result[at(edge.parent)] + 1;
    return result;
}

} // namespace

Plan make_plan(const Supernodes& supernodes, const Distribution& distribution, int gpus,
               const std::vector<double>& right_side) {
    Plan plan;
    plan.gpus = gpus;
    plan.right_side = right_side;
    Planner(supernodes, distribution, plan).run();
    return plan;
}

CriticalPath critical_path(const Supernodes& supernodes, const Distribution& distribution,
                           int gpus) {
    std::vector<std::vector<int>> up; // by row and virtual GPU
    for (const std::vector<Edge>& edges : distribution.reductions)
        up.push_back(depths(edges, gpus));
    std::vector<CriticalPath> until(at(supernodes.count()), {1, 0});
    CriticalPath longest;
    std::vector<int> down;
    int column = -1;
    for (const Block& block : supernodes.blocks) { // by columns: those before are complete
        if (block.column != column) {
            column = block.column;
            down = depths(distribution.broadcasts[at(column)], gpus);
        }
        const std::size_t owner = at(distribution.grid.owner(block.row, block.column));
        CriticalPath& row = until[at(block.row)];
        row.levels = std::max(row.levels, until[at(column)].levels + 1);
        row.messages = std::max(row.messages, until[at(column)].messages + down[owner] +
                                                  up[at(block.row)][owner]);
    }
    for (const CriticalPath& path : until) {
        longest.levels = std::max(longest.levels, path.levels);
        longest.messages = std::max(longest.messages, path.messages);
    }
    return longest;
}

} // namespace bench::sptrsv_gpu
