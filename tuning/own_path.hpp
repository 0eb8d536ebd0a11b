#pragma once

#include "tuning/node_aware_models.hpp"

namespace nodeaware::tuning {

/// What the library itself does for one exchange, seen from the busiest process of a node: it packs
/// into shared memory, one process sends each message, it unpacks on the other side.
struct OwnPathInput {
    Load network;               ///< messages of the busiest process, its bytes, the node's bytes
    double packed = 0;          ///< bytes that the busiest process copies into the arena
    double unpacked = 0;        ///< bytes that it copies out of the arena
    double device_sent = 0;     ///< of the packed bytes, those that come from a GPU
    double device_received = 0; ///< of the unpacked bytes, those that go to a GPU
};

/// Seconds of one shared-memory step: copy `bytes`, raise a flag, and the flag is seen.
double shared_memory_step(const SharedMemory& shared, double bytes);

/// pack + flag, T_off, flag + unpack. Bytes from and to a GPU are copied straight between GPU and
/// arena (copy parameters of one process), the others at the rate of shared memory. These are terms
/// of the library, not of the papers, whose on-node steps are MPI messages (T_on). Throws
/// TableError where the table has no shared_memory, or needs copies and has none.
std::vector<Term> own_path(const ModelTable& table, const OwnPathInput& input);

} // namespace nodeaware::tuning
