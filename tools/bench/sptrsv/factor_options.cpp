#include "factor_options.hpp"

namespace bench::sptrsv {

void add_factor_options(CLI::App& app, FactorOptions& options,
                        triangular::SupernodeLimits& limits) {
    auto* const problem = app.add_option_group("problem");
    problem->add_option("--matrix", options.matrix,
                        "The factor of the symmetric part of this MatrixMarket file");
    problem->add_option("--grid", options.grid,
                        "The factor of the 7-point Laplacian on a grid, such as 20x20x20");
    problem->require_option(1);
    app.add_option("--widest", limits.widest, "Columns of a supernode at most")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--relaxed", limits.relaxed,
                   "Columns of a subtree of the elimination tree that is one supernode")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
}

triangular::LowerFactor factor_of(const FactorOptions& options) {
    using namespace triangular;
    if (options.matrix.empty()) return cholesky(poisson(parse_extents(options.grid)), "--grid");
    return cholesky(read_matrix_market(options.matrix), options.matrix);
}

} // namespace bench::sptrsv
