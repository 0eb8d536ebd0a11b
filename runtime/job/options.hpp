#pragma once

#include "runtime/job/operation.hpp"
#include "strategies/strategy.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nodeaware {

/// Ranks that share an arena.
enum class Region { node, socket, numa };

/// Whether MPI can send from and receive into the memory of GPUs.
enum class DeviceAware { automatic, yes, no };

/// Whether copies of many short runs are made by kernels; yes: also where it is not known that each
/// process has a GPU of its own.
enum class DeviceKernels { automatic, yes, no };

enum class LogLevel { off, warn, info, debug };

/// How messages of which the receivers do not know find them (nodeaware.h).
enum class SparseMethod { automatic, personalized, nonblocking, locality, node_pairs };

/// How an operation travels: by the application's own MPI call, by a strategy, or as the library
/// thinks best.
struct Choice {
    enum class Kind { native, fixed, automatic };
    Kind kind = Kind::automatic;
    const Strategy* strategy = nullptr; ///< for fixed
    /// allreduce: also where the order in which numbers are taken together may change bits.
    bool reorders = false;
};

/// All settings. Rank 0 reads them, every rank of the job uses what rank 0 has read.
struct Options {
    bool disable = false;
    std::array<Choice, operation_count> strategy{};
    Parameters parameters{};
    int radix = 0;     ///< of nodes that relay; 0: chosen by the model
    std::string model; ///< name or path of the model table; empty: the user's, else the default
    Region region = Region::node;
    DeviceAware device_aware = DeviceAware::automatic;
    DeviceKernels device_kernels = DeviceKernels::automatic;
    bool reorders_grids = false;
    SparseMethod sparse = SparseMethod::automatic;
    std::vector<int> ppn;       ///< sizes of virtual nodes, used in turn; empty: none
    bool ppn_is_cyclic = false; ///< ranks are dealt out to the virtual nodes one by one
    LogLevel log = LogLevel::warn;
    std::string log_file;
    bool report = false;
    bool report_times = true; ///< and not only what is counted anyway
    std::string report_path;  ///< empty: stderr
    bool signals = false;     ///< report and trace also where one ends the program
    bool observes = false;    ///< every call is left to MPI, but seen
    std::string trace;        ///< a folder; empty: none
    std::string tuning;       ///< a file with learned choices; empty: none
    bool nvtx = false;        ///< ranges.hpp
    bool strict = false;
    double batch_timeout = -1; ///< seconds; negative: from the model

    Options(); ///< the defaults
    const Choice& choice(Operation operation) const {
        return strategy[static_cast<size_t>(operation)];
    }
};

/// A value that an option cannot have; what() says what was expected.
struct BadValue : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One row of the option table, from which environment, file, `nodeaware info` and the README are
/// served.
struct OptionRow {
    std::string_view name; ///< without the prefix: MESSAGE_CAP for NODEAWARE_MESSAGE_CAP
    std::string_view values;
    std::string_view default_value;
    std::string_view doc;
    void (*set)(Options& options, std::string_view value); ///< throws BadValue
};

const std::vector<OptionRow>& option_table();

/// Where the value of an option comes from.
struct Setting {
    std::string value;
    std::string source; ///< "default", "environment" or "FILE:LINE"
};

/// Settings with their sources, in the order of the table, and what was wrong with the others.
struct ReadOptions {
    Options options;
    std::vector<Setting> settings;
    std::vector<std::string> complaints;
};

/// Reads NODEAWARE_* from `environment` (strings of the form NAME=VALUE) and from the file that
/// NODEAWARE_CONFIG names (lines NAME = VALUE, # begins a comment); the environment wins. Never
/// throws: bad values leave the default and a complaint.
ReadOptions read_options(const std::vector<std::string>& environment);

/// The environment of this process.
std::vector<std::string> process_environment();

/// Settings as text that apply_settings() reads, to send them to the other ranks.
std::string settings_text(const ReadOptions& read);
Options apply_settings(std::string_view text);

/// A number of bytes, with an optional suffix K, M or G (powers of 1024). Throws BadValue.
uint64_t parse_bytes(std::string_view text);

/// The entry of `candidates` that `word` probably means, if there is one.
std::optional<std::string> near_miss(std::string_view word,
                                     const std::vector<std::string>& candidates);

} // namespace nodeaware
