// Which triangular factor a benchmark solves with, and its supernodes, as its command line says.
#pragma once

#include "tools/triangular/factor.hpp"
#include "tools/triangular/supernodes.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace bench::sptrsv {

struct FactorOptions {
    std::string matrix; // a MatrixMarket file; empty: the Laplacian on `grid`
    std::string grid;
};

void add_factor_options(CLI::App& app, FactorOptions& options, triangular::SupernodeLimits& limits);

// Throws InputError or std::invalid_argument.
triangular::LowerFactor factor_of(const FactorOptions& options);

} // namespace bench::sptrsv
