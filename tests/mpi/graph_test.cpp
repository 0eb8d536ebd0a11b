// graph_test GRAPHS SEED [mpi]    (mpi: all is left to MPI)
//
// Random distributed graphs, made by MPI_Dist_graph_create and, some of them, by MPI itself:
// neighbours with their weights, what the communicators are, error handlers, and errors. Open MPI
// itself makes one graph of a communicator here: where it makes many, it hangs now and then.

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nodeaware::test {

namespace {

struct Edge {
    int lister;
    int source;
    int destination;
    int weight;
};

/// What a rank passes.
struct Listed {
    std::vector<int> sources;
    std::vector<int> degrees;
    std::vector<int> destinations;
    std::vector<int> weights;
};

/// Weights, and what is passed where there are none to pass.
enum class Weights { given, missing, empty };

struct Graph {
    Weights weights = Weights::given;
    std::vector<Edge> edges;
};

/// Small ones, such as matrices have, and some in which a rank lists, or has, very many edges.
Graph draw_graph(Random& random, int ranks) {
    Graph graph;
    graph.weights = static_cast<Weights>(draw(random, 0, 2));
    const int kind = draw(random, 0, 5);
    const int hot = draw(random, 0, ranks - 1);
    const bool is_large = kind == 3 && draw(random, 0, 3) == 0;
    const auto anyone = [&] { return draw(random, 0, ranks - 1); };
    for (int lister = 0; lister < ranks; ++lister) {
        int edges = draw(random, 0, 4);
        if (kind == 0) { edges = 0; }
        if (kind == 1 && lister != hot) { edges = 0; }
        if (is_large && lister == hot) { edges = 5000; }
        for (int i = 0; i < edges; ++i) {
            const int source = kind == 2 ? lister : anyone();
            const int weight = draw(random, 0, 3) == 0 ? draw(random, 0, 1 << 30) : i;
            graph.edges.push_back({lister, source, kind == 4 ? hot : anyone(), weight});
        }
    }
    // Without edges that would be weights of nothing, which MPI takes; else it is not what it says.
    if (graph.weights == Weights::empty && !graph.edges.empty()) { graph.weights = Weights::given; }
    return graph;
}

/// Nodes one after the other, some of them twice or without edges.
Listed list_edges(const Graph& graph, int rank, Random& random) {
    Listed listed;
    for (const Edge& edge : graph.edges) {
        if (edge.lister != rank) { continue; }
        const bool goes_on = !listed.sources.empty() && listed.sources.back() == edge.source;
        if (!goes_on || draw(random, 0, 3) == 0) {
            if (draw(random, 0, 7) == 0) {
                listed.sources.push_back(edge.destination);
                listed.degrees.push_back(0);
            }
            listed.sources.push_back(edge.source);
            listed.degrees.push_back(0);
        }
        ++listed.degrees.back();
        listed.destinations.push_back(edge.destination);
        listed.weights.push_back(edge.weight);
    }
    return listed;
}

using Create = decltype(&MPI_Dist_graph_create);

MPI_Comm make_graph(Create create, MPI_Comm comm, const Listed& listed, Weights weights) {
    MPI_Comm made = MPI_COMM_NULL;
    const int* passed = listed.weights.data(); // nullptr where there are none
    if (weights == Weights::missing) { passed = MPI_UNWEIGHTED; }
    if (weights == Weights::empty) { passed = MPI_WEIGHTS_EMPTY; }
    create(comm, static_cast<int>(listed.sources.size()), listed.sources.data(),
           listed.degrees.data(), listed.destinations.data(), passed, MPI_INFO_NULL, 0, &made);
    return made;
}

using Ends = std::vector<std::pair<int, int>>; ///< ranks and weights

struct Neighbors {
    int is_weighted = 0;
    Ends sources;
    Ends destinations;
    bool operator==(const Neighbors&) const = default;
};

Ends sorted(const std::vector<int>& ranks, const std::vector<int>& weights) {
    Ends ends;
    for (size_t i = 0; i < ranks.size(); ++i) { ends.emplace_back(ranks[i], weights[i]); }
    std::sort(ends.begin(), ends.end());
    return ends;
}

Neighbors neighbors_of(MPI_Comm graph) {
    Neighbors neighbors;
    int in = 0;
    int out = 0;
    PMPI_Dist_graph_neighbors_count(graph, &in, &out, &neighbors.is_weighted);
    std::vector<int> sources(static_cast<size_t>(in));
    std::vector<int> source_weights(sources.size());
    std::vector<int> destinations(static_cast<size_t>(out));
    std::vector<int> destination_weights(destinations.size());
    const bool is_weighted = neighbors.is_weighted != 0;
    PMPI_Dist_graph_neighbors(
        graph, in, sources.data(), is_weighted ? source_weights.data() : MPI_UNWEIGHTED, out,
        destinations.data(), is_weighted ? destination_weights.data() : MPI_UNWEIGHTED);
    neighbors.sources = sorted(sources, source_weights);
    neighbors.destinations = sorted(destinations, destination_weights);
    return neighbors;
}

/// As the standard has it.
Neighbors wanted_of(const Graph& graph, int rank) {
    Neighbors wanted;
    wanted.is_weighted = graph.weights == Weights::missing ? 0 : 1;
    for (const Edge& edge : graph.edges) {
        const int weight = wanted.is_weighted != 0 ? edge.weight : 0;
        if (edge.destination == rank) { wanted.sources.emplace_back(edge.source, weight); }
        if (edge.source == rank) { wanted.destinations.emplace_back(edge.destination, weight); }
    }
    std::sort(wanted.sources.begin(), wanted.sources.end());
    std::sort(wanted.destinations.begin(), wanted.destinations.end());
    return wanted;
}

std::string name_of(MPI_Comm comm) {
    std::array<char, MPI_MAX_OBJECT_NAME + 1> text{};
    int length = 0;
    PMPI_Comm_get_name(comm, text.data(), &length);
    const std::string name(text.data(), static_cast<size_t>(length));
    return name.rfind("MPI COMMUNICATOR", 0) == 0 ? "" : name; // Open MPI numbers them
}

int handled = 0;
MPI_Comm handled_on = MPI_COMM_NULL;
void note(MPI_Comm* comm, int* /*code*/, ...) {
    ++handled;
    handled_on = *comm;
}

MPI_Comm dup_with_handler(MPI_Comm comm) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &made);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(made, handler);
    MPI_Errhandler_free(&handler);
    return made;
}

