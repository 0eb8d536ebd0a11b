#include "runtime/report/facts.hpp"

#include <fmt/format.h>

namespace nodeaware::report {

namespace {

std::string text_of_device(std::string_view use, const DeviceSums::Values& sums) {
    enum { to_host, to_device, within, copies, unpinned, straight, kernels };
    std::string text;
    if (sums[copies] + sums[kernels] > 0) {
        text += fmt::format("  device memory, {}: {} bytes to the host, {} to devices, {} within "
                            "devices; {} copies, {} of them with memory that is not pinned; "
                            "{} kernels for lists of copies\n",
                            use, sums[to_host], sums[to_device], sums[within], sums[copies],
                            sums[unpinned], sums[kernels]);
    }
    if (sums[straight] > 0) {
        text += fmt::format("  device memory, {}: {} bytes sent and received there by MPI\n", use,
                            sums[straight]);
    }
    return text;
}

std::string heading(const Facts& facts) {
    const std::string_view are_virtual = facts.nodes_are_virtual ? " (virtual)" : "";
    const std::string whose =
        facts.only_rank < 0
            ? fmt::format("calls of {} ranks on {} nodes{}, summed over ranks", facts.ranks,
                          facts.nodes, are_virtual)
            : fmt::format("calls of rank {} alone, of {} ranks on {} nodes{}: ended by {}, not "
                          "finished",
                          facts.only_rank, facts.ranks, facts.nodes, are_virtual, facts.end);
    return fmt::format("nodeaware: {}\n  library {}; {}; model table {}{}\n", whose, facts.library,
                       facts.mpi, facts.model, facts.observes ? "; every call left to MPI" : "");
}

std::string times(const Facts& facts) {
    constexpr std::array<std::string_view, Times::kinds> names = {
        "wall",
        "in exchanges",
        "in point-to-point calls and waits",
        "in other collectives",
        "in functions on files",
        "in all of these"};
    const double wall = facts.times[Times::wall].mean;
    const bool is_of_one = facts.only_rank >= 0;
    std::string text =
        is_of_one
            ? fmt::format("  {:<36} {:>12} {:>7}\n", "time", "seconds", "share")
            : fmt::format("  {:<36} {:>12} {:>7} {:>12} {:>7} {:>12} {:>7}\n", "time of a rank",
                          "mean, s", "share", "least, s", "rank", "most, s", "rank");
    for (size_t i = 0; i < names.size(); ++i) {
        const Spread& spread = facts.times[i];
        const double share = wall > 0 ? 100 * spread.mean / wall : 0;
        text += fmt::format("  {:<36} {:>12.6f} {:>5.1f} %", names[i], spread.mean, share);
        if (!is_of_one) {
            text += fmt::format(" {:>12.6f} {:>7} {:>12.6f} {:>7}", spread.least, spread.least_rank,
                                spread.most, spread.most_rank);
        }
        text += '\n';
    }
    const Spread& in_calls = facts.times[Times::in_calls];
    constexpr double much = 0.1;
    if (!is_of_one && in_calls.most - in_calls.least > much * wall) {
        text += fmt::format("  the others wait for rank {}, which is in calls for the shortest "
                            "time\n",
                            in_calls.least_rank);
    }
    return text;
}

std::string communicators(const Facts& facts) {
    constexpr size_t most = 12;
    if (facts.communicators.empty()) { return ""; }
    std::string text =
        fmt::format("  {:<32} {:>7} {:>7} {:>10} {:>12} {:>12}  {}\n", "communicators", "number",
                    "ranks", "exchanges", "p2p calls", "seconds", "exchanges went by");
    const size_t shown = std::min(facts.communicators.size(), most);
    for (size_t i = 0; i < shown; ++i) {
        const CommunicatorRow& row = facts.communicators[i];
        std::string ways;
        for (const auto& [strategy, calls] : row.ways) {
            ways += fmt::format("{}{} {}", ways.empty() ? "" : ", ", strategy, calls);
        }
        const std::string name = row.ranks == 0     ? "(others)"
                                 : row.name.empty() ? "(without a name)"
                                                    : row.name;
        const std::string ranks = row.ranks == 0 ? "" : std::to_string(row.ranks);
        // Words of ours begin with a small letter, those of the program may be anything.
        text +=
            fmt::format("  - {:<30.30} {:>7} {:>7} {:>10} {:>12} {:>12.6f}  {}\n", name,
                        row.communicators, ranks, row.exchanges, row.messages, row.seconds, ways);
    }
    const size_t more = facts.communicators.size() - shown;
    if (more > 0) { text += fmt::format("  and {} more kinds of communicators\n", more); }
    return text;
}

std::string operations(const Counted& counted) {
    std::string text = fmt::format("{:<20} {:>10} {:>10} {:>8} {:>14} {:>22} {:>22} {:>10}\n",
                                   "operation", "native", "rerouted", "built", "bytes",
                                   "messages before/after", "bytes before/after", "seconds");
    for (size_t i = 0; i < operation_count; ++i) {
        const Counted::Row& row = counted.operations[i];
        if (row[Counted::native] + row[Counted::rerouted] == 0) { continue; }
        text += fmt::format(
            "{:<20} {:>10} {:>10} {:>8} {:>14} {:>22} {:>22} {:>10.3f}\n", operation_names[i],
            row[Counted::native], row[Counted::rerouted], row[Counted::built], row[Counted::bytes],
            fmt::format("{}/{}", row[Counted::node_messages], row[Counted::sent_messages]),
            fmt::format("{}/{}", row[Counted::node_bytes], row[Counted::sent_bytes]),
            static_cast<double>(row[Counted::nanoseconds]) * 1e-9);
    }
    return text;
}

std::string what_became_of_them(const Facts& facts) {
    const Counted& counted = facts.counted;
    std::string text;
    for (size_t i = 0; i < facts.strategies.size(); ++i) {
        if (counted.by_strategy[i] == 0) { continue; }
        text += fmt::format("  rerouted by {} ({} calls)\n", facts.strategies[i],
                            counted.by_strategy[i]);
    }
    for (size_t i = 1; i < reason_count; ++i) {
        if (counted.reasons[i] == 0) { continue; }
        text += fmt::format("  left to MPI: {} ({} calls)\n", reason_texts[i], counted.reasons[i]);
    }
    if (counted.measured_calls > 0) {
        text += fmt::format(
            "  learning: {} calls measured to compare strategies, which took {:.6f} s "
            "more than the best\n",
            counted.measured_calls, static_cast<double>(counted.learning_nanoseconds) * 1e-9);
    }
    for (size_t i = 0; i < Counted::device_uses.size(); ++i) {
        text += text_of_device(Counted::device_uses[i], counted.devices[i]);
    }
    for (const Report::Note& note : facts.notes) {
        if (note.value > 0) { text += fmt::format("  {}: {}\n", note.text, note.value); }
    }
    return text;
}

} // namespace

std::string text_of(const Facts& facts) {
    std::string text = heading(facts) + operations(facts.counted) + what_became_of_them(facts);
    if (facts.has_times) { text += times(facts) + communicators(facts); }
    return text;
}

} // namespace nodeaware::report
