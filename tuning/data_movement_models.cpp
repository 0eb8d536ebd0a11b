#include "tuning/data_movement_models.hpp"

#include <algorithm>

namespace nodeaware::tuning {

double multiple_messages(const ModelTable& table, Memory memory, double processes, double messages,
                         double bytes_per_message) {
    const Postal& path = path_of(table, memory, Locality::network).postal_of(bytes_per_message);
    const double bytes = messages * bytes_per_message;
    return max_rate(path, {messages, bytes, processes * bytes},
                    table.inverse_injection_rate[static_cast<size_t>(memory)]);
}

namespace {

Term exchange(const ModelTable& table, Memory memory, double processes, double messages,
              double bytes_per_message) {
    const Path& path = path_of(table, memory, Locality::network);
    return {"exchange", multiple_messages(table, memory, processes, messages, bytes_per_message),
            std::string(name_of(path.protocol_of(bytes_per_message)))};
}

Term copy(const ModelTable& table, Direction direction, double bytes, int processes) {
    return {std::string(name_of(direction)), postal(copy_of(table, direction, processes), bytes),
            ""};
}

/// One process deals `bytes` out to (or collects them from) the others that serve its GPU.
Term deal(const ModelTable& table, const char* name, double bytes, int processes) {
    const double part = bytes / processes;
    const Path& path = path_of(table, Memory::host, Locality::socket);
    return {name, (processes - 1) * postal(path.postal_of(part), part),
            std::string(name_of(path.protocol_of(part)))};
}

} // namespace

AlltoallvTimes alltoallv_paths(const ModelTable& table, const AlltoallvInput& input) {
    constexpr Direction off = Direction::device_to_host;
    constexpr Direction onto = Direction::host_to_device;
    const double received = input.messages * input.bytes_per_message;
    const double copied = received * (1 - input.duplicate_fraction);
    const int shares = input.processes_per_gpu;
    // With more processes than messages each process still sends one, of a smaller part.
    const double part_messages =
        input.shares_each_message ? input.messages : std::max(1.0, input.messages / shares);
    const double part_bytes = received / shares / part_messages;
    const Term shared =
        exchange(table, Memory::host, input.gpus_per_node * shares, part_messages, part_bytes);
    AlltoallvTimes times;
    if (!table.path(Memory::device, Locality::network).empty()) {
        times.device_aware = {exchange(table, Memory::device, input.gpus_per_node, input.messages,
                                       input.bytes_per_message)};
    }
    times.three_step = {
        copy(table, off, copied, 1),
        exchange(table, Memory::host, input.gpus_per_node, input.messages, input.bytes_per_message),
        copy(table, onto, received, 1)};
    times.extra_message = {copy(table, off, copied, 1), deal(table, "deal", received, shares),
                           shared, deal(table, "collect", received, shares),
                           copy(table, onto, received, 1)};
    times.duplicate_device_pointer = {copy(table, off, copied / shares, shares), shared,
                                      copy(table, onto, received / shares, shares)};
    return times;
}

double sum_of(const std::vector<Term>& terms) {
    double sum = 0;
    for (const Term& term : terms) { sum += term.seconds; }
    return sum;
}

} // namespace nodeaware::tuning
