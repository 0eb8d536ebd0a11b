#include "tools/models/krylov_figures.hpp"

#include "tools/models/krylov_kernels.hpp"
#include "tools/models/scenario.hpp"

#include <algorithm>
#include <stdexcept>

namespace nodeaware::tuning {

namespace {

constexpr int over_nodes = 0;
constexpr int solver_figure = 10;

std::vector<int> figures_of(std::string_view kernel) {
    if (kernel == "allreduce") { return {8, 9, 11}; }
    if (kernel == "halo") { return {6, 7, 9, 12}; }
    if (kernel == "cg" || kernel == "pipecg") { return {solver_figure}; }
    return {};
}

/// What a figure is made from.
struct Drawn {
    const KrylovKernels& kernels;
    const KrylovInput& input;
    const std::vector<double>& axis; ///< nodes or sizes
};

void draw_allreduce_over_nodes(CurveTable& result, const Drawn& drawn) {
    add_curve(result, "postal", "Postal", 0);
    add_curve(result, "penalties", "Postal with penalties", 1);
    add_rows(result, drawn.axis, [&](double at) -> Seconds {
        const int nodes = static_cast<int>(at);
        const KernelCost cost =
            drawn.kernels.allreduce(nodes, drawn.input.run.bytes, all_penalties,
                                    drawn.kernels.hops_of_allreduce(nodes).average);
        return {cost.postal, cost.total()};
    });
}

/// Mean numbers of a process: on its node, to other nodes.
std::vector<CurveTable::Value> mean_messages(const HaloCounts& counts, const HaloBytes& bytes) {
    double on_node = 0;
    double off_node = 0;
    for (size_t kind = 0; kind < halo_kinds; ++kind) {
        if (bytes[kind] <= 0) { continue; }
        on_node += counts.average[kind].on_node;
        off_node += counts.average[kind].off_node;
    }
    return {{on_node, ""}, {off_node, ""}};
}

void draw_halo_over_nodes(CurveTable& result, const Drawn& drawn) {
    add_curve(result, "postal", "Postal", 0);
    add_curve(result, "penalties", "Postal with penalties", 1);
    add_curve(result, "boxes_postal", "Postal, nodes have boxes", 0, true);
    add_curve(result, "boxes_penalties", "With penalties, nodes have boxes", 1, true);
    result.columns = {"on_node", "off_node", "boxes_on_node", "boxes_off_node"};
    const HaloBytes bytes = drawn.kernels.bytes_of_cube();
    std::vector<std::vector<CurveTable::Value>> messages;
    add_rows(result, drawn.axis, [&](double at) {
        Seconds seconds;
        messages.emplace_back();
        for (const HaloPlacement how : {HaloPlacement::block, HaloPlacement::boxes}) {
            const HaloCounts counts = drawn.kernels.count(static_cast<int>(at), how);
            const KernelCost cost = drawn.kernels.halo(counts, KrylovKernels::Process::worst, bytes,
                                                       all_penalties, true);
            seconds.insert(seconds.end(), {cost.postal, cost.total()});
            const auto means = mean_messages(counts, bytes);
            messages.back().insert(messages.back().end(), means.begin(), means.end());
        }
        return seconds;
    });
    for (size_t i = 0; i < messages.size(); ++i) { result.rows[i].values = messages[i]; }
}

/// `with_iterations`: also what one iteration takes.
void draw_solver(CurveTable& result, const std::string& solver, const Drawn& drawn,
                 bool with_iterations) {
    using Stage = KrylovKernels::Stage;
    struct Shown {
        Stage stage;
        const char* key;
        const char* label;
    };
    constexpr Shown shown[] = {
        {Stage::postal, "postal", "Postal"},
        {Stage::penalties, "penalties", "Postal with penalties"},
        {Stage::synchronization, "synchronization", "With penalties and synchronization"}};
    int colour = 0;
    for (const auto& [stage, key, label] : shown) {
        add_curve(result, key, label, colour, false);
        if (with_iterations) {
            add_curve(result, std::string(key) + "_iteration",
                      std::string(label) + ", one iteration", colour, true);
        }
        ++colour;
    }
    add_rows(result, drawn.axis, [&](double at) {
        const int nodes = static_cast<int>(at);
        const HaloCounts counts = drawn.kernels.count(nodes, HaloPlacement::block);
        Seconds seconds;
        for (const Shown& one : shown) {
            const SolverParts parts = drawn.kernels.parts(solver, nodes, counts, one.stage);
            seconds.push_back(solver_seconds(solver, parts, drawn.input.run.iterations));
            if (with_iterations) {
                seconds.push_back(solver_seconds(solver, parts, 1) -
                                  solver_seconds(solver, parts, 0));
            }
        }
        return seconds;
    });
}

/// Figures 6 and 7.
void draw_halo_by_process(CurveTable& result, const Drawn& drawn, bool with_max_rate) {
    add_curve(result, "postal_average", "Postal, average process", 0);
    add_curve(result, "postal_worst", "Postal, worst process", 0, true);
    if (with_max_rate) {
        add_curve(result, "max_rate_average", "With max-rate, average process", 1);
        add_curve(result, "max_rate_worst", "With max-rate, worst process", 1, true);
    }
    const HaloCounts counts = drawn.kernels.count(drawn.input.nodes, HaloPlacement::block);
    add_rows(result, drawn.axis, [&](double bytes) {
        const auto cost_of = [&](KrylovKernels::Process process) {
            return drawn.kernels.halo(counts, process, {bytes, 0, 0}, {.max_rate = true}, false);
        };
        const KernelCost average = cost_of(KrylovKernels::Process::average);
        const KernelCost worst = cost_of(KrylovKernels::Process::worst);
        Seconds seconds = {average.postal, worst.postal};
        if (with_max_rate) { seconds.insert(seconds.end(), {average.total(), worst.total()}); }
        return seconds;
    });
}

/// Figure 8.
void draw_allreduce_hops(CurveTable& result, const Drawn& drawn) {
    add_curve(result, "postal", "Postal", 0);
    add_curve(result, "hops_best", "With hops, best case", 1);
    add_curve(result, "hops_average", "With hops, average", 2);
    add_curve(result, "hops_most", "With hops, worst case", 3);
    const AllreduceHops hops = drawn.kernels.hops_of_allreduce(drawn.input.nodes);
    add_rows(result, drawn.axis, [&](double bytes) {
        Seconds seconds = {drawn.kernels.allreduce(drawn.input.nodes, bytes, {}, 0).total()};
        for (const double each : {hops.best, hops.average, hops.most}) {
            seconds.push_back(
                drawn.kernels.allreduce(drawn.input.nodes, bytes, {.hops = true}, each).total());
        }
        return seconds;
    });
}

/// Figure 9: which penalties matter.
void draw_penalties(CurveTable& result, const std::string& kernel, const Drawn& drawn) {
    const bool is_halo = kernel == "halo";
    struct Shown {
        const char* key;
        const char* label;
        Counted counted;
    };
    // One process of a node sends in an allreduce of [K], so that the max-rate penalty is none.
    const std::vector<Shown> shown =
        is_halo ? std::vector<Shown>{{"postal", "Postal", {}},
                                     {"mr", "MR", {.max_rate = true}},
                                     {"mr_h", "MR+H", {.max_rate = true, .hops = true}},
                                     {"mr_c", "MR+C", {.max_rate = true, .congestion = true}},
                                     {"mr_c_h", "MR+C+H", all_penalties}}
                : std::vector<Shown>{{"postal", "Postal", {}},
                                     {"h", "H", {.hops = true}},
                                     {"c", "C", {.congestion = true}},
                                     {"c_h", "C+H", {.congestion = true, .hops = true}}};
    for (size_t i = 0; i < shown.size(); ++i) {
        add_curve(result, shown[i].key, shown[i].label, static_cast<int>(i));
    }
    const int nodes = drawn.input.nodes;
    const HaloCounts counts =
        is_halo ? drawn.kernels.count(nodes, HaloPlacement::block) : HaloCounts();
    const double hops = drawn.kernels.hops_of_allreduce(nodes).average;
    add_rows(result, drawn.axis, [&](double bytes) {
        Seconds seconds;
        for (const Shown& one : shown) {
            seconds.push_back((is_halo ? drawn.kernels.halo(counts, KrylovKernels::Process::worst,
                                                            {bytes, 0, 0}, one.counted, false)
                                       : drawn.kernels.allreduce(nodes, bytes, one.counted, hops))
                                  .total());
        }
        return seconds;
    });
}

double nonblocking(const KernelCost& cost, const KrylovInput& input) {
    return overlapped_nonblocking(cost.postal, cost.penalties, input.run.overlap);
}

/// Figure 11.
void draw_allreduce_overlap(CurveTable& result, const Drawn& drawn) {
    add_curve(result, "postal", "Postal", 0);
    add_curve(result, "blocking", "Blocking, with penalties", 1);
    add_curve(result, "nonblocking", "Nonblocking, with penalties", 2);
    const int nodes = drawn.input.nodes;
    const double hops = drawn.kernels.hops_of_allreduce(nodes).average;
    add_rows(result, drawn.axis, [&](double bytes) -> Seconds {
        const KernelCost cost = drawn.kernels.allreduce(nodes, bytes, all_penalties, hops);
        const KernelCost started = drawn.kernels.allreduce(nodes, bytes, all_penalties, hops,
                                                           KrylovKernels::Call::nonblocking);
        return {cost.postal, cost.total(), nonblocking(started, drawn.input)};
    });
}

/// Figure 12.
void draw_halo_overlap(CurveTable& result, const Drawn& drawn) {
    add_curve(result, "postal", "Postal", 0);
    add_curve(result, "blocking", "Blocking, with penalties", 1);
    add_curve(result, "pipelined", "Blocking, pipelined", 2);
    add_curve(result, "nonblocking", "Nonblocking", 3);
    const HaloCounts counts = drawn.kernels.count(drawn.input.nodes, HaloPlacement::block);
    add_rows(result, drawn.axis, [&](double bytes) -> Seconds {
        const auto cost_of = [&](bool pipelined) {
            return drawn.kernels.halo(counts, KrylovKernels::Process::worst, {bytes, 0, 0},
                                      all_penalties, pipelined);
        };
        const KernelCost cost = cost_of(false);
        return {cost.postal, cost.total(), cost_of(true).total(), nonblocking(cost, drawn.input)};
    });
}

/// The penalties that a figure is about must be there.
void check_input(int figure, const KrylovKernels& kernels) {
    const std::string name = "figure " + std::to_string(figure);
    if ((figure == 8 || figure == 9) && !kernels.has_hops()) {
        throw std::invalid_argument(name +
                                    " needs hops: expected --topology, or hops in --run-data");
    }
    if (figure == 9 && !kernels.has_congestion()) {
        throw std::invalid_argument(name +
                                    " needs congestion: expected stalls in --run-data, above 0");
    }
}

std::string title_of(const ModelTable& table, const std::string& kernel, int figure,
                     const KrylovKernels& kernels, const KrylovInput& input) {
    const std::string processes = std::to_string(kernels.processes_per_node()) + " processes";
    std::string title = table.name;
    if (figure != over_nodes) { title += ", figure " + std::to_string(figure); }
    title += ": " + kernel;
    if (is_over_nodes(figure)) { return title + ", nodes of " + processes; }
    return title + ", " + std::to_string(input.nodes) + " nodes of " + processes;
}

} // namespace

bool is_krylov_kernel(std::string_view kernel) {
    return kernel == "allreduce" || kernel == "halo" || is_solver(kernel);
}

bool is_krylov_figure(int figure, std::string_view kernel) {
    const std::vector<int> figures = figures_of(kernel);
    return figure == over_nodes ||
           std::find(figures.begin(), figures.end(), figure) != figures.end();
}

std::string krylov_figures_of(std::string_view kernel) {
    std::string text;
    for (const int figure : figures_of(kernel)) {
        text += (text.empty() ? "" : ", ") + std::to_string(figure);
    }
    return text.empty() ? "none" : text;
}

bool is_over_nodes(int krylov_figure) {
    return krylov_figure == over_nodes || krylov_figure == solver_figure;
}

CurveTable krylov_curves(const ModelTable& table, const std::string& kernel, int figure,
                         const KrylovInput& input, const std::vector<double>& sizes) {
    const KrylovKernels kernels(table, input);
    check_input(figure, kernels);
    CurveTable result;
    result.title = title_of(table, kernel, figure, kernels, input);
    std::vector<double> axis = sizes;
    if (is_over_nodes(figure)) {
        result.axis = "nodes";
        result.axis_label = "nodes";
        axis = parse_sizes("1:" + std::to_string(input.nodes));
    }
    const Drawn drawn{kernels, input, axis};
    switch (figure) {
    case over_nodes:
        if (kernel == "allreduce") {
            draw_allreduce_over_nodes(result, drawn);
        } else if (kernel == "halo") {
            draw_halo_over_nodes(result, drawn);
        } else {
            draw_solver(result, kernel, drawn, true);
        }
        break;
    case 6: draw_halo_by_process(result, drawn, false); break;
    case 7: draw_halo_by_process(result, drawn, true); break;
    case 8: draw_allreduce_hops(result, drawn); break;
    case 9: draw_penalties(result, kernel, drawn); break;
    case solver_figure: draw_solver(result, kernel, drawn, false); break;
    case 11: draw_allreduce_overlap(result, drawn); break;
    case 12: draw_halo_overlap(result, drawn); break;
    default: throw std::invalid_argument("no figure " + std::to_string(figure));
    }
    return result;
}

} // namespace nodeaware::tuning
