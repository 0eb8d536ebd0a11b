#pragma once

#include <string>

namespace nodeaware {

/// Where this process may run, from hwloc. A number is -1 if the process is not bound to one such
/// part.
struct Binding {
    int socket = -1;
    int numa = -1;
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

/// The socket of a device of the PCI bus, "0000:3b:00.0"; -1: not known.
int socket_of_device(const std::string& bus_id);

} // namespace nodeaware
