#pragma once

#include "tuning/postal.hpp"

#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nodeaware::tuning {

/// Where two processes are with respect to each other.
enum class Locality { socket, node, network };
/// How MPI sends a message of a size: in the envelope, into a buffer, or after a handshake.
enum class Protocol { short_message, eager, rendezvous };
/// Where the bytes of a message lie.
enum class Memory { host, device };
enum class Direction { host_to_device, device_to_host };

inline constexpr std::array localities = {Locality::socket, Locality::node, Locality::network};
inline constexpr std::array protocols = {Protocol::short_message, Protocol::eager,
                                         Protocol::rendezvous};
inline constexpr std::array memories = {Memory::host, Memory::device};

std::string_view name_of(Locality locality);   ///< "socket", "node", "network"
std::string_view name_of(Protocol protocol);   ///< "short", "eager", "rendezvous"
std::string_view name_of(Memory memory);       ///< "host", "device"
std::string_view name_of(Direction direction); ///< "host_to_device", "device_to_host"

/// Messages between two processes: postal parameters of each protocol that this path has.
struct Path {
    std::array<std::optional<Postal>, 3> by_protocol; ///< index: Protocol
    double short_limit = 0; ///< largest message (bytes) of the short protocol
    double eager_limit = 0; ///< largest message (bytes) of the eager protocol
    /// Between nodes: seconds by which a message delays the next message that any rank of its node
    /// sends (LogGP's g, of a node). Empty: not known. Index: Protocol.
    std::array<std::optional<double>, 3> gaps{};

    bool empty() const;
    /// The protocol of a message of `bytes`: the one of its size, else the nearest that the path
    /// has. The path must not be empty.
    Protocol protocol_of(double bytes) const;
    const Postal& postal_of(double bytes) const;
    bool operator==(const Path&) const = default;
};

/// Copies between host and one GPU, made by `processes` at the same time, each its own `bytes`.
struct Copy {
    Direction direction = Direction::host_to_device;
    bool same_socket = true;
    int processes = 1;
    Postal postal;
    bool operator==(const Copy&) const = default;
};

/// The library's own step on a node: a copy to or from the arena, announced by a flag.
struct SharedMemory {
    double copy_rate = 0;    ///< bytes/second of one process that copies while all others do
    double flag_latency = 0; ///< seconds from raising a flag until another process has seen it
    bool operator==(const SharedMemory&) const = default;
};

/// One kind of link of the network ([K] table 2).
struct Link {
    std::string name;
    double latency = 0;                  ///< seconds per hop
    std::map<std::string, double> pings; ///< measured one-way times (seconds) by what was crossed
    bool operator==(const Link&) const = default;
};

/// Parameters of the penalties of [K]; 0 where the machine has none.
struct Network {
    double stall_seconds = 0; ///< T_stall: seconds per stalled byte
    double flop_seconds = 0;  ///< T_flop: seconds per floating-point operation of one core
    std::vector<Link> links;
    bool operator==(const Network&) const = default;
};

/// What was measured, so that a table is not used unnoticed on another machine. Empty: not known.
struct Fingerprint {
    std::string mpi;
    std::string mpi_version;
    std::string host_model;
    int nodes = 0;
    int processes_per_node = 0;
    int processes_per_socket = 0;
    int gpus_per_node = 0;
    std::string date;
    std::string library_version;
    bool operator==(const Fingerprint&) const = default;
};

/// Measured parameters of one machine with one MPI. Seconds, bytes, seconds per byte throughout.
struct ModelTable {
    std::string name;
    std::string description;
    std::vector<std::string> sources;
    std::vector<std::string> notes;
    Fingerprint fingerprint;
    std::array<std::array<Path, 3>, 2> paths;       ///< index: Memory, Locality
    std::array<double, 2> inverse_injection_rate{}; ///< index: Memory; 1/R_N, 0: never reached
    std::vector<Copy> copies;
    std::optional<SharedMemory> shared_memory;
    std::optional<Network> network;

    Path& path(Memory memory, Locality locality);
    const Path& path(Memory memory, Locality locality) const;
    bool operator==(const ModelTable&) const = default;
};

/// A table that cannot be read, or that lacks what a model needs.
class TableError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Whether the table can tell what messages between such memory cost on and between nodes.
bool has_paths(const ModelTable& table, Memory memory);

/// The path of the table; on the socket the one on the node where only that was measured. Throws
/// TableError, which names the table and the path, where there is none.
const Path& path_of(const ModelTable& table, Memory memory, Locality locality);

/// Copying parameters (same socket) of each of `processes` that copy at the same time: those that
/// were measured with the number of processes nearest to it. More than these share what these got
/// of the one link to the GPU. Throws TableError where the table has no copies.
Postal copy_of(const ModelTable& table, Direction direction, int processes);

} // namespace nodeaware::tuning
