#pragma once

#include "tools/nodeaware/trace/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware::tool {

/// Messages from point to point that the ranks of one node have under way to other nodes together.
struct MessagesTogether {
    struct Message {
        int from = 0; ///< in MPI_COMM_WORLD
        int to = 0;
        uint64_t bytes = 0;
    };
    std::vector<Message> messages;
};

/// What the order of calls tells of which messages go together, for nodes all of whose ranks have a
/// timeline: at most about `most`, the first and the last of each node. `nodes`: of each rank.
///
/// A rank's messages go together that it begins between two calls that wait. Between two
/// collectives of all ranks, the first such lots of a node's ranks go together, the second ones,
/// and so on: most codes run in step, and those of which a rank leaves some out are in step again
/// after the next collective. Times do not count: they are of the machine that was recorded, with
/// each message by itself.
std::vector<MessagesTogether> messages_together(const Trace& trace, const std::vector<int>& nodes,
                                                size_t most);

} // namespace nodeaware::tool
