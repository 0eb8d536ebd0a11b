#include "runtime/collectives/graph_creation.hpp"

#include "runtime/collectives/call.hpp"
#include "runtime/collectives/sparse_node_pairs.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/job/log.hpp"
#include "runtime/requests/library.hpp"
#include "strategies/graph_edges.hpp"
#include "strategies/sparse_choice.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <vector>

namespace nodeaware::graph_creation {

namespace {

using graph::Edge;
using sparse::NodePairs;
using sparse::Received;

/// What the MPIs look at differs, and a rank whose arguments MPI would take is needed by the
/// others: Open MPI takes MPI_PROC_NULL for either end.
bool is_refused_end(int rank, int ranks) {
    return (rank < 0 || rank >= ranks) && !(is_open_mpi() && rank == MPI_PROC_NULL);
}

/// The number of edges; where MPI refuses the degrees: -1. MPICH takes negative ones for 0.
int64_t edges_of(const GraphArguments& graph) {
    int64_t edges = 0;
    for (int i = 0; i < graph.nodes; ++i) {
        if (graph.degrees[i] < 0 && is_open_mpi()) { return -1; }
        edges += std::max(0, graph.degrees[i]);
    }
    return edges;
}

bool are_arrays_refused(const GraphArguments& graph) {
    if (graph.sources == nullptr || graph.degrees == nullptr) { return true; }
    const bool has_degree = std::any_of(graph.degrees, graph.degrees + graph.nodes,
                                        [](int degree) { return degree != 0; });
    const bool are_read = has_degree || is_open_mpi();
    return are_read && (graph.destinations == nullptr || graph.weights == nullptr);
}

bool are_weights_refused(const GraphArguments& graph, int64_t edges) {
    if (!is_open_mpi() || graph.weights == MPI_UNWEIGHTED || edges == 0) { return false; }
    return graph.weights == MPI_WEIGHTS_EMPTY ||
           std::any_of(graph.weights, graph.weights + edges, [](int weight) { return weight < 0; });
}

enum class Arguments { right, refused, with_wrong_ranks };

/// Refused: MPI finds that by itself on this rank, or ends the job.
Arguments look_at(const GraphArguments& graph, int ranks) {
    if (graph.nodes == 0) { return Arguments::right; }
    if (graph.nodes < 0 || are_arrays_refused(graph)) { return Arguments::refused; }
    const int64_t edges = edges_of(graph);
    if (edges < 0) { return Arguments::refused; }
    const auto is_wrong = [&](int rank) { return is_refused_end(rank, ranks); };
    if (std::any_of(graph.sources, graph.sources + graph.nodes, is_wrong) ||
        std::any_of(graph.destinations, graph.destinations + edges, is_wrong)) {
        return Arguments::with_wrong_ranks;
    }
    return are_weights_refused(graph, edges) ? Arguments::refused : Arguments::right;
}

int end_of(int rank) { return rank == MPI_PROC_NULL ? Edge::nobody : rank; }

/// Calls `visit(source, destination, weight)` for each edge that this rank lists.
template <class Visit> void visit_edges(const GraphArguments& graph, Visit visit) {
    // MPICH takes it also where there are edges, whose weights are then anything.
    const bool has_weights = graph.weights != MPI_UNWEIGHTED && graph.weights != MPI_WEIGHTS_EMPTY;
    size_t edge = 0;
    for (int i = 0; i < graph.nodes; ++i) {
        for (int k = 0; k < graph.degrees[i]; ++k, ++edge) {
            visit(end_of(graph.sources[i]), end_of(graph.destinations[edge]),
                  has_weights ? graph.weights[edge] : 0);
        }
    }
}

/// What this rank tells others of edges, and what it knows of its own.
struct Listed {
    std::map<int, std::vector<std::byte>> told; ///< by rank
    std::vector<Edge> own;
};

Listed list_edges(const GraphArguments& graph, int rank) {
    Listed listed;
    const bool has_weight = graph.weights != MPI_UNWEIGHTED;
    const auto tell = [&](int end, const Edge& edge) {
        if (end == rank) { listed.own.push_back(edge); }
        if (end == rank || end == Edge::nobody) { return; }
        graph::append_edge(listed.told[end], edge, rank);
    };
    visit_edges(graph, [&](int source, int destination, int weight) {
        tell(source, {destination, true, has_weight, weight});
        tell(destination, {source, false, has_weight, weight});
    });
    return listed;
}

std::vector<sparse::Outgoing> messages_of(const Listed& listed) {
    std::vector<sparse::Outgoing> messages;
    messages.reserve(listed.told.size());
    for (const auto& [rank, told] : listed.told) {
        messages.push_back({rank, told.data(), told.size()});
    }
    return messages;
}

/// The other ends of edges in one direction.
struct Ends {
    std::vector<int> ranks;
    std::vector<int> weights;

