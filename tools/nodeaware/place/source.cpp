#include "tools/nodeaware/place/source.hpp"

#include "strategies/topology.hpp"
#include "tools/bench/matrix_market.hpp"
#include "tools/nodeaware/trace/matrix.hpp"
#include "tools/nodeaware/trace/printing.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace nodeaware::place {

namespace {

constexpr int most_ranks = 1 << 20;

/// Positive numbers; throws std::invalid_argument with what was `expected`, and `found` instead.
std::vector<int> parse_sizes(const std::string& text, char between, const std::string& expected,
                             const std::string& found) {
    std::vector<int> sizes;
    const char* const end = text.data() + text.size();
    for (const char* part = text.data();; ++part) {
        int size = 0;
        const auto [rest, error] = std::from_chars(part, end, size);
        if (error != std::errc() || size < 1 || (rest != end && *rest != between)) {
            throw std::invalid_argument(std::string(expected).append(", found ").append(found));
        }
        sizes.push_back(size);
        if (rest == end) { return sizes; }
        part = rest;
    }
}

std::string text_in(const std::string& path) try {
    return tuning::read_text_file(path);
} catch (const tuning::FileError& error) {
    throw std::runtime_error(path + ": cannot be read: " + error.what());
}

void check_ranks(const std::string& what, int64_t ranks) {
    if (ranks > most_ranks) {
        throw std::invalid_argument(what + ": expected at most " + std::to_string(most_ranks) +
                                    " ranks");
    }
}

Sent sent_by(const bench::Matrix::Entry& entry, bool counts_values, ValuesOf values,
             const std::string& path) {
    Sent sent{static_cast<int>(entry.row), static_cast<int>(entry.column), 1, 0};
    if (!counts_values) { return sent; }
    constexpr double most = 9007199254740992; // up to which a double has all whole numbers
    const bool is_whole =
        entry.value >= 0 && entry.value <= most && entry.value == std::floor(entry.value);
    if (!is_whole) {
        throw std::runtime_error(path + ": row " + std::to_string(entry.row + 1) + ", column " +
                                 std::to_string(entry.column + 1) + ": expected " +
                                 (values == ValuesOf::bytes ? "bytes" : "messages") +
                                 ", a whole number, found " + std::to_string(entry.value) +
                                 "; with --matrix-of places values do not count");
    }
    const auto value = static_cast<uint64_t>(entry.value);
    values == ValuesOf::bytes ? sent.bytes = value : sent.messages = value;
    return sent;
}

} // namespace

Source grid_source(const std::string& text, bool is_periodic) {
    const std::string expected = "--grid: expected sizes of dimensions such as 24x18x16";
    const std::vector<int> dimensions = parse_sizes(text, 'x', expected, text);
    int64_t ranks = 1;
    for (const int size : dimensions) {
        ranks *= size;
        check_ranks("--grid", ranks);
    }
    const Grid grid(dimensions, is_periodic);
    return {grid_graph(grid), false, grid};
}

Source matrix_source(const std::string& path, ValuesOf values) {
    const bench::Matrix matrix = bench::read_matrix_market(path);
    if (matrix.rows != matrix.columns) {
        throw std::runtime_error(path + ": expected as many columns as rows, one for each rank, " +
                                 "found " + std::to_string(matrix.rows) + " x " +
                                 std::to_string(matrix.columns));
    }
    check_ranks(path, matrix.rows);
    const bool counts_values = matrix.has_values && values != ValuesOf::places;
    std::vector<Sent> entries;
    entries.reserve(matrix.entries.size());
    double all = 0;
    for (const bench::Matrix::Entry& entry : matrix.entries) {
        entries.push_back(sent_by(entry, counts_values, values, path));
        if (counts_values) { all += entry.value; }
    }
    constexpr double most = 1e18; // of 64 bits, for gains are twice what is saved
    if (all > most) {
        throw std::runtime_error(path + ": expected values that add up to at most 1e18");
    }
    return {{static_cast<int>(matrix.rows), entries}, counts_values && values == ValuesOf::bytes};
}