int copied = 0;
int copy(MPI_Comm /*comm*/, int /*key*/, void* /*extra*/, void* /*value*/, void* /*copy*/,
         int* flag) {
    ++copied;
    *flag = 0;
    return MPI_SUCCESS;
}

/// Arguments to be spoilt: an edge to the next rank.
struct Arguments {
    explicit Arguments(MPI_Comm on) : comm(on) {
        PMPI_Comm_rank(on, &source);
        PMPI_Comm_size(on, &ranks);
        destination = (source + 1) % ranks;
    }
    int call(Create create) {
        return create(comm, nodes, has_sources ? &source : nullptr, has_degrees ? &degree : nullptr,
                      has_destinations ? &destination : nullptr, has_weights ? &weight : nullptr,
                      MPI_INFO_NULL, 0, has_result ? &made : nullptr);
    }

    MPI_Comm comm;
    int ranks = 0;
    int nodes = 1;
    int source = 0;
    int degree = 1;
    int destination = 0;
    int weight = 7;
    bool has_sources = true;
    bool has_degrees = true;
    bool has_destinations = true;
    bool has_weights = true;
    bool has_result = true;
    MPI_Comm made = MPI_COMM_NULL;
};

using Spoil = std::function<void(Arguments&)>;

class Test {
  public:
    Test(Harness& harness, bool by_library) : harness_(harness), by_library_(by_library) {}

