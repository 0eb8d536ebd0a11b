#include "tuning/krylov_models.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nodeaware::tuning {

double max_rate_message(const Postal& path, double bytes, double cores, double inverse_node_rate) {
    return max_rate(path, {1, bytes, cores * bytes}, inverse_node_rate);
}

double hops_penalty(double hop_latency, double hops) { return hop_latency * hops; }

double congestion_penalty(double stalls_per_byte, double bytes, double cores,
                          double stall_seconds) {
    return stalls_per_byte * bytes * cores * stall_seconds;
}

double congestion_hops_penalty(double congestion, double hops) { return congestion * hops; }

double synchronization_penalty(std::span<const double> computation, bool nonblocking) {
    std::vector<double> sorted(computation.begin(), computation.end());
    std::sort(sorted.begin(), sorted.end());
    const double position = (nonblocking ? 0.25 : 0.5) * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    const double between = position - static_cast<double>(below);
    return sorted.back() - (sorted[below] + between * (sorted[above] - sorted[below]));
}

double overlapped_nonblocking(double postal_cost, double penalties, double computation) {
    return postal_cost + std::max(0.0, penalties - computation);
}

double overlapped_blocking(double messages, double postal_cost, double penalty) {
    return messages * postal_cost +
           std::max(0.0, messages * penalty - (messages - 1) * postal_cost);
}

MessageCost off_node_message(const ModelTable& table, double bytes, const Penalties& penalties) {
    const Postal& path = path_of(table, Memory::host, Locality::network).postal_of(bytes);
    const double stall = table.network ? table.network->stall_seconds : 0;
    const double congestion =
        congestion_penalty(penalties.stalls_per_byte, bytes, penalties.cores, stall);
    MessageCost cost;
    cost.postal = postal(path, bytes);
    cost.penalties =
        max_rate_message(path, bytes, penalties.cores, table.inverse_injection_rate[0]) -
        cost.postal;
    cost.penalties +=
        penalties.hops > 0 ? congestion_hops_penalty(congestion, penalties.hops) : congestion;
    cost.first_hops = hops_penalty(penalties.hop_latency, penalties.hops);
    return cost;
}

double on_node_message(const ModelTable& table, double bytes) {
    return postal(path_of(table, Memory::host, Locality::node).postal_of(bytes), bytes);
}

double allreduce(const ModelTable& table, const AllreduceInput& input) {
    const double on = std::log2(input.cores);
    const double off = std::log2(input.nodes);
    const MessageCost message = off_node_message(table, input.bytes, input.penalties);
    // Each round is a new series of messages, so each pays its hops.
    const double communication = 2 * on * on_node_message(table, input.bytes) +
                                 2 * off * (message.total() + message.first_hops);
    const double flop = table.network ? table.network->flop_seconds : 0;
    return communication + input.elements * flop * (on + off);
}

double halo_exchange(const ModelTable& table, const HaloInput& input) {
    double time = input.on_node_messages * on_node_message(table, input.on_node_bytes);
    if (input.off_node_messages > 0) {
        const MessageCost message = off_node_message(table, input.off_node_bytes, input.penalties);
        time += message.first_hops;
        time += input.pipelined ? overlapped_blocking(input.off_node_messages, message.postal,
                                                      message.penalties)
                                : input.off_node_messages * message.total();
    }
    return time;
}

namespace {

double computation(const SolverParts& parts) {
    return parts.vectors + parts.preconditioner + parts.matrix_vector;
}

double blocking_allreduce(const SolverParts& parts) {
    return parts.allreduce + parts.penalties + parts.synchronization;
}

/// An allreduce with `hidden_behind` seconds of other work between start and wait.
double nonblocking_allreduce(const SolverParts& parts, double hidden_behind) {
    return overlapped_nonblocking(parts.allreduce, parts.penalties + parts.synchronization,
                                  hidden_behind);
}

double solver(const SolverParts& parts, double init_kernels, double iterations,
              double allreduces_per_iteration) {
    const double init = computation(parts) + blocking_allreduce(parts) + init_kernels;
    return init + iterations * (computation(parts) + parts.halo + allreduces_per_iteration);
}

double kernels(const SolverParts& parts) {
    return parts.preconditioner + parts.matrix_vector + parts.halo;
}

} // namespace

double pcg(const SolverParts& parts, double iterations) {
    return solver(parts, 0, iterations, 2 * blocking_allreduce(parts));
}

double sapcg(const SolverParts& parts, double iterations) {
    return solver(parts, 0, iterations, blocking_allreduce(parts));
}

double nbpcg(const SolverParts& parts, double iterations) {
    return solver(parts, 0, iterations,
                  nonblocking_allreduce(parts, parts.preconditioner) +
                      nonblocking_allreduce(parts, parts.matrix_vector + parts.halo));
}

double pipecg(const SolverParts& parts, double iterations) {
    return solver(parts, kernels(parts), iterations, nonblocking_allreduce(parts, kernels(parts)));
}

double pipe2cg(const SolverParts& parts, double iterations) {
    return solver(parts, 2 * kernels(parts), iterations,
                  nonblocking_allreduce(parts, 2 * kernels(parts)) / 2);
}

} // namespace nodeaware::tuning
