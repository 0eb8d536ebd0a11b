#include "tuning/own_path.hpp"

namespace nodeaware::tuning {

double shared_memory_step(const SharedMemory& shared, double bytes) {
    return bytes / shared.copy_rate + shared.flag_latency;
}

namespace {

double step(const ModelTable& table, double bytes, double device_bytes, Direction direction) {
    double time = shared_memory_step(*table.shared_memory, bytes - device_bytes);
    if (device_bytes > 0) {
        time += postal(copy_of(table, direction, 1, HostMemory::arena), device_bytes);
    }
    return time;
}

} // namespace

std::vector<Term> own_path(const ModelTable& table, const OwnPathInput& input) {
    if (!table.shared_memory) {
        throw TableError("model table " + table.name + " has no parameters shared_memory");
    }
    const Path& path = path_of(table, Memory::host, Locality::network);
    return {{"pack", step(table, input.packed, input.device_sent, Direction::device_to_host), ""},
            {"T_off", t_off(table, input.network),
             std::string(name_of(path.protocol_of(input.network.bytes / input.network.messages)))},
            {"unpack",
             step(table, input.unpacked, input.device_received, Direction::host_to_device), ""}};
}

} // namespace nodeaware::tuning