    void graph(MPI_Comm comm, Random& random, bool compares, const std::string& which) {
        int rank = 0;
        int ranks = 0;
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &ranks);
        const Graph graph = draw_graph(random, ranks);
        Random own(random());
        const Listed listed = list_edges(graph, rank, own);
        MPI_Comm mine = make_graph(MPI_Dist_graph_create, comm, listed, graph.weights);
        const Neighbors neighbors = neighbors_of(mine);
        harness_.expect(neighbors == wanted_of(graph, rank), which + ": other neighbours");
        int topology = 0;
        int compared = 0;
        PMPI_Topo_test(mine, &topology);
        PMPI_Comm_compare(mine, comm, &compared);
        harness_.expect(topology == MPI_DIST_GRAPH, which + ": no graph");
        harness_.expect(compared == MPI_CONGRUENT, which + ": other ranks");
        exchange(mine, neighbors, rank, which);
        MPI_Comm_free(&mine);
        if (!compares) { return; }
        MPI_Comm parent = MPI_COMM_NULL;
        MPI_Comm_dup(comm, &parent);
        MPI_Comm of_mpi = make_graph(PMPI_Dist_graph_create, parent, listed, graph.weights);
        harness_.expect(neighbors_of(of_mpi) == neighbors, which + ": MPI has other neighbours");
        MPI_Comm_free(&of_mpi);
        MPI_Comm_free(&parent);
    }

    /// Its own handler, the one of the parent, and none of its attributes.
    void inherited(MPI_Comm comm);
    void errors(MPI_Comm comm);
    /// What the library leaves alone.
    void left_alone(MPI_Comm of_all);

  private:
    /// `ends_job`: if MPI is called, which is not.
    void error(MPI_Comm comm, const std::string& name, const Spoil& spoil, bool ends_job);
    /// Both ends of each edge have the same order of those between them.
    void exchange(MPI_Comm graph, const Neighbors& neighbors, int rank, const std::string& which) {
        const std::vector<int> sent(neighbors.destinations.size() + 1, rank);
        std::vector<int> received(neighbors.sources.size() + 1, -1);
        MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, graph);
        received.pop_back();
        std::sort(received.begin(), received.end());
        std::vector<int> sources;
        for (const auto& [source, weight] : neighbors.sources) { sources.push_back(source); }
        harness_.expect(received == sources, which + ": an exchange with neighbours");
    }

    Harness& harness_;
    bool by_library_;
};

void Test::inherited(MPI_Comm comm) {
    MPI_Comm parent = dup_with_handler(comm);
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    MPI_Comm_set_attr(parent, key, nullptr);
    MPI_Comm_set_name(parent, "parent");
    const auto look_at = [&](Create create) {
        MPI_Comm graph = make_graph(create, parent, Listed(), Weights::missing);
        handled = 0;
        int value = 0;
        MPI_Send(&value, -1, MPI_INT, 0, 0, graph);
        const bool is_on_graph = handled_on == graph;
        void* found = nullptr;
        int is_there = 0;
        PMPI_Comm_get_attr(graph, key, &found, &is_there);
        const std::string name = name_of(graph);
        MPI_Comm_free(&graph);
        return std::to_string(handled) + (is_on_graph ? " on it" : "") +
               (is_there != 0 ? ", attribute" : "") + ", " + name;
    };
    const std::string of_mpi = look_at(PMPI_Dist_graph_create);
    const int copied_by_mpi = copied;
    const std::string mine = look_at(MPI_Dist_graph_create);
    harness_.expect(mine == of_mpi, "inherited: " + mine + ", by MPI: " + of_mpi);
    harness_.expect(copied == 2 * copied_by_mpi, "attributes are copied");
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&parent);
}

std::string outcome(Create create, MPI_Comm comm, const Spoil& spoil) {
    Arguments arguments(comm);
    spoil(arguments);
    handled = 0;
    const int code = arguments.call(create);
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(code, &error_class);
    return "class " + std::to_string(error_class) + ", handled " + std::to_string(handled);
}

void Test::error(MPI_Comm comm, const std::string& name, const Spoil& spoil, bool ends_job) {
    const std::string wanted = ends_job ? "class " + std::to_string(MPI_ERR_RANK) + ", handled 1"
                                        : outcome(PMPI_Dist_graph_create, comm, spoil);
    const std::string mine = outcome(MPI_Dist_graph_create, comm, spoil);
    harness_.expect(mine == wanted, name + ": " + mine + ", should be " + wanted);
    harness_.expect(mine.find("handled 1") != std::string::npos, name + ": no error");
    // One rank alone errs, and then calls as the others do.
    if (harness_.rank() == 1) { outcome(MPI_Dist_graph_create, comm, spoil); }
    Arguments right(comm);
    harness_.expect(right.call(MPI_Dist_graph_create) == MPI_SUCCESS, name + ": and then");
    const int last = (right.source + right.ranks - 1) % right.ranks;
    const Neighbors neighbors{1, {{last, 7}}, {{right.destination, 7}}};
    harness_.expect(neighbors_of(right.made) == neighbors, name + ": and then, neighbours");
    MPI_Comm_free(&right.made);
}

