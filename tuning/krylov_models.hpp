#pragma once

#include "tuning/model_table.hpp"

#include <span>

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

/// What the average process waits at a collective for the last one: the slowest computation since
/// the last synchronization less the median of all (blocking) or their first quartile
/// (nonblocking, whose processes run less in step). [K] 5.8
/// `computation` holds one time per process and must not be empty.
double synchronization_penalty(std::span<const double> computation, bool nonblocking);

/// Nonblocking: computation between start and wait hides penalties, but not the postal cost.
/// [K] 5.9: postal + max(0, penalties - computation).
double overlapped_nonblocking(double postal_cost, double penalties, double computation);

/// Blocking, short and eager: `messages` in a row are pipelined, so the penalties of all hide
/// behind the postal costs of all but the first. [K] 5.9:
/// messages postal + max(0, messages penalty - (messages - 1) postal).
double overlapped_blocking(double messages, double postal_cost, double penalty);

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

/// Cost of one message on a node: postal alone, [K] 6.2.
double on_node_message(const ModelTable& table, double bytes);

struct AllreduceInput {
    double bytes = 8;
    double elements = 1; ///< numbers that are added up
    double cores = 1;    ///< processes per node
    double nodes = 1;
    Penalties penalties;
};

/// T_comm = 2 log2(cores) T_on + 2 log2(nodes) T_off; T_comp = n T_flop (log2(cores) +
/// log2(nodes)). [K] 5.3. n of T_comp counts operations, one per element; [K] uses the n of bytes
/// for both.
double allreduce(const ModelTable& table, const AllreduceInput& input);

struct HaloInput {
    double on_node_messages = 0;
    double off_node_messages = 0;
    double on_node_bytes = 0;  ///< of each message
    double off_node_bytes = 0; ///< of each message
    bool pipelined = false;    ///< blocking short and eager messages hide penalties (5.9)
    Penalties penalties;
};

/// T_halo = T_on n_on + T_off n_off. [K] 5.3, with the penalties of 5.5 to 5.9.
double halo_exchange(const ModelTable& table, const HaloInput& input);

/// Times of the parts of one iteration.
struct SolverParts {
    double vectors = 0;         ///< vector operations
    double preconditioner = 0;  ///< one application
    double matrix_vector = 0;   ///< computation of one product
    double halo = 0;            ///< its halo exchange
    double allreduce = 0;       ///< one allreduce, without what can be hidden
    double penalties = 0;       ///< penalties of one allreduce, which a nonblocking one hides
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
