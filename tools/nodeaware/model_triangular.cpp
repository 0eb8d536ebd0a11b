#include "tools/nodeaware/model_triangular.hpp"

#include "tools/bench/matrix_market.hpp"
#include "tools/nodeaware/numbers.hpp"

#include <stdexcept>

namespace nodeaware::tool {

namespace {

using triangular::TreeKind;
using tuning::triangular_kernel;

} // namespace

void add_triangular_options(CLI::App& command, TriangularArguments& arguments) {
    CLI::Option* const kernel = command.get_option("--kernel");
    CLI::Option* const matrix =
        command
            .add_option("--matrix", arguments.matrix,
                        "Of --kernel sptrsv: the factor of the symmetric part of this MatrixMarket "
                        "file is solved")
            ->check(not_empty())
            ->needs(kernel);
    command
        .add_option("--grid", arguments.grid,
                    "Of --kernel sptrsv: the factor of the 7-point Laplacian on a grid, such as "
                    "20x20x20, is solved")
        ->check(not_empty())
        ->needs(kernel)
        ->excludes(matrix);
    add_choice<TreeKind>(
        command, "--tree", arguments.tree,
        "Of --kernel sptrsv, how parts of x and of sums go between processes: flat, "
        "binary (default), or node, one message to each node and trees in nodes",
        {{"flat", TreeKind::flat}, {"binary", TreeKind::binary}, {"node", TreeKind::node}})
        ->needs(kernel);
}

void check_triangular_options(const CLI::App& command, const std::string& kernel, int figure) {
    const std::string found = "--kernel " + kernel;
    const auto refuse = [&](const char* option, const std::string& expected) {
        if (command.count(option) == 0) { return; }
        throw std::invalid_argument(std::string(option) + ": expected " + expected + ", found " +
                                    found +
                                    (figure > 0 ? " --figure " + std::to_string(figure) : ""));
    };
    if (kernel != triangular_kernel) {
        for (const char* option : {"--matrix", "--grid", "--tree"}) {
            refuse(option, "--kernel sptrsv");
        }
        return;
    }
    refuse("--sizes", "a kernel of messages of a size");
    if (figure > 0) {
        for (const char* option : {"--tree", "--nodes", "--ppn"}) { refuse(option, "no --figure"); }
    }
    if (command.count("--matrix") + command.count("--grid") == 0) {
        throw CLI::RequiredError("--matrix or --grid");
    }
}

tuning::CurveTable triangular_curves_of(const tuning::ModelTable& table, int figure,
                                        const TriangularArguments& arguments) {
    using namespace triangular;
    tuning::TriangularInput input;
    input.processes_per_node = arguments.processes_per_node;
    input.nodes = arguments.nodes;
    input.tree = arguments.tree;
    if (!arguments.matrix.empty()) {
        input.name = arguments.matrix.substr(arguments.matrix.rfind('/') + 1);
        input.factor = cholesky(bench::read_matrix_market(arguments.matrix), arguments.matrix);
    } else {
        input.name = "the Laplacian on " + arguments.grid;
        input.factor = cholesky(poisson(parse_extents(arguments.grid)), "--grid");
    }
    return tuning::triangular_curves(table, figure, input);
}

} // namespace nodeaware::tool
