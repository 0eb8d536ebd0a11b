#pragma once

#include "tools/fit/least_squares.hpp"
#include "tools/fit/measurement_files.hpp"
#include "tools/fit/protocol_switch.hpp"
#include "tuning/model_table.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace nodeaware::tuning {

struct FitOptions {
    Weighting weighting = Weighting::uniform; ///< within one protocol, as the papers do
    SwitchOptions switches;
    /// Largest sizes (bytes) of all protocols but the last, by Memory, where they are known; else
    /// they are found.
    std::array<std::optional<std::vector<double>>, 2> limits;
    /// The injection limit is fitted from this many processes at least and at most (0: half of the
    /// most that were measured, one socket).
    int fewest_injecting = 5;
    int most_injecting = 0;
};

/// A fitted line and what it is of: the key of the table, "paths.host.network.eager".
struct FittedLine {
    std::string key;
    LineFit line;
    double first_bytes = 0; ///< smallest size that was used
    double last_bytes = 0;
    std::optional<double> gap{};  ///< of messages that were sent at the same time
    std::optional<double> next{}; ///< of further copies of a stream
};

/// What the measurements do not tell, though they are of the kind that could.
struct NotMeasured {
    std::string key;
    std::string why;
};

struct FitResult {
    ModelTable table; ///< name, fingerprint and notes are left to the caller
    std::vector<FittedLine> lines;
    std::vector<std::string> warnings;     ///< implausible or noisy results, too few points
    std::vector<std::string> doubtful;     ///< keys of the implausible and noisy ones
    std::vector<NotMeasured> not_measured; ///< also among the warnings
};

/// A table from measurements, as section 3 of [N] makes it: the least time of all pairs of one
/// locality at each size; protocols apart; one least-squares line for each.
///  - Copies by several processes: the last of the regimes that the sizes show, because without a
///    multi-process service small copies cost a change of GPU context. What each further copy of a
///    stream adds: copy_fit.hpp.
///  - Message gap: gap_fit.hpp, from the same processes as the injection limit, or from all where
///    these are few.
///  - Injection limit: seconds = alpha + node bytes / R_N over rendezvous messages of the processes
///    of one socket ([N] table 4), without the gaps; with fewer processes as in gap_fit.hpp. None
///    where the processes do not reach it (saturation.hpp): the models then go by the processes.
///  - Shared memory: the rate of copies from 64 KiB on (the slope of all where these are too few),
///    and the median flag latency.
///  - Parameters that cannot be (negative) are put to the nearest that can: the line through the
///    origin, or a constant; with a warning.
/// A protocol that lies between two found ones without points is left out. Throws TableError where
/// there is nothing to fit.
FitResult fit(const Measurements& measurements, const FitOptions& options);

/// A number of a table by its key, as in the file: "paths.host.socket.short.alpha",
/// "injection.host.seconds_per_byte", "copies.host_to_device.4.beta" (pinned memory and the same
/// socket; behind the direction ".arena" and ".other_socket" for the others).
struct Parameter {
    std::string key;
    double value = 0;
};

/// All fitted numbers of a table, in a fixed order.
std::vector<Parameter> parameters_of(const ModelTable& table);

} // namespace nodeaware::tuning