    int count() const { return static_cast<int>(ranks.size()); }
    void add(const Edge& edge) {
        ranks.push_back(edge.other == Edge::nobody ? MPI_PROC_NULL : edge.other);
        weights.push_back(edge.weight);
    }
};

struct Adjacent {
    Ends sources;
    Ends destinations;

    void add(const std::vector<Edge>& edges) {
        for (const Edge& edge : edges) { (edge.leaves ? destinations : sources).add(edge); }
    }
};

/// Those at this rank, in the order of the ranks that list them, itself among them.
Adjacent adjacent_of(const Listed& listed, const Received& received, int rank, int ranks) {
    Adjacent adjacent;
    bool has_own = false;
    const auto add_own_before = [&](int next) {
        if (!has_own && next > rank) { adjacent.add(listed.own); }
        has_own = has_own || next > rank;
    };
    for (const sparse::Incoming& message : received.messages) {
        add_own_before(message.peer);
        const auto edges = graph::read_edges({message.data, message.bytes}, message.peer, ranks);
        if (!edges) { throw MpiError(MPI_ERR_INTERN, "a list of edges"); }
        adjacent.add(*edges);
    }
    add_own_before(ranks);
    return adjacent;
}

/// Tells and is told. Collective. `error`: what this rank had no memory for before or after the
/// exchange. If that itself fails, others may be left in it: throws MpiError and std::bad_alloc.
Adjacent exchange(const GraphArguments& graph, NodePairs& pairs, InnerCommunicator& inner,
                  int& error) {
    Listed listed;
    std::vector<sparse::Outgoing> outgoing;
    Received received;
    try {
        listed = list_edges(graph, inner.rank());
        outgoing = messages_of(listed);
    } catch (const std::bad_alloc&) { // it tells nothing, but the others wait for it
        outgoing.clear();
        error = MPI_ERR_NO_MEM;
    }
    pairs.exchange(inner, outgoing, received);
    if (received.error != MPI_SUCCESS) { throw MpiError(received.error, "exchange of edges"); }
    if (error != MPI_SUCCESS) { return {}; }
    try {
        return adjacent_of(listed, received, inner.rank(), inner.size());
    } catch (const MpiError& failed) { error = failed.code; } catch (const std::bad_alloc&) {
        error = MPI_ERR_NO_MEM;
    }
    return {};
}

/// Memory for such exchanges, kept with the ranks. Collective over them the first time; nullptr, on
/// all of them, where one has not enough.
NodePairs* pairs_of(InnerCommunicator& inner) {
    if (!inner.kept_for_graphs) {
        std::shared_ptr<NodePairs> made;
        try {
            made = std::make_shared<NodePairs>(inner);
        } catch (const std::bad_alloc&) { log(LogLevel::info, "no memory for edges of graphs"); }
        const int mine = made != nullptr ? 1 : 0;
        int all = 0;
        MPI_CALL(Allreduce, &mine, &all, 1, MPI_INT, MPI_MIN, inner.comm());
        inner.kept_for_graphs = all != 0 ? made : nullptr;
    }
    return static_cast<NodePairs*>(inner.kept_for_graphs->get());
}

/// Why MPI is to do it; none: this rank's arguments are such that it does not say so alone, or
/// `code` is an error that has been raised. Throws MpiError.
Reason look_alone(const GraphArguments& graph, Communicator& communicator, int& code) {
    const World& world = library->world;
    const Reason obstacle = communicator.look(graph.comm, world);
    if (obstacle != Reason::none) { return obstacle; }
    // Private communicators are not shared by those of the same ranks then: one would be made for
    // this call alone.
    if (world.threads_at_once && !communicator.has_inner()) { return Reason::no_resources; }
    const Arguments arguments = look_at(graph, communicator.size());
    if (arguments == Arguments::with_wrong_ranks && !is_open_mpi()) {
        // MPICH would wait for the others, who do not come, before it finds that and ends the job.
        code = MPI_ERR_RANK;
        mpi.Comm_call_errhandler(graph.comm, code);
        return Reason::none;
    }
    return arguments == Arguments::right ? Reason::none : Reason::invalid_arguments;
}

/// What the settings and the call itself say.
Reason look_at_choice(const GraphArguments& graph) {
    const World& world = library->world;
    if (world.options.choice(Operation::dist_graph_create).kind == Choice::Kind::native) {
        return Reason::chosen;
    }
    if (world.leaves_to_mpi(Operation::dist_graph_create)) { return Reason::native_is_faster; }
    return graph.may_reorder ? Reason::may_be_renumbered : Reason::none;
}

/// The same of all ranks. Collective.
Reason prepare(const GraphArguments& graph, Communicator& communicator, NodePairs*& pairs) {
    communicator.prepare(graph.comm, library->world);
    const Reason obstacle = communicator.obstacle(Operation::dist_graph_create);
    if (obstacle != Reason::none) { return obstacle; }
    InnerCommunicator& inner = communicator.inner();
    const bool is_automatic =
        library->world.options.choice(Operation::dist_graph_create).kind == Choice::Kind::automatic;
    if (is_automatic && !sparse::node_pairs_pay(inner.topology(), inner.parameters().costs)) {
        return Reason::native_is_faster;
    }
    pairs = pairs_of(inner);
    return pairs == nullptr ? Reason::no_resources : Reason::none;
}

/// Weights of nothing must not be mistaken for missing ones.
const int* weights_of(const Ends& ends, bool are_weighted) {
    if (!are_weighted) { return MPI_UNWEIGHTED; }
    return ends.weights.empty() ? MPI_WEIGHTS_EMPTY : ends.weights.data();
}

/// By MPI, which calls the error handler. Open MPI 5 copies attributes of the application from what
/// the graph is made of, and does not in MPI_Dist_graph_create: there it is made of the library's
/// own communicator, which has none. Throws MpiError.
int make(const GraphArguments& graph, const Adjacent& adjacent, MPI_Comm inner, MPI_Comm* made) {
    const MPI_Comm parent = is_open_mpi() ? inner : graph.comm;
    const bool are_weighted = graph.weights != MPI_UNWEIGHTED;
    const Ends& sources = adjacent.sources;
    const Ends& destinations = adjacent.destinations;
    static const int no_rank = 0;
    const auto ranks_of = [](const Ends& ends) {
        return ends.ranks.empty() ? &no_rank : ends.ranks.data();
    };
    const int code = mpi.Dist_graph_create_adjacent(
        parent, sources.count(), ranks_of(sources), weights_of(sources, are_weighted),
        destinations.count(), ranks_of(destinations), weights_of(destinations, are_weighted),
        graph.info, 0, made);
    if (parent == graph.comm) { return code; }
    if (code != MPI_SUCCESS) { throw MpiError(code, "MPI_Dist_graph_create_adjacent"); }
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_CALL(Comm_get_errhandler, graph.comm, &handler);
    MPI_CALL(Comm_set_errhandler, *made, handler);
    MPI_CALL(Errhandler_free, &handler);
    return code;
}

Reason attempt(const GraphArguments& graph, MPI_Comm* made, Outcome& outcome) {
    const Reason choice = look_at_choice(graph);
    if (choice != Reason::none) { return choice; }
    Communicator* communicator = nullptr;
    try {
        communicator = &Communicator::as_it_is(graph.comm);
    } catch (const MpiError& error) { // of a handle that is none; MPI has called an error handler
        outcome.code = error.code;
        return Reason::none;
    }
    const Reason alone = look_alone(graph, *communicator, outcome.code);
    if (alone != Reason::none || outcome.code != MPI_SUCCESS) { return alone; }
    NodePairs* pairs = nullptr;
    const Reason reason = prepare(graph, *communicator, pairs);
    if (reason != Reason::none) { return reason; }
    int error = MPI_SUCCESS;
    const Adjacent adjacent = exchange(graph, *pairs, communicator->inner(), error);
    outcome.code = make(graph, adjacent, communicator->inner().comm(), made);
    if (outcome.code == MPI_SUCCESS && error != MPI_SUCCESS) { outcome = {error, true}; }
    return Reason::none;
}

} // namespace

bool create(const GraphArguments& graph, MPI_Comm* made, Outcome& outcome) {
    if (library->world.options.observes || graph.comm == MPI_COMM_NULL || made == nullptr) {
        return false;
    }
    const auto start = Clock::now();
    CallRecord record;
    record.operation = Operation::dist_graph_create;
    try {
        record.reason = attempt(graph, made, outcome);
    } catch (const std::exception& error) {
        outcome.code = raise(graph.comm, record.operation, error);
    }
    record.seconds = library->report.wants_times() ? seconds_since(start) : 0;
    library->report.count(record);
    return record.reason == Reason::none;
}

} // namespace nodeaware::graph_creation
