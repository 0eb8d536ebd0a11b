#include "strategies/placement/tilings.hpp"

#include <algorithm>
#include <numeric>

namespace nodeaware::place {

namespace {

/// The points of a box one after the other, each a neighbour of the one before.
class Walk {
  public:
    /// `order`: dimensions, the fastest one first. `is_back`: from the far end of the slowest one.
    Walk(std::vector<int> box, std::vector<size_t> order, bool is_back)
        : box_(std::move(box)), order_(std::move(order)), position_(box_.size()),
          direction_(box_.size(), 1) {
        if (!is_back || order_.empty()) { return; }
        const size_t slowest = order_.back();
        position_[slowest] = box_[slowest] - 1;
        direction_[slowest] = -1;
    }

    const std::vector<int>& position() const { return position_; }

    /// False: that was the last one.
    bool step() {
        for (const size_t dimension : order_) {
            const int next = position_[dimension] + direction_[dimension];
            if (next >= 0 && next < box_[dimension]) {
                position_[dimension] = next;
                return true;
            }
            direction_[dimension] = -direction_[dimension];
        }
        return false;
    }

  private:
    std::vector<int> box_;
    std::vector<size_t> order_;
    std::vector<int> position_;
    std::vector<int> direction_;
};

/// The ranks of a grid, box by box.
std::vector<int> ranks_by_tiles(const std::vector<int>& dimensions, const std::vector<int>& tile) {
    const size_t count = dimensions.size();
    std::vector<int> tiles(count);
    for (size_t i = 0; i < count; ++i) { tiles[i] = (dimensions[i] + tile[i] - 1) / tile[i]; }
    std::vector<size_t> order(count);
    std::iota(order.rbegin(), order.rend(), size_t{0});
    // A bar is cut across: along it is slowest.
    std::vector<size_t> within = order;
    std::stable_sort(within.begin(), within.end(),
                     [&](size_t one, size_t other) { return tile[one] < tile[other]; });
    std::vector<int> ranks;
    bool is_back = false;
    Walk outer(tiles, order, false);
    do {
        std::vector<int> box(count);
        for (size_t i = 0; i < count; ++i) {
            box[i] = std::min(tile[i], dimensions[i] - outer.position()[i] * tile[i]);
        }
        Walk inner(box, within, is_back);
        do {
            int rank = 0;
            for (size_t i = 0; i < count; ++i) {
                rank = rank * dimensions[i] + outer.position()[i] * tile[i] + inner.position()[i];
            }
            ranks.push_back(rank);
        } while (inner.step());
        is_back = !is_back;
    } while (outer.step());
    return ranks;
}

/// The shapes of boxes that are worth a try.
class Shapes {
  public:
    struct Shape {
        std::vector<int> tile;
        bool is_exact = false;
        double surface = 0; ///< about so many messages of a rank leave its node
    };

    Shapes(const Grid& grid, const std::vector<int>& sizes)
        : dimensions_(grid.dimensions), is_periodic_(grid.is_periodic),
          tile_(grid.dimensions.size(), 1), ppn_(*std::max_element(sizes.begin(), sizes.end())),
          is_even_(std::all_of(sizes.begin(), sizes.end(), [&](int s) { return s == ppn_; })) {
        extend(0, 1, none);
        for (size_t along = 0; along < dimensions_.size(); ++along) {
            tile_[along] = dimensions_[along];
            extend(0, 1, along);
        }
    }

    std::vector<Shape> best(size_t most) {
        keep_best(most);
        return shapes_;
    }

  private:
    static constexpr size_t none = ~size_t{0};
    static constexpr size_t most_kept = 4096; ///< grids of many dimensions have millions

    void keep_best(size_t most) {
        std::stable_sort(shapes_.begin(), shapes_.end(), [](const Shape& one, const Shape& other) {
            return one.surface < other.surface;
        });
        if (shapes_.size() > most) { shapes_.resize(most); }
    }

    /// Sizes in the dimensions from this one, but the one that the bar lies along.
    void extend(size_t dimension, int product, size_t along) {
        if (dimension == tile_.size()) {
            if (along != none || product == ppn_) { add(product, along); }
            return;
        }
        if (dimension == along) {
            extend(dimension + 1, product, along);
            return;
        }
        const int longest = std::min(dimensions_[dimension], ppn_ / product);
        for (int size = 1; size <= longest; ++size) {
            if (along == none && ppn_ / product % size != 0) { continue; }
            tile_[dimension] = size;
            extend(dimension + 1, product * size, along);
        }
    }

    void add(int product, size_t along) {
        constexpr double penalty = 1.1; // for boxes at the border that are smaller
        Shape shape{tile_, along == none && is_even_, 0};
        bool divides = true;
        for (size_t i = 0; i < tile_.size(); ++i) {
            divides = divides && (i == along || dimensions_[i] % tile_[i] == 0);
            const double length = i == along ? static_cast<double>(ppn_) / product : tile_[i];
            const double cuts = dimensions_[i] / length - (is_periodic_[i] ? 0 : 1);
            const bool is_cut = length < dimensions_[i];
            shape.surface += is_cut ? 2 * cuts / dimensions_[i] : 0;
        }
        shape.is_exact = shape.is_exact && divides;
        if (!divides) { shape.surface *= penalty; }
        shapes_.push_back(std::move(shape));
        if (shapes_.size() >= most_kept) { keep_best(most_kept / 2); }
    }

    const std::vector<int>& dimensions_;
    const std::vector<bool>& is_periodic_;
    std::vector<int> tile_;
    int ppn_;
    bool is_even_;
    std::vector<Shape> shapes_;
};

} // namespace

std::string name_of(const std::vector<int>& tile) {
    std::string name;
    for (const int size : tile) { name += (name.empty() ? "" : " x ") + std::to_string(size); }
    return name;
}

std::vector<Tiling> tilings(const Grid& grid, const std::vector<int>& sizes, size_t most) {
    if (grid.dimensions.empty() || sizes.empty()) { return {}; }
    const Placement by_position = block_placement(sizes);
    std::vector<Tiling> tilings;
    for (auto& shape : Shapes(grid, sizes).best(most)) {
        Tiling tiling{shape.tile, shape.is_exact, Placement(by_position.size())};
        const std::vector<int> ranks = ranks_by_tiles(grid.dimensions, shape.tile);
        for (size_t i = 0; i < ranks.size(); ++i) {
            tiling.placement[static_cast<size_t>(ranks[i])] = by_position[i];
        }
        tilings.push_back(std::move(tiling));
    }
    return tilings;
}

} // namespace nodeaware::place