void Test::errors(MPI_Comm comm) {
    std::vector<std::pair<std::string, Spoil>> cases = {
        {"n < 0", [](Arguments& a) { a.nodes = -1; }},
        {"no sources", [](Arguments& a) { a.has_sources = false; }},
        {"no degrees", [](Arguments& a) { a.has_degrees = false; }},
        {"no destinations", [](Arguments& a) { a.has_destinations = false; }},
        {"no weights", [](Arguments& a) { a.has_weights = false; }},
        {"no result", [](Arguments& a) { a.has_result = false; }},
    };
    const size_t refused_by_both = cases.size();
    if (is_open_mpi()) { // MPICH takes these
        cases.insert(cases.end(), {{"negative degree", [](Arguments& a) { a.degree = -1; }},
                                   {"a negative weight", [](Arguments& a) { a.weight = -1; }}});
    }
    if (is_open_mpi() || by_library_) { // and ends the job for these
        cases.insert(cases.end(),
                     {{"a source that is none", [](Arguments& a) { a.source = a.ranks; }},
                      {"a negative destination", [](Arguments& a) { a.destination = -7; }}});
    }
    for (size_t i = 0; i < cases.size(); ++i) {
        MPI_Comm parent = dup_with_handler(comm);
        error(parent, cases[i].first, cases[i].second, !is_open_mpi() && i >= refused_by_both);
        MPI_Comm_free(&parent);
    }
}

void Test::left_alone(MPI_Comm of_all) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(of_all, &comm);
    Arguments arguments(comm);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Dist_graph_create(comm, 1, &arguments.source, &arguments.degree, &arguments.destination,
                          &arguments.weight, MPI_INFO_NULL, 1, &made);
    int topology = 0;
    PMPI_Topo_test(made, &topology);
    harness_.expect(topology == MPI_DIST_GRAPH, "a graph that may be renumbered");
    MPI_Comm_free(&made);
    const Weights none = Weights::missing;
    MPI_Comm alone = make_graph(MPI_Dist_graph_create, MPI_COMM_SELF, Listed(), none);
    harness_.expect(neighbors_of(alone) == Neighbors(), "a graph of one rank");
    MPI_Comm_free(&alone);
    MPI_Comm_free(&comm);
}

int run(int argc, char** argv) {
    Harness harness(&argc, &argv);
    harness.expect(argc >= 3, "usage: graph_test GRAPHS SEED [mpi]");
    if (argc < 3) { return harness.finish(); }
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -harness.rank(), &reversed);
    Test test(harness, argc == 3);
    const int graphs = std::atoi(argv[1]);
    const auto first = static_cast<uint64_t>(std::atoll(argv[2]));
    for (int i = 0; i < graphs && harness.failures() == 0; ++i) {
        const uint64_t seed = first + static_cast<uint64_t>(i);
        Random random(seed);
        const std::string which = "seed " + std::to_string(seed);
        if (i % 4 != 3) {
            test.graph(i % 4 == 1 ? reversed : MPI_COMM_WORLD, random, i % 8 == 0, which);
            continue;
        }
        MPI_Comm part = MPI_COMM_NULL; // has had no exchange, and some are on one node
        MPI_Comm_split(MPI_COMM_WORLD, harness.rank() % 3 == 0 ? 1 : 0, 0, &part);
        test.graph(part, random, i % 8 == 0, which);
        MPI_Comm_free(&part);
    }
    test.inherited(reversed);
    test.errors(reversed);
    test.left_alone(MPI_COMM_WORLD);
    MPI_Comm_free(&reversed);
    return harness.finish();
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) { return nodeaware::test::run(argc, argv); }
