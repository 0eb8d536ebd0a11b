#include "tools/nodeaware/place/partitioner.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#ifdef NODEAWARE_HAS_METIS
#include <dlfcn.h>
#include <metis.h>
#endif

namespace nodeaware::place {

#ifdef NODEAWARE_HAS_METIS

namespace {

/// A graph as METIS wants it, both ends of an edge with the messages in both directions.
struct Edges {
    std::vector<idx_t> begin = {0};
    std::vector<idx_t> to;
    std::vector<idx_t> weights;

    /// False: too many for it.
    bool add(const RankGraph& graph) {
        constexpr auto most = static_cast<uint64_t>(std::numeric_limits<idx_t>::max());
        for (int rank = 0; rank < graph.ranks(); ++rank) {
            for (const Peer& peer : graph.peers(rank)) {
                if (peer.messages() == 0) { continue; }
                to.push_back(static_cast<idx_t>(peer.rank));
                weights.push_back(static_cast<idx_t>(std::min(peer.messages(), most / 1024)));
            }
            if (to.size() > most) { return false; }
            begin.push_back(static_cast<idx_t>(to.size()));
        }
        return true;
    }
};

/// The library, where it is: the command must start without it.
struct Metis {
    decltype(&METIS_SetDefaultOptions) set_default_options = nullptr;
    decltype(&METIS_PartGraphRecursive) part_graph = nullptr;

    Metis() {
        void* const library = dlopen("libmetis.so.5", RTLD_NOW | RTLD_LOCAL); // never closed
        if (library == nullptr) { return; }
        set_default_options = reinterpret_cast<decltype(set_default_options)>(
            dlsym(library, "METIS_SetDefaultOptions"));
        part_graph =
            reinterpret_cast<decltype(part_graph)>(dlsym(library, "METIS_PartGraphRecursive"));
    }
    bool is_there() const { return set_default_options != nullptr && part_graph != nullptr; }
};

/// Moves ranks from nodes that have too many, one after the other, each time the one that has least
/// to do with its own node and most with another one that has too few.
class Repair {
  public:
    Repair(const RankGraph& graph, const std::vector<int>& sizes, Placement& placement)
        : graph_(graph), placement_(placement), missing_(sizes) {
        for (const int node : placement) { --missing_[static_cast<size_t>(node)]; }
    }

    void run() {
        while (true) {
            const Move move = best();
            if (move.rank < 0) { return; }
            ++missing_[static_cast<size_t>(placement_[static_cast<size_t>(move.rank)])];
            --missing_[static_cast<size_t>(move.node)];
            placement_[static_cast<size_t>(move.rank)] = move.node;
        }
    }

  private:
    struct Move {
        int rank = -1;
        int node = 0;
        int64_t gain = std::numeric_limits<int64_t>::min();
    };

    Move best() const {
        Move best;
        std::vector<int64_t> with(missing_.size());
        for (int rank = 0; rank < graph_.ranks(); ++rank) {
            const int own = placement_[static_cast<size_t>(rank)];
            if (missing_[static_cast<size_t>(own)] >= 0) { continue; }
            std::fill(with.begin(), with.end(), 0);
            for (const Peer& peer : graph_.peers(rank)) {
                with[static_cast<size_t>(placement_[static_cast<size_t>(peer.rank)])] +=
                    static_cast<int64_t>(peer.messages());
            }
            for (size_t node = 0; node < missing_.size(); ++node) {
                const int64_t gain = with[node] - with[static_cast<size_t>(own)];
                if (missing_[node] > 0 && gain > best.gain) {
                    best = {rank, static_cast<int>(node), gain};
                }
            }
        }
        return best;
    }

    const RankGraph& graph_;
    Placement& placement_;
    std::vector<int> missing_; ///< ranks of each node; negative: too many
};

} // namespace

std::vector<Suggestion> partitioned(const RankGraph& graph, const std::vector<int>& sizes) {
    Edges edges;
    constexpr int most_ranks = 1 << 17; // to move some takes long
    const Metis metis;
    if (!metis.is_there() || sizes.size() < 2 || graph.ranks() > most_ranks) { return {}; }
    if (!edges.add(graph) || edges.to.empty()) { return {}; }
    auto ranks = static_cast<idx_t>(graph.ranks());
    auto nodes = static_cast<idx_t>(sizes.size());
    std::vector<real_t> shares;
    shares.reserve(sizes.size());
    for (const int size : sizes) {
        shares.push_back(static_cast<real_t>(size) / static_cast<real_t>(graph.ranks()));
    }
    idx_t options[METIS_NOPTIONS];
    metis.set_default_options(options);
    options[METIS_OPTION_SEED] = 1; // the same every time
    options[METIS_OPTION_UFACTOR] = 1;
    idx_t constraints = 1;
    idx_t cut = 0;
    Placement placement(static_cast<size_t>(graph.ranks()));
    static_assert(sizeof(idx_t) == sizeof(int));
    const int result = metis.part_graph(&ranks, &constraints, edges.begin.data(), edges.to.data(),
                                        nullptr, nullptr, edges.weights.data(), &nodes,
                                        shares.data(), nullptr, options, &cut, placement.data());
    if (result != METIS_OK) { return {}; }
    Repair(graph, sizes, placement).run();
    return {{std::move(placement), "METIS"}};
}

#else

std::vector<Suggestion> partitioned(const RankGraph& /*graph*/, const std::vector<int>& /*sizes*/) {
    return {};
}

#endif

} // namespace nodeaware::place
