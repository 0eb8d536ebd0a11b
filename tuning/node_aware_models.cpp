#include "tuning/node_aware_models.hpp"

#include <algorithm>
#include <functional>

namespace nodeaware::tuning {

double t_on(const ModelTable& table, Memory memory, double bytes, double gps) {
    const Postal& socket = path_of(table, memory, Locality::socket).postal_of(bytes);
    const Postal& node = path_of(table, memory, Locality::node).postal_of(bytes);
    return (gps - 1) * postal(socket, bytes) + gps * postal(node, bytes);
}

double t_on_split(const ModelTable& table, double bytes, double pps, double ppg) {
    return t_on(table, Memory::host, bytes, std::max(1.0, pps / ppg));
}

double t_off(const ModelTable& table, const Load& load) {
    const Path& path = path_of(table, Memory::host, Locality::network);
    return max_rate(path.postal_of(load.bytes / load.messages), load,
                    table.inverse_injection_rate[0]);
}

double t_off_da(const ModelTable& table, const Load& load) {
    const Path& path = path_of(table, Memory::device, Locality::network);
    return max_rate(path.postal_of(load.bytes / load.messages), load,
                    table.inverse_injection_rate[1]);
}

double t_copy(const ModelTable& table, double sent, double received, int processes) {
    return postal(copy_of(table, Direction::device_to_host, processes), sent) +
           postal(copy_of(table, Direction::host_to_device, processes), received);
}

namespace {

std::string protocol_of(const ModelTable& table, Memory memory, Locality locality, double bytes) {
    return std::string(name_of(path_of(table, memory, locality).protocol_of(bytes)));
}

/// The two paths of T_on may be in different protocols: "eager/rendezvous" on socket and node.
std::string on_node_protocol(const ModelTable& table, Memory memory, double bytes) {
    const std::string socket = protocol_of(table, memory, Locality::socket, bytes);
    const std::string node = protocol_of(table, memory, Locality::node, bytes);
    return socket == node ? socket : socket + "/" + node;
}

/// Builds the rows of table 6 term by term.
class Rows {
  public:
    Rows(const ModelTable& table, const Table6Input& input) : table_(table), in_(input) {}

    Term off(Memory memory, double messages, double bytes, double node_bytes) const {
        const Load load{messages, bytes, node_bytes};
        const bool host = memory == Memory::host;
        return {host ? "T_off" : "T_off-DA", host ? t_off(table_, load) : t_off_da(table_, load),
                protocol_of(table_, memory, Locality::network, bytes / messages)};
    }
    Term on(Memory memory, double times, double bytes) const {
        return {times == 2 ? "2 T_on" : "T_on", times * t_on(table_, memory, bytes, in_.gps),
                on_node_protocol(table_, memory, bytes)};
    }
    Term on_split(int ppg) const {
        return {"2 T_on-split", 2 * t_on_split(table_, in_.s_node, in_.pps, ppg),
                on_node_protocol(table_, Memory::host, in_.s_node)};
    }
    Term copy(double received, int processes) const {
        return {"T_copy", t_copy(table_, in_.s_proc, received, processes), ""};
    }

    std::vector<Term> standard(Memory memory) const {
        const double messages = in_.m_proc > 0 ? in_.m_proc : in_.m_proc_node;
        // Device-aware, only the processes with a GPU send.
        const double senders = memory == Memory::host ? in_.ppn : 2 * in_.gps;
        return {off(memory, messages, in_.s_proc, senders * in_.s_proc)};
    }
    std::vector<Term> three_step(Memory memory) const {
        return {off(memory, in_.m_node_node, in_.s_node_node, in_.s_node),
                on(memory, 2, in_.s_node_node)};
    }
    std::vector<Term> two_step(Memory memory) const {
        return {off(memory, in_.m_proc_node, in_.s_proc, in_.s_node), on(memory, 1, in_.s_proc)};
    }
    std::vector<Term> split(int ppg) const {
        return staged(
            {off(Memory::host, in_.m_proc_node, in_.s_node / in_.ppn, in_.s_node), on_split(ppg)},
            ppg);
    }
    std::vector<Term> staged(std::vector<Term> terms, int processes) const {
        if (!table_.copies.empty()) { terms.push_back(copy(in_.s_node_node, processes)); }
        return terms;
    }

  private:
    const ModelTable& table_;
    const Table6Input& in_;
};

Composition compose(std::string_view key, std::string_view label, bool device_aware,
                    const std::function<std::vector<Term>()>& terms) {
    Composition row{key, label, device_aware, {}, {}, {}, {}};
    try {
        row.terms = terms();
        double sum = 0;
        for (const Term& term : row.terms) { sum += term.seconds; }
        row.seconds = sum;
    } catch (const TableError& error) { row.missing = error.what(); }
    return row;
}

} // namespace

std::vector<Composition> table6(const ModelTable& table, const Table6Input& input) {
    const Rows rows(table, input);
    constexpr Memory host = Memory::host;
    constexpr Memory device = Memory::device;
    std::vector<Composition> all;
    const auto add = [&](std::string_view label, bool aware,
                         const std::function<std::vector<Term>()>& terms) {
        all.push_back(compose(composition_keys[all.size()], label, aware, terms));
    };
    add("Standard, staged", false, [&] { return rows.standard(host); });
    add("Standard, device-aware", true, [&] { return rows.standard(device); });
    add("3-Step, staged", false, [&] { return rows.staged(rows.three_step(host), 1); });
    add("3-Step, device-aware", true, [&] { return rows.three_step(device); });
    add("2-Step, staged", false, [&] { return rows.staged(rows.two_step(host), 1); });
    add("2-Step, device-aware", true, [&] { return rows.two_step(device); });
    add("Split + MD", false, [&] { return rows.split(1); });
    add("Split + DD", false, [&] { return rows.split(input.ppg); });
    if (all[0].seconds && !table.copies.empty()) {
        all[0].seconds_with_copies = *all[0].seconds + rows.copy(input.s_proc, 1).seconds;
    }
    return all;
}

} // namespace nodeaware::tuning
