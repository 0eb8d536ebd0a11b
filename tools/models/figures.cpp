#include "tools/models/figures.hpp"

#include "tuning/data_movement_models.hpp"
#include "tuning/node_aware_models.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <span>
#include <stdexcept>

namespace nodeaware::tuning {

namespace {

constexpr std::array between_nodes = {Locality::network};
constexpr std::array on_the_socket = {Locality::socket};

template <class... Values> std::string format(const char* pattern, Values... values) {
    char text[160];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
}

/// What the table lacks of a figure.
class Needs {
  public:
    explicit Needs(const ModelTable& table) : table_(table) {}

    void paths(Memory memory, std::span<const Locality> where) {
        for (const Locality locality : where) {
            try {
                path_of(table_, memory, locality);
            } catch (const TableError&) {
                add("paths." + std::string(name_of(memory)) + "." + std::string(name_of(locality)));
            }
        }
    }
    /// GPUDirect, and the copies to and from the CPU with messages in between.
    void both_ways_between_gpus() {
        paths(Memory::device, between_nodes);
        paths(Memory::host, between_nodes);
        for (const Direction direction : {Direction::device_to_host, Direction::host_to_device}) {
            try {
                copy_of(table_, direction, 1);
            } catch (const TableError&) {
                add("copies " + std::string(name_of(direction)) + " on the same socket");
            }
        }
    }
    int gpus_per_node(const FigureInput& input) {
        return number(input.gpus_per_node, table_.fingerprint.gpus_per_node, "gpus_per_node");
    }
    int processes_per_node(const FigureInput& input) {
        return number(input.processes_per_node, table_.fingerprint.processes_per_node,
                      "processes_per_node");
    }
    void check(int figure) const {
        if (missing_.empty()) { return; }
        throw TableError("model table " + table_.name + " has no parameters " + missing_ +
                         ", which figure " + std::to_string(figure) + " needs");
    }

  private:
    /// `asked_for`, else what the table says.
    int number(int asked_for, int of_table, const char* name) {
        if (asked_for > 0) { return asked_for; }
        if (of_table <= 0) { add(std::string("fingerprint.") + name); }
        return of_table;
    }
    void add(const std::string& what) { missing_ += (missing_.empty() ? "" : ", ") + what; }

