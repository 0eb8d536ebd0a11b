#pragma once

#include "tools/models/halo_counts.hpp"
#include "tools/models/krylov_figures.hpp"

#include <string_view>

/// One point of a curve of krylov_figures.hpp.
namespace nodeaware::tuning {

/// Which penalties count.
struct Counted {
    bool max_rate = false;
    bool congestion = false;
    bool hops = false;
};
inline constexpr Counted all_penalties{true, true, true};

/// Bytes of a face, an edge and a corner.
using HaloBytes = std::array<double, halo_kinds>;

/// The kernels with what the table and the run say. Keeps references to both.
class KrylovKernels {
  public:
    /// Throws TableError where the table lacks the number of processes, or what the penalties of
    /// the input need.
    KrylovKernels(const ModelTable& table, const KrylovInput& input);

    int processes_per_node() const { return processes_per_node_; }
    bool has_hops() const;
    bool has_congestion() const { return input_.run.stalls > 0; }

    AllreduceHops hops_of_allreduce(int nodes) const;
    /// What a kernel calls: MPI_Allreduce or MPI_Iallreduce.
    enum class Call { blocking, nonblocking };
    /// `hops` of each message; elements of 8 bytes. Throws std::invalid_argument for too many
    /// processes.
    KernelCost allreduce(int nodes, double bytes, Counted counted, double hops,
                         Call call = Call::blocking) const;

    /// Throws std::invalid_argument for too many processes.
    HaloCounts count(int nodes, HaloPlacement how) const;
    enum class Process { average, worst };
    KernelCost halo(const HaloCounts& counts, Process process, const HaloBytes& bytes,
                    Counted counted, bool pipelined) const;
    /// What one process sends of a cube of run.rows points; 0: nothing.
    HaloBytes bytes_of_cube() const;

    /// What is added up to get the time of a solver on so many nodes.
    enum class Stage { postal, penalties, synchronization };
    SolverParts parts(std::string_view solver, int nodes, const HaloCounts& counts,
                      Stage stage) const;

  private:
    AllreduceAlgorithm algorithm_of(Call call, int nodes, double bytes) const;
    void check_ranks(int nodes) const;
    Penalties penalties(double cores, Counted counted, double hops) const;
    /// Occupancy of all messages that each node sends in a halo exchange.
    std::vector<double> links(const HaloCounts& counts, const HaloBytes& bytes) const;
    /// An allreduce during a halo exchange: of its time that is postal cost, which nothing hides,
    /// by which its messages and those of the halo exchange keep the link of a node together longer
    /// than those of the halo exchange do alone.
    KernelCost beside_halo(const KernelCost& allreduce, const HaloCounts& counts, int nodes,
                           double bytes) const;
    /// `measured`, else so many operations for each row.
    double computation(const std::optional<double>& measured, double operations) const;

    const ModelTable& table_;
    const KrylovInput& input_;
    int processes_per_node_ = 0;
};

/// Seconds of `iterations`, by the name of the solver.
double solver_seconds(std::string_view solver, const SolverParts& parts, double iterations);

} // namespace nodeaware::tuning
