#include "tools/nodeaware/trace/clocks.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace nodeaware::tool {

namespace {

constexpr double most_apart = 60; ///< seconds between ranks that have got the same broadcast

struct Host {
    double first = 0;
    double last = 0;
    bool has_clock = true;
    bool is_new = true;

    void add(const RankTrace& rank) {
        has_clock = has_clock && rank.clock.has_value();
        const double clock = rank.clock.value_or(0);
        first = is_new ? clock : std::min(first, clock);
        last = is_new ? clock : std::max(last, clock);
        is_new = false;
    }
    bool can_tell() const { return has_clock && last - first <= most_apart; }
};

} // namespace

std::vector<double> begins_of(const Trace& trace) {
    std::map<std::string, Host> hosts;
    for (const RankTrace& rank : trace.ranks) { hosts[rank.host].add(rank); }
    std::vector<double> begins;
    for (const RankTrace& rank : trace.ranks) {
        const Host& host = hosts.at(rank.host);
        begins.push_back(host.can_tell() ? *rank.clock - host.first : 0);
    }
    return begins;
}

} // namespace nodeaware::tool
