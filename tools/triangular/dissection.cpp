#include "dissection.hpp"

#include "indices.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace triangular {
namespace {

// Below that a part is not worth a separator: its columns end in one or two supernodes.
constexpr std::size_t smallest_part = 24;

class Dissection {
  public:
    explicit Dissection(const Graph& graph)
        : graph_(graph), part_(graph.size(), 0), level_(graph.size()), order_(graph.size()) {}

    std::vector<int> run() {
        Part all{std::vector<int>(graph_.size()), graph_.size()};
        std::iota(all.vertices.begin(), all.vertices.end(), 0);
        parts_.push_back(std::move(all));
        while (!parts_.empty()) {
            const Part part = std::move(parts_.back());
            parts_.pop_back();
            if (part.vertices.size() <= smallest_part) {
                number(part.vertices, part.end);
            } else {
                divide(part);
            }
        }
        return order_;
    }

  private:
    struct Part {
        std::vector<int> vertices;
        std::size_t end; // their places end there
    };

    void number(const std::vector<int>& vertices, std::size_t end) {
        std::copy(vertices.begin(), vertices.end(),
                  order_.begin() + static_cast<std::ptrdiff_t>(end - vertices.size()));
    }

    void divide(const Part& part) {
        for (const int v : part.vertices) part_[at(v)] = part_number_;
        const std::vector<int> reached = search_from_far(part.vertices.front());
        ++part_number_;
        if (reached.size() < part.vertices.size()) {
            std::vector<int> rest;
            for (const int v : part.vertices) {
                if (part_[at(v)] == part_number_ - 1) rest.push_back(v);
            }
            parts_.push_back({reached, part.end});
            parts_.push_back({std::move(rest), part.end - reached.size()});
            return;
        }
        separate(reached, part.end);
    }

    // Breadth first through the vertices of the present part, which are marked as reached.
    std::vector<int> search(int from) {
        std::vector<int> reached = {from};
        part_[at(from)] = -1;
        level_[at(from)] = 0;
        for (std::size_t i = 0; i < reached.size(); ++i) {
            const int v = reached[i];
            for (const int w : graph_[at(v)]) {
                if (part_[at(w)] != part_number_) continue;
                part_[at(w)] = -1;
                level_[at(w)] = level_[at(v)] + 1;
                reached.push_back(w);
            }
        }
        return reached;
    }

    // From a vertex that is far from others, so that levels are many and small.
    std::vector<int> search_from_far(int from) {
        std::vector<int> reached = search(from);
        for (int depth = -1; level_[at(reached.back())] > depth;) {
            depth = level_[at(reached.back())];
            for (const int v : reached) part_[at(v)] = part_number_;
            reached = search(reached.back());
        }
        return reached;
    }

    // What is before the middle level, what is behind it, and of that level those that touch both.
    void separate(const std::vector<int>& reached, std::size_t end) {
        const int middle = level_[at(reached[reached.size() / 2])];
        std::vector<int> before;
        std::vector<int> behind;
        std::vector<int> separator;
        for (const int v : reached) {
            const int level = level_[at(v)];
            const auto& neighbours = graph_[at(v)];
            if (level > middle) {
                behind.push_back(v);
            } else if (level == middle &&
                       std::any_of(neighbours.begin(), neighbours.end(), [&](int w) {
                           return part_[at(w)] == -1 && level_[at(w)] > middle;
                       })) {
                separator.push_back(v);
            } else {
                before.push_back(v);
            }
        }
        number(separator, end);
        for (const int v : separator) part_[at(v)] = -2; // it is of no part any more
        end -= separator.size();
        if (before.empty() || behind.empty()) { // all but a clique: there is nothing to divide
            before.insert(before.end(), behind.begin(), behind.end());
            number(before, end);
            for (const int v : before) part_[at(v)] = -2;
            return;
        }
        for (const int v : before) part_[at(v)] = 0;
        for (const int v : behind) part_[at(v)] = 0;
        const std::size_t end_of_before = end - behind.size();
        parts_.push_back({std::move(behind), end});
        parts_.push_back({std::move(before), end_of_before});
    }

    const Graph& graph_;
    std::vector<Part> parts_;
    std::vector<int> part_; // of each vertex; -1: reached by the search, -2: has a place
    std::vector<int> level_;
    std::vector<int> order_;
    int part_number_ = 1;
};

std::vector<int> places_in(const std::vector<int>& order) {
    std::vector<int> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
    return place;
}

} // namespace

std::vector<int> nested_dissection(const Graph& graph) { return Dissection(graph).run(); }

std::vector<int> elimination_tree(const Graph& graph, const std::vector<int>& order) {
    const std::vector<int> place = places_in(order);
    std::vector<int> parents(order.size(), -1);
    std::vector<int> ancestors(order.size(), -1); // as far up as known, so that paths are short
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (const int neighbour : graph[at(order[i])]) {
            int j = place[at(neighbour)];
            while (j >= 0 && j < static_cast<int>(i)) {
                const int next = std::exchange(ancestors[at(j)], static_cast<int>(i));
                if (next < 0) parents[at(j)] = static_cast<int>(i);
                j = next;
            }
        }
    }
    return parents;
}

// A row has entries on the paths of the tree from those that it has in the matrix up to itself.
std::int64_t count_factor(const Graph& graph, const std::vector<int>& order, std::int64_t most) {
    const std::vector<int> place = places_in(order);
    const std::vector<int> parents = elimination_tree(graph, order);
    std::vector<int> seen_by(order.size(), -1); // the last row whose path went there
    auto entries = static_cast<std::int64_t>(order.size());
    for (std::size_t i = 0; i < order.size() && entries <= most; ++i) {
        const int row = static_cast<int>(i);
        for (const int neighbour : graph[at(order[i])]) {
            for (int j = place[at(neighbour)]; j < row && j >= 0 && seen_by[at(j)] != row;
                 j = parents[at(j)]) {
                seen_by[at(j)] = row;
                ++entries;
            }
        }
    }
    return entries;
}

std::vector<int> postorder(const std::vector<int>& parents) {
    std::vector<std::vector<int>> children(parents.size() + 1); // roots: of the last
    for (std::size_t i = 0; i < parents.size(); ++i) {
        children[parents[i] < 0 ? parents.size() : at(parents[i])].push_back(static_cast<int>(i));
    }
    // Roots before what is under them, last children first, and all of it turned round.
    std::vector<int> order;
    std::vector<int> open = children.back();
    while (!open.empty()) {
        const int i = open.back();
        open.pop_back();
        order.push_back(i);
        open.insert(open.end(), children[at(i)].begin(), children[at(i)].end());
    }
    std::reverse(order.begin(), order.end());
    return order;
}

} // namespace triangular
