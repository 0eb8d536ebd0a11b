#include "kernels.hpp"

#include "halo_exchange.hpp"
#include "mpi_reductions.hpp"
#include "solver_kernel.hpp"
#include "timing.hpp"
#include "tools/bench/program.hpp"

#include <algorithm>
#include <sched.h>

namespace bench::krylov {
namespace {

constexpr int default_iterations = 20; // as many as the paper's

int iterations_of(const Settings& settings) {
    return settings.iterations > 0 ? settings.iterations : default_iterations;
}

// Stands for computation that takes `seconds`: leaves the core to other ranks, and now and then MPI
// goes on with the sum that is pending.
void compute(double seconds, MpiReductions& reductions) {
    const double end = now() + seconds;
    const double pause =
        std::max(seconds / 32, 100e-6); // sleeping takes half of that longer than asked for
    for (double time = now(); time < end; time = now()) {
        const bool is_pending = reductions.progress();
        if (end - time < pause) {
            sched_yield();
        } else {
            sleep_until(is_pending ? time + pause : end - pause);
        }
    }
}

// Sums of ones, each of which says whether it is right.
class CheckedSums {
  public:
    CheckedSums(int bytes, MPI_Comm comm)
        : reductions_(comm), values_(static_cast<std::size_t>(bytes) / sizeof(double)) {
        check(MPI_Comm_size(comm, &ranks_), "MPI_Comm_size");
    }

    void blocking(double computation) {
        refill();
        reductions_.sum(values_);
        verify();
        if (computation > 0) compute(computation, reductions_);
    }

    void nonblocking(double computation) {
        refill();
        reductions_.begin(values_);
        compute(computation, reductions_);
        reductions_.finish();
        verify();
    }

    const Reductions::Calls& calls() const { return reductions_.calls(); }
    bool is_wrong() const { return is_wrong_; }

  private:
    void refill() { std::fill(values_.begin(), values_.end(), 1.0); }
    void verify() { is_wrong_ |= values_.front() != ranks_ || values_.back() != ranks_; }

    MpiReductions reductions_;
    std::vector<double> values_;
    int ranks_ = 0;
    bool is_wrong_ = false;
};

Result measure_allreduce(const Settings& settings, MPI_Comm comm) {
    Result result;
    result.iterations = iterations_of(settings);
    CheckedSums sums(settings.bytes, comm);
    const Timing timing(result.iterations, comm);
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        const double time = timing.run([&] { sums.blocking(0); });
        if (repeat >= 0) result.times.push_back(time);
    }
    const double calls = double(result.iterations) * (settings.warmup + settings.repeats);
    result.allreduces = static_cast<double>(sums.calls().blocking) / calls;
    result.is_wrong = is_on_any_rank(sums.is_wrong(), comm);
    return result;
}

// Computation after a blocking and during a nonblocking sum, in turn.
Result measure_iallreduce(const Settings& settings, MPI_Comm comm) {
    Result result;
    result.iterations = iterations_of(settings);
    OverlapTimes& overlap = result.overlap.emplace();
    overlap.allreduce = summarize(measure_allreduce(settings, comm).times).median;
    check(MPI_Bcast(&overlap.allreduce, 1, MPI_DOUBLE, 0, comm), "MPI_Bcast");
    overlap.computation = settings.overlap * overlap.allreduce;
    const double seconds = overlap.computation * 1e-6;

    CheckedSums blocking(settings.bytes, comm);
    CheckedSums nonblocking(settings.bytes, comm);
    const Timing timing(result.iterations, comm);
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        const double blocking_time = timing.run([&] { blocking.blocking(seconds); });
        const double time = timing.run([&] { nonblocking.nonblocking(seconds); });
        if (repeat < 0) continue;
        result.times.push_back(time);
        overlap.blocking.push_back(blocking_time);
        overlap.ratios.push_back(blocking_time / time);
    }
    const double calls = double(result.iterations) * (settings.warmup + settings.repeats);
    result.iallreduces = static_cast<double>(nonblocking.calls().nonblocking) / calls;
    result.is_wrong = is_on_any_rank(blocking.is_wrong() || nonblocking.is_wrong(), comm);
    return result;
}

// Fills the first and the last value of each message with the sender's rank and the message's
// number.
bool swap_halos(HaloExchange& halo, int rank, int last) {
    for (HaloExchange::Part& part : halo.parts()) {
        part.sent.front() = rank;
        part.sent.back() = part.number;
    }
    halo.begin();
    halo.finish();
    bool is_right = true;
    for (const HaloExchange::Part& part : halo.parts()) {
        const bool single = part.received.size() == 1; // which is the number
        is_right &= single || part.received.front() == part.neighbour;
        is_right &= part.received.back() == last - part.number;
    }
    return is_right;
}

Result measure_halo(const Settings& settings, MPI_Comm comm) {
    Result result;
    result.iterations = iterations_of(settings);
    const std::vector<HaloMessage> messages =
        halo_messages(settings.cells, settings.dimensions, settings.points == 27);
    const int last = static_cast<int>(messages.size()) - 1;
    HaloExchange halo(comm, settings.grid, messages);
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    bool is_wrong = false;
    const Timing timing(result.iterations, comm);
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        const double time = timing.run([&] { is_wrong |= !swap_halos(halo, rank, last); });
        if (repeat >= 0) result.times.push_back(time);
    }
    const auto number = static_cast<int>(halo.parts().size());
    const std::int64_t bytes = halo.bytes();
    HaloSize& most = result.halo.emplace();
    check(MPI_Allreduce(&number, &most.messages, 1, MPI_INT, MPI_MAX, comm), "MPI_Allreduce");
    check(MPI_Allreduce(&bytes, &most.bytes, 1, MPI_INT64_T, MPI_MAX, comm), "MPI_Allreduce");
    result.is_wrong = is_on_any_rank(is_wrong, comm);
    return result;
}

} // namespace

std::vector<std::string> kernel_names() {
    std::vector<std::string> names{"allreduce", "iallreduce", "halo"};
    const std::vector<std::string> solvers = solver_names();
    names.insert(names.end(), solvers.begin(), solvers.end());
    return names;
}

Result measure(const std::string& kernel, const Settings& settings, MPI_Comm comm) {
    Result result = kernel == "allreduce"    ? measure_allreduce(settings, comm)
                    : kernel == "iallreduce" ? measure_iallreduce(settings, comm)
                    : kernel == "halo"       ? measure_halo(settings, comm)
                                             : measure_solver(kernel, settings, comm);
    result.kernel = kernel;
    return result;
}

} // namespace bench::krylov
