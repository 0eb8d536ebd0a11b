#pragma once

/// Models of one message and of many messages that share the network card of a node: pure functions
/// of their arguments, in seconds, bytes and bytes per second. Abbreviations of the papers:
///   [N]  node_aware_strategies_heterogeneous   [D]  data_movement_heterogeneous
///   [K]  krylov_performance_models
namespace nodeaware::tuning {

/// Parameters of the postal model: `alpha` seconds per message, `beta` seconds per byte.
struct Postal {
    double alpha = 0;
    double beta = 0;
    bool operator==(const Postal&) const = default;
};

/// T = alpha + beta s: seconds for one message of `bytes`. [N] (2.1), [D] (1), [K] 5.1.
double postal(const Postal& path, double bytes);

/// What one process of a node sends, and what the whole node puts into the network.
struct Load {
    double messages = 1;   ///< messages of the busiest process
    double bytes = 0;      ///< bytes of the busiest process, over all its messages
    double node_bytes = 0; ///< bytes that all processes of the node send
};

/// T = alpha m + max(node_bytes / R_N, s / R_b): seconds for `load`. [N] (2.2) with node_bytes =
/// ppn s, [N] (4.3), [D] (2) and (3), [K] 5.5.
///
/// `path.beta` is 1 / R_b and `inverse_rate` is 1 / R_N (seconds per byte; 0: the card is never
/// the limit).
/// Corrected: [D] (2) and (3) print (ppn s / max(R_N, R_p ppn)) beta s. That is bytes x seconds,
/// and the faster of two limits would win. The time is what ppn s bytes take at the slower one: ppn
/// s / min(R_N, R_p ppn), which is the max() here ([K] 5.5 prints the min, but calls the two rates
/// beta, which is seconds per byte elsewhere). R_N: [N] table 4 and [D] table III give numbers of
/// the order of 1e-11 "bytes/sec"; they are seconds per byte.
double max_rate(const Postal& path, const Load& load, double inverse_rate);

} // namespace nodeaware::tuning
