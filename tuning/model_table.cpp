#include "tuning/model_table.hpp"

#include <algorithm>
#include <cstdlib>

namespace nodeaware::tuning {

namespace {

size_t index_of(auto value) { return static_cast<size_t>(value); }

} // namespace

std::string_view name_of(Locality locality) {
    constexpr std::string_view names[] = {"socket", "node", "network"};
    return names[index_of(locality)];
}

std::string_view name_of(Protocol protocol) {
    constexpr std::string_view names[] = {"short", "eager", "rendezvous"};
    return names[index_of(protocol)];
}

std::string_view name_of(Memory memory) {
    constexpr std::string_view names[] = {"host", "device"};
    return names[index_of(memory)];
}

std::string_view name_of(Direction direction) {
    constexpr std::string_view names[] = {"host_to_device", "device_to_host"};
    return names[index_of(direction)];
}

bool Path::empty() const {
    return std::none_of(by_protocol.begin(), by_protocol.end(),
                        [](const auto& parameters) { return parameters.has_value(); });
}

Protocol Path::protocol_of(double bytes) const {
    const auto has = [&](Protocol protocol) { return by_protocol[index_of(protocol)].has_value(); };
    if (has(Protocol::short_message) && bytes <= short_limit) return Protocol::short_message;
    if (has(Protocol::eager) && bytes <= eager_limit) return Protocol::eager;
    for (const Protocol protocol :
         {Protocol::rendezvous, Protocol::eager, Protocol::short_message}) {
        if (has(protocol)) return protocol;
    }
    throw TableError("a path without parameters");
}

const Postal& Path::postal_of(double bytes) const {
    return *by_protocol[index_of(protocol_of(bytes))];
}

Path& ModelTable::path(Memory memory, Locality locality) {
    return paths[index_of(memory)][index_of(locality)];
}

const Path& ModelTable::path(Memory memory, Locality locality) const {
    return paths[index_of(memory)][index_of(locality)];
}

bool has_paths(const ModelTable& table, Memory memory) {
    return !table.path(memory, Locality::node).empty() &&
           !table.path(memory, Locality::network).empty();
}

const Path& path_of(const ModelTable& table, Memory memory, Locality locality) {
    const Path* path = &table.path(memory, locality);
    if (path->empty() && locality == Locality::socket) {
        path = &table.path(memory, Locality::node);
    }
    if (path->empty()) {
        throw TableError("model table " + table.name + " has no parameters paths." +
                         std::string(name_of(memory)) + "." + std::string(name_of(locality)));
    }
    return *path;
}

Postal copy_of(const ModelTable& table, Direction direction, int processes) {
    const Copy* best = nullptr;
    for (const Copy& copy : table.copies) {
        if (copy.direction != direction || !copy.same_socket) { continue; }
        if (!best || std::abs(copy.processes - processes) < std::abs(best->processes - processes)) {
            best = &copy;
        }
    }
    if (!best) {
        throw TableError("model table " + table.name + " has no copies " +
                         std::string(name_of(direction)) + " on the same socket");
    }
    const double sharing = std::max(1.0, static_cast<double>(processes) / best->processes);
    return {best->postal.alpha, best->postal.beta * sharing};
}

} // namespace nodeaware::tuning
