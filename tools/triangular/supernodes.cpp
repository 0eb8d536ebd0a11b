#include "supernodes.hpp"

#include "indices.hpp"

#include <algorithm>

namespace triangular {
namespace {

// The row of the first entry below the diagonal: the column's parent in the elimination tree.
int parent(const LowerFactor& factor, int column) {
    const int second = factor.begin[at(column)] + 1;
    return second < factor.begin[at(column) + 1] ? factor.rows[at(second)] : -1;
}

int entries(const LowerFactor& factor, int column) {
    return factor.begin[at(column) + 1] - factor.begin[at(column)];
}

// Of each column, how many are in the subtree under it, which are the ones right before it.
std::vector<int> subtree_sizes(const LowerFactor& factor) {
    std::vector<int> sizes(at(factor.size), 1);
    for (int column = 0; column < factor.size; ++column) {
        const int above = parent(factor, column);
        if (above >= 0) sizes[at(above)] += sizes[at(column)];
    }
    return sizes;
}

std::vector<int> first_columns(const LowerFactor& factor, const SupernodeLimits& limits) {
    const std::vector<int> sizes = subtree_sizes(factor);
    const int relaxed = std::min(limits.relaxed, limits.widest);
    std::vector<int> last_of(at(factor.size), -1); // by first column, the root of a small subtree
    for (int column = 0; column < factor.size; ++column) {
        if (sizes[at(column)] <= relaxed) last_of[at(column - sizes[at(column)] + 1)] = column;
    }
    std::vector<int> first;
    bool may_grow = false;
    for (int column = 0; column < factor.size; ++column) {
        if (last_of[at(column)] >= 0) { // the largest, for larger ones have later roots
            first.push_back(column);
            column = last_of[at(column)];
            may_grow = false;
            continue;
        }
        const bool goes_on = may_grow && parent(factor, column - 1) == column &&
                             entries(factor, column - 1) == entries(factor, column) + 1 &&
                             column - first.back() < limits.widest;
        if (!goes_on) first.push_back(column);
        may_grow = true;
    }
    first.push_back(factor.size);
    return first;
}

// Fills in one supernode's diagonal and blocks.
class Columns {
  public:
    Columns(const LowerFactor& factor, Supernodes& result, const std::vector<int>& supernode_of)
        : factor_(factor), result_(result), supernode_of_(supernode_of) {}

    void add(int supernode) {
        const int begin = result_.first[at(supernode)];
        const int end = result_.first[at(supernode) + 1];
        const std::size_t first_block = result_.blocks.size();
        add_blocks(supernode, begin, end);
        std::vector<double>& diagonal = result_.diagonals[at(supernode)];
        diagonal.assign(at(end - begin) * at(end - begin), 0);
        for (int column = begin; column < end; ++column) {
            std::size_t block = first_block;
            std::size_t place = 0;
            for (int i = factor_.begin[at(column)]; i < factor_.begin[at(column) + 1]; ++i) {
                const int row = factor_.rows[at(i)];
                if (row < end) {
                    diagonal[at(column - begin) * at(end - begin) + at(row - begin)] =
                        factor_.values[at(i)];
                    continue;
                }
                const int of = supernode_of_[at(row)];
                for (; result_.blocks[block].row != of; ++block) place = 0;
                Block& found = result_.blocks[block];
                while (found.rows[place] != row - result_.first[at(of)]) ++place;
                found.values[at(column - begin) * found.rows.size() + place] =
                    factor_.values[at(i)];
            }
        }
    }

  private:
    void add_blocks(int supernode, int begin, int end) {
        std::vector<int> rows;
        for (int column = begin; column < end; ++column) {
            for (int i = factor_.begin[at(column)]; i < factor_.begin[at(column) + 1]; ++i) {
                if (factor_.rows[at(i)] >= end) rows.push_back(factor_.rows[at(i)]);
            }
        }
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        const std::size_t first_block = result_.blocks.size();
        for (const int row : rows) {
            const int of = supernode_of_[at(row)];
            if (result_.blocks.size() == first_block || result_.blocks.back().row != of)
                result_.blocks.push_back({of, supernode, {}, {}});
            result_.blocks.back().rows.push_back(row - result_.first[at(of)]);
        }
        for (std::size_t i = first_block; i < result_.blocks.size(); ++i) {
            result_.blocks[i].values.assign(result_.blocks[i].rows.size() * at(end - begin), 0);
        }
    }

    const LowerFactor& factor_;
    Supernodes& result_;
    const std::vector<int>& supernode_of_;
};

} // namespace

Supernodes supernodes_of(const LowerFactor& factor, const SupernodeLimits& limits) {
    Supernodes result;
    result.first = first_columns(factor, limits);
    result.diagonals.resize(at(result.count()));
    std::vector<int> supernode_of(at(factor.size));
    for (int k = 0; k < result.count(); ++k) {
        for (int i = result.first[at(k)]; i < result.first[at(k) + 1]; ++i) supernode_of[at(i)] = k;
    }
    Columns columns(factor, result, supernode_of);
    for (int k = 0; k < result.count(); ++k) columns.add(k);
    return result;
}

} // namespace triangular
