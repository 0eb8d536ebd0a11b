#pragma once

#include "runtime/job/machine.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace nodeaware::tool {

/// The GPUs of this machine or job, for `nodeaware info`.
struct FoundGpus {
    std::string summary; ///< in a few words
    /// A list; each has host, ordinal (as the first rank that sees it counts), name, memory in
    /// bytes, pci_id, socket and numa (-1: not known), and nearest_ranks: those of its host that
    /// are bound to its NUMA node, else to its socket. Under mpirun it is that of rank 0.
    nlohmann::ordered_json list;
};

/// `is_job`: asks all ranks of MPI_COMM_WORLD, collectively; else this process. Where there is no
/// CUDA driver, nothing is done.
FoundGpus find_gpus(const MachinePart& place, bool is_job);

/// As a table; nothing if there are none.
void print_gpus(const nlohmann::ordered_json& list);

} // namespace nodeaware::tool
