#pragma once

#include "tools/fit/least_squares.hpp"
#include "tuning/model_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace nodeaware::tuning {

/// Recorded times from which a table is fitted.
struct Measurements {
    /// One-way times between two processes.
    struct Pair {
        Memory memory = Memory::host;
        Locality locality = Locality::network;
        std::vector<Point> points;
        bool operator==(const Pair&) const = default;
    };
    /// `processes` copy at the same time to or from one GPU, each `bytes` of the points; with
    /// Direction::both so many each way.
    struct Copies {
        Direction direction = Direction::host_to_device;
        bool same_socket = true;
        int processes = 1;
        std::vector<Point> points;
        HostMemory host = HostMemory::pinned;
        /// Copies of `bytes` that each process gives to a stream before it waits for all of them.
        int in_a_row = 1;
        bool operator==(const Copies&) const = default;
    };
    /// `processes` of a node each send `bytes` to another node at the same time.
    struct Simultaneous {
        Memory memory = Memory::host;
        double processes = 1;
        double bytes = 0;
        double seconds = 0;
        bool operator==(const Simultaneous&) const = default;
    };
    /// One process sends `messages` messages of `bytes` each to one partner, one after the other.
    struct InARow {
        double messages = 1;
        double bytes = 0;
        double seconds = 0; ///< for all of them
        bool operator==(const InARow&) const = default;
    };
    std::vector<Pair> pairs;
    std::vector<Copies> copies;
    std::vector<Simultaneous> simultaneous;
    std::vector<InARow> in_a_row; ///< between nodes, host memory; nothing is fitted from them
    /// Copies within shared memory by one process while the others of its node copy too.
    std::vector<Point> shared_copies;
    /// Seconds from raising a flag in shared memory until another process has seen it.
    std::vector<double> flag_latencies;
    std::vector<std::string> notes; ///< what of the files is left out, "ORIGIN:LINE: ..."

    bool operator==(const Measurements&) const = default;
    void add(const Measurements& other);
};

/// How the benchmark that wrote the files numbered its ranks, and the unit of its sizes.
struct BenchmarkLayout {
    int ranks_per_socket = 2;
    int ranks_per_node = 4;
    double element_bytes = 4;
};

/// The recorded output of a benchmark run: ping_pong, memcpy, memcpy_mult, maxrate, node_pong,
/// mult_pong or mult_pong_split, told apart by their headings (and the file name where two kinds
/// share one). Times not above 0 are skipped, and so is what comes after the last measurement (what
/// a scheduler says of the job), with a note. `origin` is the name of the file. Throws TableError,
/// "ORIGIN:LINE: what is wrong".
/// Of mult_pong and mult_pong_split nothing is used: no parameter of the models is fitted from
/// them.
Measurements parse_measurements(std::string_view text, const std::string& origin,
                                const BenchmarkLayout& layout);

/// Reads a file of such a benchmark, or one of measurement_json.hpp. Throws TableError.
Measurements read_measurements(const std::string& path, const BenchmarkLayout& layout);

} // namespace nodeaware::tuning
