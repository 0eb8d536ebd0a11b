#include "runtime/job/machine.hpp"

#include <hwloc.h>

#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace nodeaware {

namespace {

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

/// Where a container has no /sys, hwloc would say so on stderr, and then ask the processor.
bool is_described() {
    for (const char* const name :
         {"HWLOC_FSROOT", "HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_COMPONENTS"}) {
        if (std::getenv(name) != nullptr) { return true; }
    }
    return access("/sys/devices/system/cpu/cpu0/topology", R_OK | X_OK) == 0 ||
           access("/sys/bus/cpu/devices/cpu0/topology", R_OK | X_OK) == 0;
}

void leave_out_linux(hwloc_topology_t topology) {
#if HWLOC_API_VERSION >= 0x00020100
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "linux");
#else
    static_cast<void>(topology);
#endif
}

/// Caches are of no interest, and looking for devices takes long.
Topology load_topology(bool with_devices) {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) { return nullptr; }
    Topology topology(raw);
    if (!is_described()) { leave_out_linux(raw); }
    const auto devices =
        with_devices ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE;
    if (hwloc_topology_set_io_types_filter(raw, devices) != 0 ||
        hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE) != 0 ||
        hwloc_topology_load(raw) != 0) {
        return nullptr;
    }
    return topology;
}

/// The number of the only object of this type that contains the whole binding, or -1.
int containing(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_bitmap_t binding) {
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
        if (hwloc_bitmap_isincluded(binding, object->cpuset) != 0) {
            return static_cast<int>(object->logical_index);
        }
    }
    return -1;
}

MachinePart part_with(hwloc_topology_t topology, hwloc_const_bitmap_t threads) {
    return {containing(topology, HWLOC_OBJ_PACKAGE, threads),
            containing(topology, HWLOC_OBJ_NUMANODE, threads)};
}

} // namespace

MachineDescription describe_machine() {
    MachineDescription machine{1, 1, 1, 1, {}, ""};
    const Topology topology = load_topology(false);
    if (topology == nullptr) { return machine; }
    hwloc_topology_t raw = topology.get();
    machine.sockets = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PACKAGE);
    machine.numa_nodes = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE);
    machine.cores = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
    machine.hardware_threads = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU);
    machine.place.cores = machine.cores > 0 ? machine.cores : 1;
    const Bitmap binding(hwloc_bitmap_alloc());
    if (binding == nullptr || hwloc_get_cpubind(raw, binding.get(), HWLOC_CPUBIND_PROCESS) != 0) {
        return machine;
    }
    static_cast<MachinePart&>(machine.place) = part_with(raw, binding.get());
    char* text = nullptr;
    if (hwloc_bitmap_list_asprintf(&text, binding.get()) >= 0) {
        machine.binding = text;
        std::free(text);
    }
    return machine;
}

std::vector<MachinePart> find_devices(const std::vector<std::string>& pci_ids) {
    std::vector<MachinePart> parts(pci_ids.size());
    const Topology topology = pci_ids.empty() ? nullptr : load_topology(true);
    if (topology == nullptr) { return parts; }
    for (size_t i = 0; i < pci_ids.size(); ++i) {
        hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology.get(), pci_ids[i].c_str());
        if (device == nullptr) { continue; }
        const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology.get(), device);
        if (near != nullptr) { parts[i] = part_with(topology.get(), near->cpuset); }
    }
    return parts;
}

} // namespace nodeaware
