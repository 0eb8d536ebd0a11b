#pragma once

#include "tools/fit/measurement_files.hpp"
#include "tuning/model_table.hpp"

#include <array>
#include <optional>
#include <span>

namespace nodeaware::tuning {

/// The node's limits, from messages that k processes of a node send at the same time.
struct NodeLimits {
    /// What the messages of one protocol tell. Index: Protocol.
    struct OfProtocol {
        double gap = 0; ///< 0 where the times do not call for one
        LineFit line;   ///< alpha: the intercept; beta: 1/R_N; residuals of all points
        double first_bytes = 0;
        double last_bytes = 0;
    };
    std::array<std::optional<OfProtocol>, 3> protocols;
    double inverse_rate = 0; ///< 1/R_N, 0: never reached
};

/// Fits T(k, s) = c + (k - 1) gap + max(beta s, k s / R_N) by least squares of relative residuals:
/// the max-rate model with a message rate. c and the gap are of each protocol, R_N is of all, beta
/// is that of `path`. c is free because the processes' common start adds to it. The line may begin
/// at more than one process, below which the time is constant: the link is idle while few wait for
/// a handshake. A gap that is not positive, or that the Bayesian information criterion finds
/// superfluous, is 0.
///
/// The sums of both limits are told apart by size: the gap shows with small messages, R_N with
/// large ones. Nothing is returned for protocols with fewer than two numbers of processes, or with
/// fewer than four points.
NodeLimits fit_node_limits(std::span<const Measurements::Simultaneous> samples, const Path& path);

} // namespace nodeaware::tuning
