// Threads of the host stand for blocks: to look at the algorithm where there is no device.
#include "algorithm.hpp"
#include "machine_of.hpp"
#include "solver.hpp"
#include "tools/triangular/indices.hpp"

#include <functional>
#include <numeric>

namespace bench::sptrsv_gpu {
namespace {

using triangular::at;

// A block of one thread.
class Alone {
  public:
    explicit Alone(int widest) : scratch_(at(scratch_size(widest))) {}

    int thread() const { return 0; }
    int threads() const { return 1; }
    void barrier() {}
    double* scratch() { return scratch_.data(); }
    Notes& notes() { return notes_; }

  private:
    std::vector<double> scratch_;
    Notes notes_{};
};

class HostMemory {
  public:
    template <class T> const T* constant(const std::vector<T>& values) { return values.data(); }

    template <class T> T* variable(const std::vector<T>& values) {
        const auto array = std::make_shared<std::vector<T>>(values);
        begin_.emplace_back([array, values] { *array = values; });
        return array->data();
    }

    void begin() const {
        for (const auto& fill : begin_) fill();
    }

  private:
    std::vector<std::function<void()>> begin_;
};

class HostSolver : public Solver {
  public:
    HostSolver(const Plan& plan, const SolverSettings& settings)
        : machine_(machine_of(plan, settings, memory_)), rows_(plan.right_side.size()),
          blocks_(settings.blocks > 0 ? settings.blocks : usual_blocks) {}

    Outcome solve() override {
        memory_.begin();
        const std::uint64_t start = nanoseconds();
        std::vector<std::thread> threads;
        for (int gpu = 0; gpu < machine_.gpus; ++gpu) {
            for (int block = 0; block < wait_blocks; ++block) {
                threads.emplace_back([this, gpu, block] {
                    Alone team(0);
                    wait_block(team, machine_, gpu, block);
                });
            }
            for (int block = 0; block < blocks_; ++block) {
                threads.emplace_back([this, gpu] {
                    Alone team(machine_.widest);
                    solve_block(team, machine_, gpu);
                });
            }
        }
        for (std::thread& thread : threads) thread.join();
        Outcome outcome;
        outcome.us = static_cast<double>(nanoseconds() - start) * 1e-3;
        outcome.failure = *machine_.failure;
        outcome.puts =
            std::accumulate(machine_.puts, machine_.puts + machine_.gpus, std::int64_t{0});
        outcome.solution.assign(machine_.solution, machine_.solution + rows_);
        return outcome;
    }

    int blocks() const override { return blocks_; }

  private:
    static constexpr int usual_blocks = 2;

    HostMemory memory_;
    Machine machine_;
    std::size_t rows_;
    int blocks_;
};

} // namespace

std::unique_ptr<Solver> solver_on_host(const Plan& plan, const SolverSettings& settings) {
    return std::make_unique<HostSolver>(plan, settings);
}

} // namespace bench::sptrsv_gpu
