#pragma once

#include "strategies/costs.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nodeaware {

/// What copies between devices and the host cost the ranks of a node: T_copy of the node-aware
/// strategies paper (equation 4.5), for each of its two terms one of these. The paper adds it to
/// what the network takes. Here copies of large messages and what crosses the network go on at the
/// same time, but for the first copy at one end and the last at the other.
class CopyLoad {
  public:
    CopyLoad(size_t ranks, const CopyCosts& costs) : costs_(costs), ranks_(ranks) {}

    /// Bytes of rank `local` that are copied with all others that are added here.
    void add_together(int local, uint64_t bytes) {
        Rank& rank = ranks_[static_cast<size_t>(local)];
        rank.has_together = true;
        rank.together += static_cast<double>(bytes);
    }
    /// So many copies, of so many bytes together.
    void add(int local, double copies, uint64_t bytes) {
        Rank& rank = ranks_[static_cast<size_t>(local)];
        rank.copies += copies;
        rank.bytes += static_cast<double>(bytes);
        rank.largest = std::max(rank.largest, static_cast<double>(bytes) / copies);
    }

    /// Seconds of the busiest rank if each copies as much for each of `partners` nodes.
    struct Seconds {
        double alone = 0;      ///< in which nothing else happens: what is copied together, one more
        double overlapped = 0; ///< the further ones
    };
    Seconds seconds(int partners) const {
        Seconds most;
        for (const Rank& rank : ranks_) {
            Seconds seconds;
            if (rank.has_together) {
                seconds.alone = costs_.latency + rank.together * partners * costs_.per_byte;
            }
            if (rank.copies > 0) {
                const double others = rank.bytes * partners - rank.largest;
                seconds.alone += (rank.has_together ? costs_.next : costs_.latency) +
                                 rank.largest * costs_.per_byte;
                seconds.overlapped =
                    (rank.copies * partners - 1) * costs_.next + others * costs_.per_byte;
            }
            most.alone = std::max(most.alone, seconds.alone);
            most.overlapped = std::max(most.overlapped, seconds.overlapped);
        }
        return most;
    }

  private:
    struct Rank {
        bool has_together = false;
        double together = 0; ///< bytes of what is copied together
        double copies = 0;   ///< others
        double bytes = 0;    ///< of these
        double largest = 0;
    };

    CopyCosts costs_;
    std::vector<Rank> ranks_;
};

} // namespace nodeaware
