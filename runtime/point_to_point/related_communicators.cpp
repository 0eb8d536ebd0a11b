#include "runtime/point_to_point/related_communicators.hpp"

#include "runtime/communicators/agreement.hpp"
#include "runtime/mpi/mpi.hpp"

#include <algorithm>
#include <array>

namespace nodeaware {

void RelatedCommunicators::join(const std::shared_ptr<CommunicatorMessages>& member) {
    members_.push_back({joined_++, member});
    origin_ = meetings_;
    next_vote_ = std::min(next_vote_, meetings_ + first_vote);
}

/// Votes at the meetings 4, 8, 16, ... after the last member has joined.
bool RelatedCommunicators::is_time_to_vote() {
    if (++meetings_ < next_vote_) { return false; }
    next_vote_ = meetings_ + std::max(meetings_ - origin_, first_vote);
    return true;
}

std::vector<std::shared_ptr<CommunicatorMessages>> RelatedCommunicators::voters(MPI_Comm comm) {
    std::vector<std::shared_ptr<CommunicatorMessages>> present;
    uint64_t hash = 0;
    for (const Member& member : members_) {
        auto found = member.point_to_point.lock();
        if (found == nullptr) { continue; }
        hash = mix(hash, member.number + 1);
        present.push_back(std::move(found));
    }
    if (joined_ == 1) { return present; } // that on which they meet
    const std::array<uint64_t, 2> mine = {hash, ~hash};
    std::array<uint64_t, 2> least{};
    MPI_CALL(Allreduce, mine.data(), least.data(), 2, MPI_UINT64_T, MPI_MIN, comm);
    if (least[0] != hash || least[1] != ~hash) { present.clear(); }
    return present;
}

} // namespace nodeaware
