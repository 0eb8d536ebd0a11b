#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nodeaware::tuning {

/// What [K] (see postal.hpp) reads from saved runs: the problem, and what the run met with.
struct RunData {
    double bytes = 8;        ///< of an allreduce
    double rows = 4096;      ///< of the matrix, in each process
    double points = 27;      ///< of a halo exchange: 7, faces; 27, edges and corners, too
    double iterations = 100; ///< of a solver
    /// Seconds of one process in an iteration: vector operations, an application of the
    /// preconditioner, a product without its halo exchange. Empty: their operations by T_flop,
    /// as if each were at the peak of a core.
    std::optional<double> vectors;
    std::optional<double> preconditioner;
    std::optional<double> product;
    std::optional<double> sync; ///< seconds that each allreduce waits for the last process
    double stalls = 0;          ///< per byte
    std::optional<double> hops; ///< of each message between nodes; empty: not known
    double overlap = 1e-3;      ///< seconds of computation that nonblocking kernels overlap
};

/// "rows=4096,iterations=100", and the other members of RunData. Throws std::invalid_argument,
/// which names the bad part and the keys.
RunData parse_run_data(std::string_view text);

/// Computation times of a run in a file, as synchronization_penalty() takes them: a line for each
/// iteration, with the seconds of each process between blanks. Throws FileError, and
/// std::runtime_error, which names file and line.
std::vector<std::vector<double>> read_computation_times(const std::string& path);

} // namespace nodeaware::tuning
