#pragma once

#include "tuning/model_table.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Section 4 and table 6 of [N] (see postal.hpp). Seconds, bytes; all functions throw TableError
/// where the table lacks the parameters.
namespace nodeaware::tuning {

/// T_on(s) = (gps - 1) postal_socket(s) + gps postal_node(s): gathering on a node, or handing out
/// on it, with one process for each of `gps` GPUs per socket on two sockets. (4.1)
double t_on(const ModelTable& table, Memory memory, double bytes, double gps);

/// T_on-split(s, ppg) = (pps/ppg - 1) postal_socket(s) + (pps/ppg) postal_node(s): dealing the data
/// of one GPU out over all `pps` processes of both sockets, when `ppg` processes hold a part each;
/// `bytes` is the size of each of these messages. pps/ppg counts as 1 at least. (4.2)
double t_on_split(const ModelTable& table, double bytes, double pps, double ppg);

/// T_off(m, s) = alpha m + max(s_node / R_N, s beta): between nodes from host memory. The protocol
/// is that of messages of load.bytes / load.messages. (4.3)
double t_off(const ModelTable& table, const Load& load);

/// T_off-DA(m, s) = alpha m + s beta: between nodes from device memory; load.node_bytes counts only
/// where the table has an injection limit for device memory. (4.4)
double t_off_da(const ModelTable& table, const Load& load);

/// T_copy(s_send, s_recv): off the GPU before sending, onto the GPU after receiving. (4.5)
/// Corrected: (4.5) prints the H2D parameters with s_send and the D2H parameters with s_recv, but
/// what is sent is copied from the device to the host.
double t_copy(const ModelTable& table, double sent, double received, int processes);

/// Parameters of table 6, explained in table 7.
struct Table6Input {
    double s_proc = 0;      ///< most bytes that one process (GPU) sends
    double s_node = 0;      ///< most bytes that one node sends
    double s_node_node = 0; ///< most bytes between two nodes
    double m_proc_node = 1; ///< most nodes that one process sends to
    double m_node_node = 1; ///< most messages between two nodes
    /// Messages of the busiest process in standard communication: m of (2.2), which table 7 does
    /// not list. 0: m_proc_node.
    double m_proc = 0;
    int gps = 2;  ///< GPUs per socket
    int pps = 20; ///< processes per socket
    /// Processes per node: those of (2.2) that send from host memory (from device memory the 2 gps
    /// with a GPU do), and those that split deals out to.
    int ppn = 40;
    int ppg = 4; ///< processes per GPU of Split + DD
};

/// One summand of a time, with the MPI protocol that its messages use (empty: no messages).
struct Term {
    std::string name;
    double seconds = 0;
    std::string protocol;
};

/// One way to exchange the data.
struct Composition {
    std::string_view key;   ///< "three_step_staged"
    std::string_view label; ///< "3-Step, staged"
    bool device_aware = false;
    /// The sum of `terms`; nothing where the table lacks what the composition needs.
    std::optional<double> seconds;
    std::vector<Term> terms;
    /// Staged standard communication: with T_copy, which table 6 leaves out of this row alone
    /// although the data start and end on the GPU.
    std::optional<double> seconds_with_copies;
    std::string missing; ///< why there is no time
};

/// Keys of the eight compositions, in the order of table 6.
inline constexpr std::string_view composition_keys[] = {
    "standard_staged", "standard_device", "three_step_staged", "three_step_device",
    "two_step_staged", "two_step_device", "split_md",          "split_dd"};

/// The eight compositions, row by row as table 6 states them (with T_copy as corrected above).
/// T_copy is left out for a table without copies, which is of a machine without GPUs.
std::vector<Composition> table6(const ModelTable& table, const Table6Input& input);

} // namespace nodeaware::tuning
