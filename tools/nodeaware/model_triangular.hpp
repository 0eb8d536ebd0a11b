#pragma once

#include "tools/models/triangular_figure.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace nodeaware::tool {

/// What `nodeaware model --kernel sptrsv` takes.
struct TriangularArguments {
    std::string matrix; ///< a file
    std::string grid;   ///< XxYxZ
    triangular::TreeKind tree = triangular::TreeKind::binary;
    int processes_per_node = 0; ///< 0: the table's
    int nodes = 0;              ///< 0: not given
};

void add_triangular_options(CLI::App& command, TriangularArguments& arguments);

/// Throws std::invalid_argument where an option is given that has no meaning for the kernel or the
/// figure, or one is missing.
void check_triangular_options(const CLI::App& command, const std::string& kernel, int figure);

/// Throws as tuning::triangular_curves(), and for a file that cannot be read or has no such matrix.
tuning::CurveTable triangular_curves_of(const tuning::ModelTable& table, int figure,
                                        const TriangularArguments& arguments);

} // namespace nodeaware::tool
