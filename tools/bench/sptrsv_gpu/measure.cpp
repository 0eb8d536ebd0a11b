#include "measure.hpp"

#include "tools/bench/statistics.hpp"
#include "tools/triangular/indices.hpp"

#include <algorithm>

namespace bench::sptrsv_gpu {
namespace {

using namespace triangular;

nodeaware::Topology topology_of(int gpus, int gpus_per_node) {
    std::vector<int> node_of;
    node_of.reserve(at(gpus));
    for (int gpu = 0; gpu < gpus; ++gpu)
        node_of.push_back(gpus_per_node > 0 ? gpu / gpus_per_node : 0);
    return nodeaware::Topology(node_of);
}

std::string text_of(const Failure& failure, double limit) {
    const auto what = [&]() -> std::string {
        switch (failure.what) {
        case awaited_x: return "x of supernode ";
        case awaited_sum: return "a sum of supernode ";
        case awaited_terms: return "all terms of supernode ";
        case awaited_arrival: return "WAIT to tell of x of supernode ";
        default: return "";
        }
    };
    return "virtual GPU " + std::to_string(failure.gpu) + " has waited for " + what() +
           std::to_string(failure.supernode) + " for more than " + number(limit, 3) + " s";
}

} // namespace

Result measure(const Case& of, const System& system, const Settings& settings) {
    const nodeaware::Topology topology = topology_of(of.gpus, settings.gpus_per_node);
    const Supernodes supernodes = supernodes_of(system.factor, settings.limits);
    const Distribution distribution = distribute(supernodes, of.grid, of.tree, topology);
    const Plan plan = make_plan(supernodes, distribution, of.gpus, system.right_side);
    const auto solver = settings.is_on_host ? solver_on_host(plan, settings.solver)
                                            : solver_on_device(plan, settings.solver);
    Result result;
    result.of = of;
    result.computed_puts = count_messages(distribution, topology).all;
    result.critical_path = critical_path(supernodes, distribution, of.gpus);
    result.blocks = solver->blocks();
    for (int repeat = -settings.warmup; repeat < settings.repeats; ++repeat) {
        const Outcome outcome = solver->solve();
        result.puts = outcome.puts;
        result.elsewhere = std::max(result.elsewhere, outcome.elsewhere);
        if (outcome.failure.what != nothing) {
            result.failure = text_of(outcome.failure, settings.solver.limit);
            break;
        }
        if (repeat >= 0) result.times.push_back(outcome.us);
        const double residual = relative_residual(system, outcome.solution);
        result.is_wrong |= !(residual <= settings.tolerance); // also where it is no number
        result.is_wrong |= result.puts != result.computed_puts;
        result.residual = std::max(result.residual, residual);
    }
    return result;
}

} // namespace bench::sptrsv_gpu
