#pragma once

#include <string>
#include <vector>

namespace nodeaware {

/// A part of the machine that holds something as a whole; -1: there is no such part.
struct MachinePart {
    int socket = -1;
    int numa = -1;
};

/// Where this process may run, from hwloc.
struct Binding : MachinePart {
    int cores = 1; ///< cores of the machine that this job may use
};

/// What `nodeaware info` tells of a machine.
struct MachineDescription {
    int sockets = 0;
    int numa_nodes = 0;
    int cores = 0;
    int hardware_threads = 0;
    Binding place;
    std::string binding; ///< hardware threads that this process may use, as a list
};

/// Asks hwloc (which also reads HWLOC_XMLFILE and HWLOC_SYNTHETIC, for tests). If hwloc fails, a
/// machine of one core.
MachineDescription describe_machine();

/// Where devices are, by their PCI ids ("0000:3b:00.0"). What hwloc does not find is nowhere.
std::vector<MachinePart> find_devices(const std::vector<std::string>& pci_ids);

} // namespace nodeaware
