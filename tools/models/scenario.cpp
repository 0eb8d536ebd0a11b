#include "tools/models/scenario.hpp"

#include "tools/models/settings.hpp"
#include "tuning/node_aware_models.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>

namespace nodeaware::tuning {

namespace {

/// What an exchange of one size amounts to.
struct Volumes {
    double gpus = 0;
    double standard_proc = 0; ///< bytes of a GPU with all duplicates
    double proc = 0;          ///< bytes of a GPU without
    double node = 0;
    double node_node = 0;
    double gathered_messages = 0; ///< of a process that serves its share of the nodes
    double redistributed = 0;     ///< bytes to each other GPU of the node

    Volumes(const Scenario& scenario, double bytes)
        : gpus(2.0 * scenario.gps), standard_proc(scenario.messages * bytes / gpus),
          proc(standard_proc * (1 - scenario.duplicate_fraction)), node(proc * gpus),
          node_node(node / scenario.nodes), gathered_messages(std::max(1.0, scenario.nodes / gpus)),
          redistributed(proc / gpus) {}
};

class Point {
  public:
    Point(const ModelTable& table, const Scenario& scenario, double bytes)
        : table_(table), scenario_(scenario), volume_(scenario, bytes) {}

    double standard(Memory memory) const {
        const double messages = std::max(1.0, scenario_.messages / volume_.gpus);
        return off(memory,
                   {messages, volume_.standard_proc, volume_.standard_proc * volume_.gpus}) +
               copies(memory, volume_.standard_proc, 1);
    }
    double three_step(Memory memory) const {
        return off(memory, {volume_.gathered_messages, volume_.proc, volume_.node}) +
               2 * on(memory) + copies(memory, volume_.proc, 1);
    }
    double two_step(Memory memory, bool one) const {
        const double messages = one ? volume_.gathered_messages : scenario_.nodes;
        return off(memory, {messages, volume_.proc, volume_.node}) + on(memory) +
               copies(memory, volume_.proc, 1);
    }
    double split(int ppg) const {
        const double messages = split_messages();
        const double processes = std::min<double>(scenario_.ppn, messages);
        const double share = volume_.node / processes;
        const double deals = std::max(0.0, std::ceil(processes / volume_.gpus / ppg) - 1);
        const Postal& socket = path_of(table_, Memory::host, Locality::socket).postal_of(share);
        const Load load{std::ceil(messages / processes), share, volume_.node};
        return t_off(table_, load) + 2 * (on(Memory::host) + deals * postal(socket, share)) +
               copies(Memory::host, volume_.proc / ppg, ppg);
    }

  private:
    double off(Memory memory, const Load& load) const {
        return memory == Memory::host ? t_off(table_, load) : t_off_da(table_, load);
    }
    double on(Memory memory) const {
        return t_on(table_, memory, volume_.redistributed, scenario_.gps);
    }
    double copies(Memory memory, double bytes, int processes) const {
        if (memory == Memory::device || table_.copies.empty()) { return 0; }
        return t_copy(table_, bytes, bytes, processes);
    }
    /// Algorithm 1: pieces up to the cap, which is raised rather than have more pieces than
    /// processes.
    double split_messages() const {
        double cap = scenario_.message_cap;
        if (cap <= 0) { cap = path_of(table_, Memory::host, Locality::network).eager_limit; }
        if (volume_.node_node < cap) { return scenario_.nodes; }
        cap = std::max({cap, volume_.node / scenario_.ppn, 1.0});
        return scenario_.nodes * std::max(1.0, std::ceil(volume_.node_node / cap));
    }

