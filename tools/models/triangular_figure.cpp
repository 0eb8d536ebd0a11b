#include "tools/models/triangular_figure.hpp"

#include "tools/models/triangular_levels.hpp"
#include "tools/models/triangular_schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace nodeaware::tuning {

namespace {

using namespace triangular;

constexpr int most_processes = 4096;

struct Layout {
    const char* key;
    const char* label;
    ProcessGrid (*grid)(int processes);
};

const Layout layouts[] = {{"px1", "P x 1",
                           [](int processes) {
                               return ProcessGrid{processes, 1};
                           }},
                          {"2d", "2D",
                           [](int processes) {
                               const auto grids = usual_grids(processes);
                               return grids.size() == 3 ? grids[1] : grids[0];
                           }},
                          {"1xp", "1 x P", [](int processes) {
                               return ProcessGrid{1, processes};
                           }}};

void mark_least(CurveTable& table) {
    table.mark = "least time";
    for (CurveTable::Row& row : table.rows) {
        const auto least = std::min_element(row.seconds.begin(), row.seconds.end());
        row.marked[static_cast<size_t>(least - row.seconds.begin())] = true;
    }
}

CurveTable layouts_over(const std::vector<double>& processes, const std::string& title,
                        const std::string& axis_label,
                        const std::function<double(const ProcessGrid&)>& seconds) {
    CurveTable table;
    table.title = title;
    table.axis = "processes";
    table.axis_label = axis_label;
    int colour = 0;
    for (const Layout& layout : layouts) { add_curve(table, layout.key, layout.label, colour++); }
    add_rows(table, processes, [&](double count) {
        Seconds row;
        for (const Layout& layout : layouts) {
            row.push_back(seconds(layout.grid(static_cast<int>(count))));
        }
        return row;
    });
    mark_least(table);
    return table;
}

Topology in_order(int processes, int per_node) {
    std::vector<int> node_of;
    node_of.reserve(static_cast<size_t>(processes));
    for (int rank = 0; rank < processes; ++rank) { node_of.push_back(rank / per_node); }
    return Topology(node_of);
}

CurveTable over_processes(const ModelTable& table, const TriangularInput& input,
                          const Supernodes& supernodes) {
    const int per_node = input.processes_per_node > 0 ? input.processes_per_node
                                                      : table.fingerprint.processes_per_node;
    if (per_node <= 0) {
        throw TableError("model table " + table.name +
                         " has no parameters fingerprint.processes_per_node, which --kernel sptrsv "
                         "needs without --ppn");
    }
    const int nodes = input.nodes > 0 ? input.nodes : 16;
    if (nodes > most_processes / per_node) {
        throw std::invalid_argument(
            "--nodes, --ppn: expected at most " + std::to_string(most_processes) +
            " processes, found " + std::to_string(nodes) + " nodes of " + std::to_string(per_node));
    }
    std::vector<double> processes;
    for (int count = 1; count < nodes * per_node; count *= 2) { processes.push_back(count); }
    processes.push_back(nodes * per_node);
    const TriangularCosts costs(table);
    return layouts_over(processes, table.name + ": sptrsv of " + input.name, "processes",
                        [&](const ProcessGrid& grid) {
                            const Topology topology = in_order(grid.rows * grid.columns, per_node);
                            return scheduled_solve(
                                supernodes, distribute(supernodes, grid, input.tree, topology),
                                topology, costs);
                        });
}

const std::vector<double> published_gpus = {1, 2, 3, 6, 12, 18};

CurveTable parts_over_gpus(const TriangularInput& input, const Supernodes& supernodes) {
    CurveTable table;
    table.title = "Summit: sptrsv of " + input.name + ", P x 1";
    table.axis = "processes";
    table.axis_label = "GPUs";
    add_curve(table, "computation", "Computation", 0);
    add_curve(table, "communication", "Communication", 1);
    add_curve(table, "total", "Both", 2);
    add_rows(table, published_gpus, [&](double count) -> Seconds {
        const LevelTimes times =
            solve_by_levels(supernodes, {static_cast<int>(count), 1}, SolvingGpus{});
        return {times.computation, times.communication, times.total()};
    });
    return table;
}

} // namespace

bool is_triangular_figure(int figure) { return figure == 0 || figure == 5 || figure == 7; }

CurveTable triangular_curves(const ModelTable& table, int figure, const TriangularInput& input) {
    const Supernodes supernodes = supernodes_of(input.factor, {});
    if (figure == 0) { return over_processes(table, input, supernodes); }
    if (figure == 7) { return parts_over_gpus(input, supernodes); }
    return layouts_over(published_gpus, "Summit: sptrsv of " + input.name, "GPUs",
                        [&](const ProcessGrid& grid) {
                            return solve_by_levels(supernodes, grid, SolvingGpus{}).total();
                        });
}

} // namespace nodeaware::tuning
