#include "strategies/containers.hpp"

#include "strategies/forecast.hpp"
#include "strategies/gathered.hpp"
#include "strategies/pair_cost.hpp"

#include <algorithm>
#include <map>

namespace nodeaware::containers {

namespace {

/// What stands in front of each message, about: whose it is, and which.
constexpr uint64_t header = 40;
/// The same of exchanges, which is not for messages.
constexpr uint64_t header_of_exchange = 32;

/// What becomes of the messages of a pair.
class PairInContainers {
  public:
    PairInContainers(const PairTraffic& pair, Kind kind, const Cells& cells,
                     const Parameters& parameters)
        : pair_(pair), kind_(kind), cells_(cells), parameters_(parameters),
          cost_(pair, parameters.costs),
          largest_(kind == Kind::point_to_point ? cells.most_bytes()
                                                : cells.most_bytes() - header_of_exchange) {}

    double seconds() {
        const bool are_together = cells_.bytes > 0 && (kind_ == Kind::nonblocking || has_company());
        for (const Message& message : pair_.messages) {
            const uint64_t limit = gathered::limit(*pair_.topology, message.source, parameters_);
            if (are_together && message.bytes <= std::min(largest_, limit)) {
                put(message.bytes);
            } else if (kind_ == Kind::nonblocking && message.bytes <= limit) {
                for_rank_[message.destination] += message.bytes;
            } else {
                cost_.add_direct(message);
            }
        }
        close();
        for (const auto& [rank, bytes] : for_rank_) {
            cost_.add_piece(sender_of(pair_, pieces_++), rank, bytes);
        }
        return cost_.seconds();
    }

  private:
    /// Messages of a pair of nodes with one small one or none are left to MPI.
    bool has_company() const {
        return std::count_if(pair_.messages.begin(), pair_.messages.end(),
                             [&](const auto& one) { return one.bytes <= largest_; }) > 1;
    }

    void put(uint64_t bytes) {
        const uint64_t room = header + (bytes + 7) / 8 * 8;
        if (used_ + room > cells_.collected) { close(); }
        used_ += room;
        bytes_ += bytes;
    }

    void close() {
        if (used_ == 0) { return; }
        const uint64_t at_once = parameters_.costs.protocols[1].limit;
        const uint64_t parts = at_once < least_cut ? 1 : (used_ + at_once - 1) / at_once;
        for (uint64_t i = 0; i < parts; ++i) {
            cost_.add_piece(sender_of(pair_, pieces_), receiver_of(pair_, pieces_), bytes_ / parts);
            ++pieces_;
        }
        used_ = bytes_ = 0;
    }

    const PairTraffic& pair_;
    const Kind kind_;
    const Cells& cells_;
    const Parameters& parameters_;
    PairCost cost_;
    const uint64_t largest_;
    std::map<int, uint64_t> for_rank_; ///< bytes that travel by themselves to each
    uint64_t used_ = 0;                ///< of the open container
    uint64_t bytes_ = 0;               ///< of these, of messages
    int pieces_ = 0;
};

} // namespace

Cells cells_of(uint64_t memory, int other_nodes, uint64_t beside) {
    constexpr uint64_t most = 32 << 10;
    constexpr uint64_t least = 2 << 10;
    if (other_nodes <= 0) { return {}; }
    const uint64_t all = static_cast<uint64_t>(other_nodes) * Cells::for_each_node;
    const uint64_t share = memory / 2 / all / 64 * 64; // half for each direction
    const uint64_t bytes = std::min(share, most);
    if (bytes < least + beside) { return {}; }
    return {bytes, (bytes - beside) / 64 * 64};
}

double predicted_seconds(const NodeTraffic& traffic, Kind kind, const Cells& cells,
                         const Parameters& parameters) {
    return nodeaware::predicted_seconds(traffic, [&](const PairTraffic& pair) {
        return PairInContainers(pair, kind, cells, parameters).seconds();
    });
}

} // namespace nodeaware::containers
