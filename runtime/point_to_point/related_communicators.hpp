#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace nodeaware {

class CommunicatorMessages;

/// Communicators that were made from one another and have the same ranks in the same order.
/// Programs often exchange messages on one of them and meet (in blocking collective calls) on
/// another, so the ranks vote on all of them wherever they meet.
///
/// All ranks make communicators and meet in the same order, for any other could deadlock without
/// us, so they count alike. They free them in the same order too, but MPI may keep what hangs on a
/// communicator for as long as operations are under way on it, so a vote first compares who is
/// left.
class RelatedCommunicators {
  public:
    /// A communicator whose point-to-point messages are of interest; the first joins the list
    /// that it begins. Collective, or the first.
    void join(const std::shared_ptr<CommunicatorMessages>& member);
    /// Programs that make communicators all the time need not vote all the time.
    bool is_full() const { return joined_ >= most_joined; }

    /// In a blocking collective call on a communicator of related ones: true if the ranks are to
    /// vote.
    bool is_time_to_vote();
    /// Those that all ranks still have; collective over `comm`, on which they meet.
    std::vector<std::shared_ptr<CommunicatorMessages>> voters(MPI_Comm comm);
    /// The next vote is to be as soon as possible, or after a time in which to measure.
    void vote_soon() { next_vote_ = meetings_ + 1; }
    void vote_later() { next_vote_ = meetings_ + (meetings_ - origin_) / 2 + first_vote; }

  private:
    static constexpr uint64_t first_vote = 4;
    static constexpr uint64_t most_joined = 16;

    struct Member {
        uint64_t number;
        std::weak_ptr<CommunicatorMessages> point_to_point;
    };
    std::vector<Member> members_;
    uint64_t joined_ = 0;
    uint64_t meetings_ = 0;
    uint64_t origin_ = 0; ///< meetings when the last member joined
    uint64_t next_vote_ = first_vote;
};

} // namespace nodeaware
