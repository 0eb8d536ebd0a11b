#pragma once

#include "tools/models/allreduce_rounds.hpp"
#include "tools/models/curve_table.hpp"
#include "tools/models/run_data.hpp"
#include "tuning/krylov_models.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The models of [K] (see postal.hpp) from a model table: allreduce, halo exchange, solvers.
/// Seconds, bytes.
namespace nodeaware::tuning {

/// Where the nodes of a job lie in a network.
struct NodeDistances {
    std::function<double(int from, int to)> hops;           ///< between two nodes
    std::function<std::vector<TorusSpan>(int nodes)> spans; ///< of the first of them
};

struct KrylovInput {
    int processes_per_node = 0; ///< 0: the table's
    int nodes = 1024;           ///< of figures over sizes; of the others the most
    RunData run{};
    /// What allreduces of blocking and of nonblocking solvers wait for the last process.
    double blocking_wait = 0;
    double nonblocking_wait = 0;
    NodeDistances distances{}; ///< empty: not known
    /// Of all allreduces. Empty: what the MPI of the table does, blocking and nonblocking.
    std::optional<AllreduceAlgorithm> algorithm{};
};

/// "cg", "sapcg", "nbpcg", "pipecg", "pipe2cg".
bool is_solver(std::string_view kernel);
/// These, "allreduce" and "halo".
bool is_krylov_kernel(std::string_view kernel);
inline constexpr int last_krylov_figure = 12;

/// Whether [K] has such a figure of the kernel; 0 (curves over nodes) all have.
bool is_krylov_figure(int figure, std::string_view kernel);
/// "8, 9, 11"; "none".
std::string krylov_figures_of(std::string_view kernel);
/// Whether it has nodes on its axis, so that there are no sizes of messages.
bool is_over_nodes(int krylov_figure);

/// The kernel over 1, 2, 4, ... nodes (figure 0):
///  allreduce: of run.bytes, postal and with penalties.
///  halo: 6 faces and, of 27 points, 12 edges and 8 corners of a cube of run.rows points (8 bytes
///     each), of the process that sends most to other nodes or of the node that does, in a grid of
///     processes that is placed in the order of ranks and in boxes; the columns have the mean
///     numbers of messages of a process.
///  solvers: an iteration and run.iterations of them, postal, with penalties and with what
///     allreduces wait for the last process (5.8).
/// The figures, of run data as there:
///  6: halo exchange of six messages of a size, postal, of the average and the worst process.
///  7: with the max-rate penalty.
///  8: allreduce with the hops of the best, the average and the worst case.
///  9: halo exchange with max-rate, congestion and hops; allreduce, of which one process of a node
///     sends, with congestion and hops.
/// 10: solver, all iterations, over nodes.
/// 11: blocking and nonblocking allreduce, which hides penalties behind run.overlap.
/// 12: blocking halo exchange, also pipelined, and nonblocking.
/// Hops of messages are run.hops, else they come from `distances` (of an allreduce the average
/// case), else there are none. Throws TableError, which names what the table lacks, and
/// std::invalid_argument for what the input lacks or has too much of.
CurveTable krylov_curves(const ModelTable& table, const std::string& kernel, int figure,
                         const KrylovInput& input, const std::vector<double>& sizes);

} // namespace nodeaware::tuning
