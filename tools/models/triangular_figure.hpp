#pragma once

#include "tools/models/curve_table.hpp"
#include "tools/triangular/distribution.hpp"
#include "tools/triangular/factor.hpp"

#include <string>

/// Triangular solves that are driven by messages, over processes.
namespace nodeaware::tuning {

inline constexpr const char* triangular_kernel = "sptrsv";

struct TriangularInput {
    triangular::LowerFactor factor;
    std::string name;           ///< of the matrix
    int processes_per_node = 0; ///< 0: the table's
    int nodes = 0;              ///< at most; 0: 16, figures have as many as [S]
    triangular::TreeKind tree = triangular::TreeKind::binary;
};

/// 5 and 7; 0 is none of [S].
bool is_triangular_figure(int figure);

/// By each layout, over 1, 2, 4, ... processes:
///  0: seconds of a solve by scheduled_solve().
/// Over GPUs of Summit, by Algorithm 2, of which the table is no part:
///  5: seconds of a solve, of 1, 2, 3, 6, 12 and 18 GPUs.
///  7: of layout P x 1 computation, communication and both.
/// Throws TableError, which names what the table lacks, and std::invalid_argument for too many
/// processes.
CurveTable triangular_curves(const ModelTable& table, int figure, const TriangularInput& input);

} // namespace nodeaware::tuning