    const ModelTable& table_;
    std::string missing_;
};

CurveTable titled(const ModelTable& table, int number, const std::string& what) {
    return {table.name + ", figure " + std::to_string(number) + ": " + what, "", {}, {}, {}};
}

size_t least_of(const CurveTable::Row& row, size_t first, size_t count) {
    const auto begin = row.seconds.begin() + static_cast<ptrdiff_t>(first);
    return static_cast<size_t>(std::min_element(begin, begin + static_cast<ptrdiff_t>(count)) -
                               row.seconds.begin());
}

void add_winners(CurveTable& result) {
    result.mark = "least time";
    result.columns = {"winner"};
    for (CurveTable::Row& row : result.rows) {
        const size_t winner = least_of(row, 0, row.seconds.size());
        row.marked[winner] = true;
        row.values = {{{}, result.curves[winner].key}};
    }
}

std::string duplicates(const FigureInput& input) {
    if (input.duplicate_fraction <= 0) { return ""; }
    return format(", %g %% duplicate data", 100 * input.duplicate_fraction);
}

AlltoallvInput messages_of_gpus(double messages, double bytes, int gpus, double duplicates) {
    return {.messages = messages,
            .bytes_per_message = bytes,
            .gpus_per_node = gpus,
            .processes_per_gpu = 1,
            .duplicate_fraction = duplicates};
}

Seconds gpudirect_and_three_step(const ModelTable& table, const AlltoallvInput& input) {
    const AlltoallvTimes times = alltoallv_paths(table, input);
    return {sum_of(times.device_aware), sum_of(times.three_step)};
}

CurveTable figure_2(const ModelTable& table, const std::vector<double>& sizes) {
    Needs needs(table);
    CurveTable result = titled(table, 2, "one message");
    for (const Memory memory : memories) {
        const bool gpu = memory == Memory::device;
        needs.paths(memory, localities);
        for (const Locality where : localities) {
            const std::string name(name_of(where));
            add_curve(result, (gpu ? "gpu_" : "cpu_") + name, (gpu ? "GPU, " : "CPU, ") + name,
                      static_cast<int>(where), gpu);
        }
    }
    needs.check(2);
    add_rows(result, sizes, [&](double bytes) {
        Seconds seconds;
        for (const Memory memory : memories) {
            for (const Locality where : localities) {
                seconds.push_back(postal(path_of(table, memory, where).postal_of(bytes), bytes));
            }
        }
        return seconds;
    });
    return result;
}

CurveTable figure_3(const ModelTable& table, const std::vector<double>& sizes) {
    Needs needs(table);
    needs.both_ways_between_gpus();
    needs.check(3);
    CurveTable result = titled(table, 3, "one message between GPUs of two nodes");
    add_curve(result, "gpudirect", "GPUDirect", 0);
    add_curve(result, "three_step", "3-step copy to CPU", 1, true);
    add_rows(result, sizes, [&](double bytes) {
        return gpudirect_and_three_step(table, messages_of_gpus(1, bytes, 1, 0));
    });
    add_winners(result);
    return result;
}

CurveTable figure_4(const ModelTable& table, const FigureInput& input,
                    const std::vector<double>& sizes) {
    Needs needs(table);
    needs.paths(Memory::host, between_nodes);
    const int processes = needs.processes_per_node(input);
    needs.check(4);
    // All of them first, for it counts as the least of equal times.
    std::vector<int> sharers = {processes};
    for (unsigned count = std::bit_floor(static_cast<unsigned>(processes - 1)); count > 0;
         count /= 2) {
        sharers.push_back(static_cast<int>(count));
    }
    CurveTable result = titled(table, 4, "data between two nodes, split over PPN processes");
    for (size_t i = 0; i < sharers.size(); ++i) {
        add_curve(result, format("ppn_%d", sharers[i]), format("PPN %d", sharers[i]),
                  static_cast<int>(i));
    }
    add_rows(result, sizes, [&](double bytes) {
        Seconds seconds;
        for (const int count : sharers) {
            const double share = bytes / count;
            seconds.push_back(t_off(table, {1, share, bytes}));
        }
        return seconds;
    });
    add_winners(result);
    return result;
}

CurveTable figure_5(const ModelTable& table, const FigureInput& input,
                    const std::vector<double>& sizes) {
    constexpr std::array counts = {1, 10, 100};
    Needs needs(table);
    needs.both_ways_between_gpus();
    const int gpus = needs.gpus_per_node(input);
    needs.check(5);
    CurveTable result = titled(
        table, 5, format("messages from each of %d GPUs of a node", gpus) + duplicates(input));
    for (size_t i = 0; i < counts.size(); ++i) {
        const auto colour = static_cast<int>(i);
        add_curve(result, format("gpudirect_%d", counts[i]), format("GPUDirect, %d", counts[i]),
                  colour);
        add_curve(result, format("three_step_%d", counts[i]),
                  format("3-step copy to CPU, %d", counts[i]), colour, true);
    }
    add_rows(result, sizes, [&](double bytes) {
        Seconds all;
        for (const int count : counts) {
            const Seconds both = gpudirect_and_three_step(
                table, messages_of_gpus(count, bytes, gpus, input.duplicate_fraction));
            all.insert(all.end(), both.begin(), both.end());
        }
        return all;
    });
    result.mark = "least time for as many";
    result.columns = {"copying_wins_from"};
    for (CurveTable::Row& row : result.rows) {
        for (size_t i = 0; i < row.seconds.size(); i += 2) {
            row.marked[least_of(row, i, 2)] = true;
        }
        row.values = {{copying_wins_from(table, row.at, gpus, input.duplicate_fraction), ""}};
    }
    return result;
}

/// What stays on a node is left out: section VI tells of no other way for it.
CurveTable figure_6(const ModelTable& table, const FigureInput& input,
                    const std::vector<double>& sizes) {
    Needs needs(table);
    needs.both_ways_between_gpus();
    needs.paths(Memory::host, on_the_socket);
    const int gpus = needs.gpus_per_node(input);
    const int processes = needs.processes_per_node(input);
    needs.check(6);
    CurveTable result =
        titled(table, 6,
               format("%d nodes, %d GPUs and %d cores each", input.nodes, gpus, processes) +
                   duplicates(input));
    add_curve(result, "device_aware", "CUDA-aware", 0);
    add_curve(result, "three_step", "3-step", 1);
    add_curve(result, "extra_message", "Extra msg, alltoallv", 2);
    add_curve(result, "dup_devptr", "Dup devptr, alltoallv", 3);
    add_curve(result, "alltoall_extra_message", "Extra msg, alltoall", 2, true);
    add_curve(result, "alltoall_dup_devptr", "Dup devptr, alltoall", 3, true);
    add_rows(result, sizes, [&](double bytes) -> Seconds {
        AlltoallvInput of_gpu = messages_of_gpus(static_cast<double>(input.nodes - 1) * gpus, bytes,
                                                 gpus, input.duplicate_fraction);
        of_gpu.processes_per_gpu = std::max(1, processes / gpus);
        const AlltoallvTimes alltoallv = alltoallv_paths(table, of_gpu);
        of_gpu.shares_each_message = true;
        const AlltoallvTimes alltoall = alltoallv_paths(table, of_gpu);
        return {sum_of(alltoallv.device_aware),  sum_of(alltoallv.three_step),
                sum_of(alltoallv.extra_message), sum_of(alltoallv.duplicate_device_pointer),
                sum_of(alltoall.extra_message),  sum_of(alltoall.duplicate_device_pointer)};
    });
    add_winners(result);
    return result;
}

} // namespace

bool is_of_kernel(int figure, std::string_view kernel) {
    if (kernel == "alltoallv") { return figure == last_figure; }
    return kernel == "copies" && figure >= first_figure && figure < last_figure;
}

std::optional<double> copying_wins_from(const ModelTable& table, double bytes, int gpus_per_node,
                                        double duplicate_fraction) {
    // Both are linear in the number of messages: what each one saves has to make up for what the
    // copies take however little there is to copy.
    const auto saved_by = [&](double messages) {
        const Seconds both = gpudirect_and_three_step(
            table, messages_of_gpus(messages, bytes, gpus_per_node, duplicate_fraction));
        return both[0] - both[1];
    };
    const double by_each = saved_by(2) - saved_by(1);
    const double lost = by_each - saved_by(1);
    if (by_each <= 0) { return {}; }
    return std::max(1.0, std::floor(lost / by_each) + 1);
}

CurveTable figure(const ModelTable& table, int number, const FigureInput& input,
                  const std::vector<double>& sizes) {
    switch (number) {
    case 2: return figure_2(table, sizes);
    case 3: return figure_3(table, sizes);
    case 4: return figure_4(table, input, sizes);
    case 5: return figure_5(table, input, sizes);
    case 6: return figure_6(table, input, sizes);
    default: throw std::invalid_argument("no figure " + std::to_string(number));
    }
}

} // namespace nodeaware::tuning
