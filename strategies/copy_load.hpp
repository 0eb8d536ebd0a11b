#pragma once

#include "strategies/costs.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nodeaware {

/// What copies between devices and the host cost the ranks of a node: T_copy of the node-aware
/// strategies paper (equation 4.5), for each of its two terms one of these.
class CopyLoad {
  public:
    CopyLoad(size_t ranks, const CopyCosts& costs) : costs_(costs), ranks_(ranks) {}

    /// Bytes of rank `local` that are copied with all others that are added here.
    void add_together(int local, uint64_t bytes) {
        Rank& rank = ranks_[static_cast<size_t>(local)];
        rank.together = 1;
        rank.bytes += static_cast<double>(bytes);
    }
    /// So many copies, of so many bytes together.
    void add(int local, double copies, uint64_t bytes) {
        Rank& rank = ranks_[static_cast<size_t>(local)];
        rank.copies += copies;
        rank.bytes += static_cast<double>(bytes);
    }

    /// Seconds of the busiest rank if each copies as much for each of `partners` nodes.
    double seconds(int partners) const {
        double most = 0;
        for (const Rank& rank : ranks_) {
            const double copies = rank.together + rank.copies * partners;
            if (copies == 0) { continue; }
            most = std::max(most, costs_.latency + std::max(copies - 1, 0.0) * costs_.next +
                                      rank.bytes * partners * costs_.per_byte);
        }
        return most;
    }

  private:
    struct Rank {
        double together = 0; ///< copies of those that are copied together
        double copies = 0;   ///< of others
        double bytes = 0;
    };

    CopyCosts costs_;
    std::vector<Rank> ranks_;
};

} // namespace nodeaware
