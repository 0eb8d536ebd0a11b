#pragma once

#include "tools/models/curve_table.hpp"
#include "tuning/model_table.hpp"

#include <vector>

/// Sparse exchanges from a model table, by each of the methods that the library has.
namespace nodeaware::tuning {

inline constexpr const char* sparse_kernel = "sdde";

/// Every process sends so many messages to other nodes.
struct SparseInput {
    int nodes = 32;
    int processes_per_node = 0; ///< 0: the table's
    int messages = 0;           ///< of a process, dealt out evenly; 0: one to each other node
    int reached_nodes = 0;      ///< that it sends to; 0: as many as it can
};

/// Over sizes of messages: strategies/sparse_choice.hpp, the least time marked. Columns: the
/// messages of a process to other nodes as they are and with one for each node ("standard" and
/// "aggregated" in the paper on locality-aware sparse dynamic data exchanges), and what `auto`
/// takes. Throws TableError for what the table lacks, and std::invalid_argument for more messages
/// or nodes than there can be.
CurveTable sparse_curves(const ModelTable& table, const SparseInput& input,
                         const std::vector<double>& sizes);

} // namespace nodeaware::tuning
