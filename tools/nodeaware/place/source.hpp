#pragma once

#include "strategies/placement/choice.hpp"
#include "tools/nodeaware/place/torus.hpp"

#include <string>
#include <vector>

namespace nodeaware::place {

/// Which messages pass between ranks, and what else is known of them.
struct Source {
    RankGraph graph;
    bool has_bytes = false;
    Grid grid = {};          ///< if they are of one
    Placement recorded = {}; ///< if a trace tells of it
    bool is_whole = true;    ///< false: a part of it cannot be read, which has been said on stderr
};

/// What the values of a matrix are. Of `places` and `bytes`, each entry is one message.
enum class ValuesOf { places, bytes, messages };

/// `text`: 24x18x16. Throws std::invalid_argument.
Source grid_source(const std::string& text, bool is_periodic);
/// A file in the format of MatrixMarket, whose rows send and whose columns receive. Throws
/// std::runtime_error.
Source matrix_source(const std::string& path, ValuesOf values);
/// A folder. Throws tool::TraceError.
Source trace_source(const std::string& folder);

/// "torus:6x6x6" with any number of dimensions; "torus:6x6x6x2" and, of any number of dimensions,
/// "torus:6x6x6*2" with two nodes at each router. Throws std::invalid_argument.
Torus parse_torus(const std::string& text);

/// "3,5,2,4"; throws std::invalid_argument.
std::vector<int> parse_ppn(const std::string& text);

/// The first `nodes` names of a file with one host a line; empty lines, and what follows a #, are
/// left out. Throws std::runtime_error.
std::vector<std::string> read_hosts(const std::string& path, size_t nodes);

} // namespace nodeaware::place
