#pragma once

#include "tests/unit/handover/network.hpp"

#include <cstddef>
#include <vector>

namespace nodeaware::handover_test {

/// What the receiving rank has done, in its order.
struct Act {
    enum class Kind {
        post,
        cancel,
        refused, ///< a cancel
        probe,
        take ///< by a matched probe
    };
    Kind kind;
    size_t receive = 0; ///< all but probe
    Pattern pattern;
    /// Of a probe: what it has found, if it has.
    bool has_found = false;
    int source = 0;
    int tag = 0;
};

/// What a program has seen: messages by their numbers, in the order in which each source sent them.
struct Seen {
    std::vector<std::vector<Network::Message>> sent; ///< by source
    std::vector<Act> acts;
    std::vector<int> got; ///< the number of the message of each receive, or -1
    bool is_over = false; ///< nothing else comes, and the last act was after all that came
};

/// MPI could have done so: there is an order in which messages come, those of a source as they
/// were sent, in which receives and probes get by MPI's rules what they have got.
bool is_explained(const Seen& seen);

} // namespace nodeaware::handover_test
