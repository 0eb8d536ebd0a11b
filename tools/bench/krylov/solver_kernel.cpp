#include "solver_kernel.hpp"

#include "block.hpp"
#include "halo_exchange.hpp"
#include "mpi_reductions.hpp"
#include "timing.hpp"
#include "tools/bench/value_hash.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace bench::krylov {
namespace {

constexpr double tolerance = 1e-8;
constexpr int most_iterations = 500;

// The product's halo exchange overlaps with the cells that need none.
class DistributedPoisson : public Operator {
  public:
    DistributedPoisson(const Settings& settings, MpiReductions& reductions, MPI_Comm comm)
        : block_(settings.cells),
          halo_(comm, settings.grid, halo_messages(settings.cells, 3, true)) {
        block_.set_progress([&reductions] { reductions.progress(); });
    }

    std::size_t size() const override { return block_.size(); }

    void multiply(const Vector& x, Vector& y) override {
        block_.load(x);
        for (HaloExchange::Part& part : halo_.parts()) block_.pack(part.direction, part.sent);
        halo_.begin();
        block_.multiply_interior(y);
        halo_.finish();
        for (const HaloExchange::Part& part : halo_.parts())
            block_.unpack(part.direction, part.received);
        block_.multiply_shell(y);
    }

    void precondition(const Vector& r, Vector& z) override { block_.precondition(r, z); }

  private:
    PoissonBlock block_;
    HaloExchange halo_;
};

// The right-hand side of a place has one value, however many ranks share the grid.
Vector right_hand_side(const Settings& settings, MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    const std::array<int, 3> place = place_on_grid(rank, settings.grid);
    const int n = settings.cells;
    Vector b;
    b.reserve(static_cast<std::size_t>(n) * static_cast<std::size_t>(n * n));
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < n; ++k) {
                const std::int64_t x = std::int64_t{place[0]} * n + i;
                const std::int64_t y = std::int64_t{place[1]} * n + j;
                const std::int64_t z = std::int64_t{place[2]} * n + k;
                b.push_back(static_cast<double>((73 * x + 179 * y + 283 * z) % 97 + 1) / 97);
            }
        }
    }
    return b;
}

std::uint64_t hash_of(const Vector& x, MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    std::uint64_t hash = value_hash(x, static_cast<std::uint64_t>(rank));
    check(MPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_BXOR, comm), "MPI_Allreduce");
    return hash;
}

} // namespace

Result measure_solver(const std::string& name, const Settings& settings, MPI_Comm comm) {
    MpiReductions reductions(comm);
    DistributedPoisson matrix(settings, reductions, comm);
    const Vector b = right_hand_side(settings, comm);
    const std::unique_ptr<Solver> solver = make_solver(name, matrix, reductions);
    const Limits limits{tolerance, settings.iterations > 0 ? settings.iterations : most_iterations};
    Result result;
    Solution solution;
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        check(MPI_Barrier(comm), "MPI_Barrier");
        solution = solve(*solver, reductions, b, limits, now);
        const double time = slowest(solution.seconds, comm) * 1e6;
        if (repeat >= 0) result.times.push_back(time / std::max(solution.iterations, 1));
    }
    const double iterations = std::max(solution.iterations, 1);
    result.iterations = solution.iterations;
    result.allreduces = static_cast<double>(solution.calls.blocking) / iterations;
    result.iallreduces = static_cast<double>(solution.calls.nonblocking) / iterations;
    SolverFigures& solved = result.solved.emplace();
    solved.residual = relative_residual(matrix, reductions, b, solver->solution());
    solved.is_converged = solution.is_converged && solved.residual <= tolerance;
    solved.solution = hash_of(solver->solution(), comm);
    result.is_wrong =
        std::isnan(solved.residual) || (solution.is_converged && !solved.is_converged);
    return result;
}

} // namespace bench::krylov