Source trace_source(const std::string& folder) {
    const tool::Trace trace = tool::read_trace(folder);
    tool::complain(trace);
    const bool is_cut = std::any_of(trace.ranks.begin(), trace.ranks.end(),
                                    [](const tool::RankTrace& rank) { return rank.is_cut; });
    if (is_cut || !trace.is_complete) {
        std::fprintf(stderr, "nodeaware: %s is of a part of the job: %s\n", folder.c_str(),
                     is_cut ? "some of it had no room" : "it did not come to its end");
    }
    if (trace.ranks.empty()) { throw tool::TraceError(folder + ": no rank can be read"); }
    const auto messages = tool::sent_rows(trace, tool::MatrixOf::messages, tool::Between::ranks);
    const auto bytes = tool::sent_rows(trace, tool::MatrixOf::bytes, tool::Between::ranks);
    std::vector<Sent> entries;
    for (size_t from = 0; from < messages.size(); ++from) {
        for (const auto& [to, count] : messages[from]) {
            const auto found = bytes[from].find(to);
            entries.push_back({static_cast<int>(from), static_cast<int>(to), count,
                               found == bytes[from].end() ? 0 : found->second});
        }
    }
    const Topology topology(trace.nodes);
    Placement recorded;
    for (int rank = 0; rank < topology.ranks(); ++rank) {
        recorded.push_back(topology.node_of(rank));
    }
    return {{topology.ranks(), entries}, true, {}, recorded, trace.complaints.empty()};
}

std::vector<int> parse_ppn(const std::string& text) {
    return parse_sizes(text, ',',
                       "--ppn: expected ranks per node, one number above 0 or several with "
                       "commas between",
                       text);
}

Torus parse_torus(const std::string& text) {
    const std::string expected = "--topology: expected sizes of a torus such as torus:6x6x6, or "
                                 "torus:6x6x6x2 with two nodes at each router";
    constexpr std::string_view kind = "torus:";
    if (!text.starts_with(kind)) {
        throw std::invalid_argument(std::string(expected).append(", found ").append(text));
    }
    const size_t star = std::min(text.find('*'), text.size());
    Torus torus{parse_sizes(text.substr(kind.size(), star - kind.size()), 'x', expected, text)};
    constexpr size_t with_nodes = 4; // three dimensions, and the nodes at a router
    if (star < text.size()) {
        const auto nodes = parse_sizes(text.substr(star + 1), '*', expected, text);
        if (nodes.size() > 1) {
            throw std::invalid_argument(std::string(expected).append(", found ").append(text));
        }
        torus.at_a_router = nodes.front();
    } else if (torus.dimensions.size() == with_nodes) {
        torus.at_a_router = torus.dimensions.back();
        torus.dimensions.pop_back();
    }
    int64_t nodes = torus.at_a_router;
    for (const int size : torus.dimensions) {
        if (nodes <= most_ranks) { nodes *= size; }
    }
    if (nodes > most_ranks) {
        throw std::invalid_argument("--topology: expected at most " + std::to_string(most_ranks) +
                                    " nodes, found " + text);
    }
    return torus;
}

std::vector<std::string> read_hosts(const std::string& path, size_t nodes) {
    std::istringstream file(text_in(path));
    std::vector<std::string> hosts;
    std::set<std::string> seen;
    size_t number = 0;
    for (std::string line; hosts.size() < nodes && std::getline(file, line);) {
        ++number;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string host;
        if (!(words >> host)) { continue; }
        std::string more;
        const std::string where = std::string(path).append(":") + std::to_string(number) + ": ";
        if (words >> more || host.find(':') != std::string::npos) {
            throw std::runtime_error(
                std::string(where).append("expected the name of a host, found ").append(line));
        }
        if (!seen.insert(host).second) {
            throw std::runtime_error(
                std::string(where).append("expected another host, found ").append(host) + " again");
        }
        hosts.push_back(host);
    }
    if (hosts.size() < nodes) {
        throw std::runtime_error(path + ": expected " + std::to_string(nodes) +
                                 " hosts, one a line, found " + std::to_string(hosts.size()));
    }
    return hosts;
}

} // namespace nodeaware::place
