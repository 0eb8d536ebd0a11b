#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/communicators/lone_ranks.hpp"
#include "runtime/communicators/neighbors.hpp"
#include "runtime/communicators/nonblocking_context.hpp"
#include "runtime/communicators/selection.hpp"
#include "runtime/job/reason.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace nodeaware {

/// What a later room keeps for a communicator.
class Attachment {
  public:
    Attachment() = default;
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;
    virtual ~Attachment() = default;
    /// The application is freeing the communicator; others may hold this for longer.
    virtual void communicator_freed() = 0;
};

/// What the library keeps for a communicator of the application. Hangs on it as an attribute, and
/// goes when it is freed.
class Communicator {
  public:
    /// What is kept for `comm`, prepared for exchanges; at the first use that is collective over
    /// `comm`. A communicator that cannot be rerouted has an obstacle, the same on all ranks.
    /// Throws MpiError.
    static Communicator& of(MPI_Comm comm, const World& world);
    /// The same, and contexts for nonblocking operations if possible.
    static Communicator& with_context(MPI_Comm comm, const World& world);
    /// What is kept for `comm`, as far as it has been made. Local. Throws MpiError, after MPI has
    /// called an error handler for a handle that is none.
    static Communicator& as_it_is(MPI_Comm comm);

    /// To be called once, before any other function, and at the end.
    static void open();
    static void close();
    /// How many have gone so far. MPI uses a handle again, so who keeps one compares.
    static uint64_t freed();

    // The steps of of(). All throw MpiError.
    /// Returns an obstacle that every rank sees by itself. Local.
    Reason look(MPI_Comm comm, const World& world);
    /// After look() has found no obstacle, or relays(). Collective over `comm`, the first time.
    void prepare(MPI_Comm comm, const World& world);
    /// After look() has found one rank on each node: whether blocking exchanges may be relayed all
    /// the same. The same on all ranks. Local.
    bool may_relay(Operation operation, const Choice& choice) const;
    /// Then, whether this one may be; Selection::select() says what `uniform_bytes` are. Where it
    /// depends on how many there have been, it counts them. The same on all ranks. Local.
    bool relays(const Choice& choice, uint64_t uniform_bytes, const World& world);
    int rank() const { return rank_; } ///< after look()
    int size() const { return size_; }

    /// `operation` matters for operations with neighbours, and where there is one rank on each
    /// node.
    Reason obstacle(Operation operation) const;
    InnerCommunicator& inner() { return *inner_; } ///< if it is prepared without an obstacle
    bool has_inner() const { return inner_ != nullptr; }
    const std::shared_ptr<InnerCommunicator>& shared_inner() const { return inner_; }

    /// For nonblocking operations; nullptr if there is none, and obstacle() or context_obstacle()
    /// says why.
    const std::shared_ptr<NonblockingContext>& context() const { return context_; }
    Reason context_obstacle() const { return context_obstacle_; }
    /// For persistent requests: those that are left.
    std::span<const std::shared_ptr<NonblockingContext>> persistent_contexts() const {
        return std::span(persistent_contexts_).subspan(used_contexts_);
    }
    /// One for a persistent request alone, whose operations may begin in any order among those of
    /// other requests; the next of a few. nullptr: there are no more. All ranks have made the same
    /// requests. Local.
    std::shared_ptr<NonblockingContext> next_persistent_context();
    /// A nonblocking operation would have liked a context: one is made in the next collective call
    /// that is a meeting().
    void wait_for_meeting();
    /// nullptr if nothing waits for one.
    static Communicator* meeting(MPI_Comm comm, const World& world);
    const Neighbors& neighbors(MPI_Comm comm, Operation operation);
    Selection& selection() { return selection_; }

    Communicator() = default;
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// The same on all ranks, and no other communicator ever has it; 0: not known.
    uint64_t name = 0;
    /// How many have been made from this one, by their ranks.
    std::map<uint64_t, uint64_t> made;
    /// Reductions that might go by nodes; no more are counted once they do.
    int reductions = 0;

    /// Point-to-point messages; nullptr if they are of no interest.
    std::shared_ptr<Attachment> point_to_point;
    bool has_point_to_point = false; ///< the above has been looked into

  private:
    void wait_no_longer();
    bool is_under_way() const;
    Reason obstacle_alone(MPI_Comm comm, const World& world);

    Reason obstacle_ = Reason::not_prepared;
    std::optional<LoneRanks> lone_ranks_; ///< if there is one on each node
    int rank_ = 0;
    int size_ = 0;                     ///< 0: not looked at
    std::optional<Topology> topology_; ///< until it is prepared
    std::vector<int> members_;         ///< ranks in MPI_COMM_WORLD, until it is prepared
    /// Programs exist (PETSc) in which ranks without neighbours leave such operations out, and MPIs
    /// do not notice. Until it is prepared: this rank has.
    bool all_have_neighbors_ = true;
    std::shared_ptr<InnerCommunicator> inner_;
    Reason context_obstacle_ = Reason::not_prepared;
    std::shared_ptr<NonblockingContext> context_;
    std::vector<std::shared_ptr<NonblockingContext>> persistent_contexts_;
    size_t used_contexts_ = 0; ///< of these
    bool is_waiting_ = false;
    std::array<std::optional<Neighbors>, operation_count> neighbors_;
    Selection selection_;
};

} // namespace nodeaware
