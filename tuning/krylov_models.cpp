#include "tuning/krylov_models.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

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

double hop_latency(const Network& network) {
    const auto mean_of = [&](std::string_view kind) {
        double sum = 0;
        int links = 0;
        for (const Link& link : network.links) {
            if (!link.name.ends_with(kind)) { continue; }
            sum += link.latency;
            ++links;
        }
        return links > 0 ? sum / links : 0.0;
    };
    const double dynamic = mean_of("dynamic");
    return dynamic > 0 ? dynamic : mean_of("");
}

AllreduceHops allreduce_hops(std::span<const TorusSpan> dimensions, int nodes) {
    double farthest = 0;
    double doubling = 0;
    for (const TorusSpan& dimension : dimensions) {
        farthest += std::min(dimension.length - 1, dimension.ring / 2);
        for (int distance = 1; distance < dimension.length; distance *= 2) {
            doubling += std::min(distance, dimension.ring - distance);
        }
    }
    const double best = nodes > 1 ? doubling / std::log2(nodes) : 0;
    return {best, farthest / 4, farthest / 2};
}

namespace {

/// Between the two nearest values; `values` must not be empty.
double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    const double position = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, values.size() - 1);
    const double between = position - static_cast<double>(below);
    return values[below] + between * (values[above] - values[below]);
}

} // namespace

double synchronization_penalty(std::span<const std::vector<double>> computation, bool nonblocking) {
    std::vector<double> all;
    std::vector<double> slowest;
    for (const std::vector<double>& iteration : computation) {
        all.insert(all.end(), iteration.begin(), iteration.end());
        slowest.push_back(*std::max_element(iteration.begin(), iteration.end()));
    }
    const double part = nonblocking ? 0.25 : 0.5;
    return quantile(std::move(slowest), part) - quantile(std::move(all), part);
}

double overlapped_nonblocking(double postal_cost, double penalties, double computation) {
    return postal_cost + std::max(0.0, penalties - computation);
}

double overlapped_blocking(double postal_costs, double first_postal_cost, double penalties) {
    return std::max(0.0, penalties - (postal_costs - first_postal_cost));
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
    // A mean of less than one hop is that of nodes which mostly share a router.
    cost.penalties += penalties.hops > 0
                          ? congestion_hops_penalty(congestion, std::max(1.0, penalties.hops))
                          : congestion;
    cost.first_hops = hops_penalty(penalties.hop_latency, penalties.hops);
    return cost;
}

double occupancy(const ModelTable& table, double bytes) {
    const Path& path = path_of(table, Memory::host, Locality::network);
    const auto protocol = static_cast<size_t>(path.protocol_of(bytes));
    return path.gaps[protocol].value_or(0) + bytes * table.inverse_injection_rate[0];
}

bool knows_gaps(const ModelTable& table) {
    const auto& gaps = path_of(table, Memory::host, Locality::network).gaps;
    return std::any_of(gaps.begin(), gaps.end(), [](const auto& gap) { return gap.has_value(); });
}

double on_node_message(const ModelTable& table, double bytes) {
    return postal(path_of(table, Memory::host, Locality::node).postal_of(bytes), bytes);
}

KernelCost allreduce(const ModelTable& table, const AllreduceInput& input) {
    const double on = std::log2(input.cores);
    const double off = std::log2(input.nodes);
    const MessageCost message = off_node_message(table, input.bytes, input.penalties);
    const double flop = table.network ? table.network->flop_seconds : 0;
    KernelCost cost;
    cost.postal = 2 * on * on_node_message(table, input.bytes) + 2 * off * message.postal +
                  input.elements * flop * (on + off);
    cost.penalties = 2 * off * (message.penalties + message.first_hops);
    return cost;
}

KernelCost allreduce(const ModelTable& table, const AllreduceInput& input,
                     std::span<const AllreduceRound> rounds) {
    const double flop = table.network ? table.network->flop_seconds : 0;
    KernelCost cost;
    for (const AllreduceRound& round : rounds) {
        const double bytes = round.part * input.bytes;
        if (round.adds) { cost.postal += round.part * input.elements * flop; }
        if (round.off_node <= 0) {
            if (round.on_node) { cost.postal += on_node_message(table, bytes); }
            continue;
        }
        // Bytes are in the max-rate penalty.
        const double gap = occupancy(table, bytes) - bytes * table.inverse_injection_rate[0];
        Penalties penalties = input.penalties;
        penalties.cores = std::min(penalties.cores, round.off_node);
        const MessageCost message = off_node_message(table, bytes, penalties);
        cost.postal += message.postal;
        cost.penalties += message.penalties + message.first_hops + (penalties.cores - 1) * gap;
    }
    return cost;
}

KernelCost halo_exchange(const ModelTable& table, const HaloInput& input) {
    KernelCost cost;
    KernelCost pipelined;       // what of `cost` is, and adds penalties only at the end
    double first_pipelined = 0; // the postal cost of the first one
    double off_node = 0;
    double hops = 0;
    double last = 0; // until a message has arrived that has just left the link
    for (const HaloMessages& messages : input.messages) {
        cost.postal += messages.on_node * on_node_message(table, messages.bytes);
        if (messages.off_node <= 0) { continue; }
        const MessageCost message = off_node_message(table, messages.bytes, input.penalties);
        const Protocol protocol =
            path_of(table, Memory::host, Locality::network).protocol_of(messages.bytes);
        cost.postal += messages.off_node * message.postal;
        off_node += messages.off_node;
        hops = message.first_hops;
        last = std::max(last, message.postal - occupancy(table, messages.bytes));
        if (input.pipelined && protocol != Protocol::rendezvous) {
            if (pipelined.postal <= 0) {
                first_pipelined = std::min(1.0, messages.off_node) * message.postal;
            }
            pipelined.postal += messages.off_node * message.postal;
            pipelined.penalties += messages.off_node * message.penalties;
        } else {
            cost.penalties += messages.off_node * message.penalties;
        }
    }
    cost.penalties += overlapped_blocking(pipelined.postal, first_pipelined, pipelined.penalties) +
                      std::min(1.0, off_node) * hops;
    if (input.link > 0) {
        cost.penalties = std::max(cost.penalties, input.link + last - cost.postal);
    }
    return cost;
}

namespace {

double computation(const SolverParts& parts) {
    return parts.vectors + parts.preconditioner + parts.matrix_vector;
}

double blocking_allreduce(const SolverParts& parts) {
    return parts.allreduce.total() + parts.synchronization;
}

/// An allreduce with `hidden_behind` seconds of other work between start and wait.
double nonblocking_allreduce(const SolverParts& parts, double hidden_behind) {
    return overlapped_nonblocking(parts.allreduce.postal,
                                  parts.allreduce.penalties + parts.synchronization, hidden_behind);
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