    const ModelTable& table_;
    const Scenario& scenario_;
    Volumes volume_;
};

std::optional<double> time_or_nothing(const std::function<double()>& time, std::string& missing) {
    try {
        return time();
    } catch (const TableError& error) {
        missing = error.what();
        return {};
    }
}

void find_winners(ScenarioPoint& point) {
    const auto better = [&](size_t one, std::optional<size_t> other) {
        return point.seconds[one] && (!other || *point.seconds[one] < *point.seconds[*other]);
    };
    std::optional<size_t> winner;
    std::optional<size_t> overall;
    for (size_t i = 0; i < curves.size(); ++i) {
        if (!curves[i].best_case && better(i, winner)) { winner = i; }
        if (better(i, overall)) { overall = i; }
    }
    point.winner = winner.value_or(0);
    point.overall_winner = overall.value_or(0);
}

} // namespace

Scenario parse_scenario(std::string_view text) {
    Scenario scenario;
    read_settings(text, "scenario", [&](const Setting& setting) {
        const std::string& key = setting.key;
        if (key == "messages") {
            scenario.messages = setting.at_least(1);
        } else if (key == "nodes") {
            scenario.nodes = setting.at_least(1);
        } else if (key == "dup") {
            if (setting.value < 0 || setting.value >= 1) {
                throw std::invalid_argument("scenario, dup: must be at least 0 and below 1");
            }
            scenario.duplicate_fraction = setting.value;
        } else if (key == "gps") {
            scenario.gps = static_cast<int>(setting.at_least(1));
        } else if (key == "ppn") {
            scenario.ppn = static_cast<int>(setting.at_least(1));
        } else if (key == "ppg") {
            scenario.ppg = static_cast<int>(setting.at_least(1));
        } else if (key == "cap") {
            scenario.message_cap = setting.at_least(1);
        } else {
            throw std::invalid_argument("scenario: no key " + key +
                                        "; keys are messages, nodes, dup, gps, ppn, ppg, cap");
        }
    });
    return scenario;
}

std::vector<double> parse_sizes(std::string_view text) {
    const size_t colon = text.find(':');
    const double first = number_in(text.substr(0, colon), "sizes");
    const double last =
        colon == std::string_view::npos ? first : number_in(text.substr(colon + 1), "sizes");
    if (first < 1 || last < first || last > 1e15) {
        throw std::invalid_argument("sizes: must be FIRST:LAST with 1 <= FIRST <= LAST <= 1e15");
    }
    std::vector<double> sizes = {first};
    for (int power = 0; std::exp2(power) < last; ++power) {
        if (std::exp2(power) > first) { sizes.push_back(std::exp2(power)); }
    }
    if (last > first) { sizes.push_back(last); }
    return sizes;
}

std::vector<ScenarioPoint> evaluate(const ModelTable& table, const Scenario& scenario,
                                    const std::vector<double>& sizes) {
    std::vector<ScenarioPoint> points;
    for (const double bytes : sizes) {
        const Point at(table, scenario, bytes);
        constexpr Memory host = Memory::host;
        constexpr Memory device = Memory::device;
        const std::array<std::function<double()>, curves.size()> times = {
            [&] { return at.standard(host); },
            [&] { return at.standard(device); },
            [&] { return at.three_step(host); },
            [&] { return at.three_step(device); },
            [&] { return at.two_step(host, false); },
            [&] { return at.two_step(device, false); },
            [&] { return at.two_step(host, true); },
            [&] { return at.two_step(device, true); },
            [&] { return at.split(1); },
            [&] { return at.split(scenario.ppg); }};
        ScenarioPoint point{bytes, {}, 0, 0};
        std::string missing;
        for (size_t i = 0; i < curves.size(); ++i) {
            point.seconds[i] = time_or_nothing(times[i], missing);
        }
        if (std::none_of(point.seconds.begin(), point.seconds.end(),
                         [](const auto& seconds) { return seconds.has_value(); })) {
            throw TableError(missing);
        }
        find_winners(point);
        points.push_back(point);
    }
    return points;
}

CurveTable curve_table(const ModelTable& table, const Scenario& scenario,
                       const std::vector<ScenarioPoint>& points) {
    char title[160];
    std::snprintf(title, sizeof title,
                  ": %g messages from one node to %g nodes, %g %% duplicate data",
                  scenario.messages, scenario.nodes, 100 * scenario.duplicate_fraction);
    CurveTable result{table.name + title, "least time", {}, {"winner", "overall_winner"}, {}};
    for (const Curve& curve : curves) {
        result.curves.push_back({std::string(curve.key), std::string(curve.label),
                                 curve.device_aware, curve.best_case, curve.colour});
    }
    for (const ScenarioPoint& point : points) {
        CurveTable::Row row{point.bytes,
                            {point.seconds.begin(), point.seconds.end()},
                            std::vector<bool>(curves.size()),
                            {{{}, std::string(curves[point.winner].key)},
                             {{}, std::string(curves[point.overall_winner].key)}}};
        row.marked[point.winner] = true;
        result.rows.push_back(std::move(row));
    }
    return result;
}

} // namespace nodeaware::tuning
