#pragma once

#include "tuning/model_table.hpp"

#include <span>
#include <vector>

/// Models of [K] (see postal.hpp): the postal model with penalties, and Krylov solvers made of it.
/// Seconds, bytes, hops.
namespace nodeaware::tuning {

/// T = alpha + cores n / min(B_node, cores B_core) for `cores` processes of a node that each send
/// `bytes`. [K] 5.5. Both B are rates (bytes/second): [K] writes beta for them, which it defines as
/// their inverse in 5.1.
double max_rate_message(const Postal& path, double bytes, double cores, double inverse_node_rate);

/// T_hops = hop latency x hops, paid by the first message of a series. [K] 5.6
double hops_penalty(double hop_latency, double hops);

/// T_congest = (stalls / byte) n cores T_stall. [K] 5.7
double congestion_penalty(double stalls_per_byte, double bytes, double cores, double stall_seconds);

/// T_congest_hops = T_congest x hops: a message can be stalled at each tile that it passes. [K] 5.7
double congestion_hops_penalty(double congestion, double hops);

/// Seconds per hop: the mean of the links, of those that are routed dynamically where both are
/// known. [K] 5.2, 5.6. 0: there are none.
double hop_latency(const Network& network);

/// Of a torus, what lies between the first and the last router of some nodes in one dimension.
struct TorusSpan {
    int length = 1; ///< in routers, both included
    int ring = 1;   ///< routers of the whole dimension
};

/// Hops of a message of an allreduce of `nodes` nodes. [K] 5.6.
struct AllreduceHops {
    /// Recursive doubling in one dimension after the other, at distances 1, 2, 4, ..., and without
    /// a hop between nodes of a router: the mean of the log2(nodes) rounds.
    double best = 0;
    double average = 0; ///< 1/4 of the most hops between any two nodes
    double most = 0;    ///< 1/2 of them
};
AllreduceHops allreduce_hops(std::span<const TorusSpan> dimensions, int nodes);

/// What the average process waits at a collective for the last one: the median over all iterations
/// of the slowest computation of each, less the median of all computations. For nonblocking
/// solvers, whose processes run less in step, first quartiles take the place of both medians. [K]
/// 5.8. `computation`: seconds since the last synchronization, by iteration and process; at least
/// one iteration, each with at least one process.
double synchronization_penalty(std::span<const std::vector<double>> computation, bool nonblocking);

/// Nonblocking: computation between start and wait hides penalties, but not the postal cost.
/// [K] 5.9: postal + max(0, penalties - computation).
double overlapped_nonblocking(double postal_cost, double penalties, double computation);

/// Blocking, short and eager: messages in a row are pipelined, so the penalties of all hide behind
/// the postal costs of all but the first. [K] 5.9: what of the penalties remains.
double overlapped_blocking(double postal_costs, double first_postal_cost, double penalties);

/// What applies to messages between nodes; 0 or 1 where there is no penalty.
struct Penalties {
    double cores = 1; ///< processes of the node that send at the same time
    double stalls_per_byte = 0;
    double hops = 0;
    double hop_latency = 0;
};

/// A message between nodes as postal cost and penalties apart, for the overlap models.
struct MessageCost {
    double postal = 0;     ///< alpha + beta n
    double penalties = 0;  ///< what max-rate adds, and congestion (times hops, if hops are given)
    double first_hops = 0; ///< for the first message of a series
    double total() const { return postal + penalties; }
};

/// Cost of one message of `bytes` between nodes, by the protocol of its size. Throws TableError.
MessageCost off_node_message(const ModelTable& table, double bytes, const Penalties& penalties);

/// Seconds for which a message between nodes keeps all processes of its node from sending the next
/// one: gap + n / B_node. [K] limits the bytes of a node alone; where the gap of messages was not
/// measured, so does this. Throws TableError.
double occupancy(const ModelTable& table, double bytes);

/// Whether the table tells how many messages a node sends in a time.
bool knows_gaps(const ModelTable& table);

/// Cost of one message on a node: postal alone, [K] 6.2.
double on_node_message(const ModelTable& table, double bytes);

/// A kernel as postal costs (of all messages, and computation) and penalties apart.
struct KernelCost {
    double postal = 0;
    double penalties = 0;
    double total() const { return postal + penalties; }
};

struct AllreduceInput {
    double bytes = 8;
    double elements = 1; ///< numbers that are added up
    double cores = 1;    ///< processes per node
    double nodes = 1;
    Penalties penalties; ///< of the one process of a node that sends to others
};

/// T_comm = 2 log2(cores) T_on + 2 log2(nodes) T_off; T_comp = n T_flop (log2(cores) +
/// log2(nodes)). [K] 5.3. n of T_comp counts operations, one per element; [K] uses the n of bytes
/// for both. Each round is a series of its own, so each pays its hops.
KernelCost allreduce(const ModelTable& table, const AllreduceInput& input);

/// Messages of an allreduce that processes send at the same time.
struct AllreduceRound {
    bool on_node = false; ///< some stay on their node
    double off_node = 0;  ///< those to other nodes, of the node that sends most of them
    bool adds = false;    ///< elements are added up
    double part = 1;      ///< of all elements, in each message
    bool operator==(const AllreduceRound&) const = default;
};

/// The same by what an algorithm sends: one message after the other in time, as postal cost; that
/// those of a node share its link is a penalty: by their number, as far as the table has gaps, and
/// by their bytes, as max-rate (5.5) has it. `penalties.cores` 1: neither is counted.
KernelCost allreduce(const ModelTable& table, const AllreduceInput& input,
                     std::span<const AllreduceRound> rounds);

/// Messages of one size that a process sends in a halo exchange; means over processes may be
/// broken numbers.
struct HaloMessages {
    double bytes = 0;
    double on_node = 0;
    double off_node = 0;
};

struct HaloInput {
    std::vector<HaloMessages> messages; ///< the first size is sent first
    bool pipelined = false;             ///< blocking: short and eager messages hide penalties (5.9)
    Penalties penalties;
    /// Occupancy of all messages of the node that has most; 0: not known.
    double link = 0;
};

/// T_halo = T_on n_on + T_off n_off. [K] 5.3, with the penalties of 5.5 to 5.9; hops are paid once.
/// Never less than the link of a node needs for the messages of all its processes, of which the
/// last one arrives after its latency.
KernelCost halo_exchange(const ModelTable& table, const HaloInput& input);

/// Times of the parts of one iteration.
struct SolverParts {
    double vectors = 0;         ///< vector operations
    double preconditioner = 0;  ///< one application
    double matrix_vector = 0;   ///< computation of one product
    double halo = 0;            ///< its halo exchange
    KernelCost allreduce;       ///< one; if nonblocking, its penalties can be hidden
    double synchronization = 0; ///< added to each allreduce
};

/// T_pcg = T_init + n T_iter: T_init = T_comp + T_allr, T_iter = T_comp + 2 T_allr + T_halo.
/// [K] 5.3 with T_comp = vectors + preconditioner + matrix_vector.
double pcg(const SolverParts& parts, double iterations);
/// One blocking allreduce per iteration.
double sapcg(const SolverParts& parts, double iterations);
/// Two nonblocking allreduces: one behind the preconditioner, one behind the product.
double nbpcg(const SolverParts& parts, double iterations);
/// One nonblocking allreduce behind preconditioner and product; its pipeline starts with one more
/// of each.
double pipecg(const SolverParts& parts, double iterations);
/// One nonblocking allreduce for two iterations, behind two of each; the pipeline starts with two
/// more of each.
double pipe2cg(const SolverParts& parts, double iterations);

} // namespace nodeaware::tuning
