#pragma once

#include "runtime/communicators/agreement.hpp"
#include "runtime/communicators/strays.hpp"
#include "runtime/device/pinned_memory.hpp"
#include "runtime/job/world.hpp"
#include "runtime/memory/call_memory.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

namespace nodeaware {

/// What strategies may depend on where such ranks exchange, for each CallMemory: the settings, and
/// what follows from them for these nodes.
std::array<Parameters, call_memories> parameters_of(const World& world, const Topology& topology);

/// Ranks that can run rerouted operations together: they know where each of them is, have a private
/// communicator for the library's messages, and share an arena on each node.
///
/// Communicators of the same ranks in the same order share one, so that the first exchange on a
/// duplicate, or on a graph of the same ranks, costs no set-up. That is safe because blocking
/// collectives of the same ranks happen in the same order on all of them, whatever communicators
/// they are called on: any other order could deadlock without us. It does not hold for threads that
/// call MPI at the same time; then every communicator needs one of its own. Nor does it hold for
/// nonblocking operations, for which every communicator has a NonblockingContext.
class InnerCommunicator {
  public:
    /// Collective over `comm`. nullptr, on all ranks, if a communicator or shared memory could not
    /// be had. Throws MpiError.
    static std::shared_ptr<InnerCommunicator> create(MPI_Comm comm, Topology topology,
                                                     std::vector<int> members, const World& world);
    ~InnerCommunicator();
    InnerCommunicator(const InnerCommunicator&) = delete;
    InnerCommunicator& operator=(const InnerCommunicator&) = delete;

    /// How many there are in this process. Communicators are scarce: of the 2048 that a process can
    /// have in MPICH the application must have its share.
    static int alive();
    /// This process begins to make a communicator, and goes on meanwhile (MPI_Comm_idup).
    static void communicator_begun();
    static constexpr int most_alive = 64;

    const std::vector<int>& members() const { return members_; } ///< ranks in MPI_COMM_WORLD
    MPI_Comm comm() const { return comm_; }
    /// Another one, for messages whose tags leave no room for others. Made when it is first wanted;
    /// collective then. MPI_COMM_NULL if it cannot be had, on all ranks.
    MPI_Comm second_comm();
    int rank() const { return rank_; }
    int size() const { return topology_.ranks(); }
    const Topology& topology() const { return topology_; }
    /// Of calls with such memory. Each lies where it is for ever.
    const Parameters& parameters(CallMemory memory = CallMemory::host) const {
        return parameters_.at(static_cast<size_t>(memory));
    }
    /// The same where nodes relay with that radix, and carriers are cut or not; for as long.
    const Parameters& parameters(CallMemory memory, int radix, bool cuts_carriers);
    /// A rank had a driver of devices when this was made; all ranks know the same.
    bool may_have_devices() const { return may_have_devices_; }
    NodeArena& arena() { return arena_; }
    device::PinnedMemory& pinned() { return pinned_; } ///< of the arena
    Agreement& agreement() { return *agreement_; }
    Waiter& waiter() { return *waiter_; }
    Strays& strays() { return strays_; }

    /// Memory for the messages of a call, kept from call to call.
    Exchange& exchange() { return exchange_; }
    /// Likewise, for what ranks of a node take together; begins empty.
    std::vector<std::byte>& terms() { return terms_; }
    /// Of graphs that are made from these ranks, likewise, in a later room. Nothing: not looked
    /// into; nullptr, on all ranks: no memory.
    std::optional<std::shared_ptr<void>> kept_for_graphs;
    /// Of the blocking operations; the same on all ranks. Now and then all wait for all, for the
    /// tags of operations repeat: nobody may be that far ahead. Throws MpiError.
    uint32_t next_operation();
    /// Numbers of the contexts for nonblocking operations that there are on this rank.
    std::set<int>& contexts() { return contexts_; }
    int first_free_context() const { return contexts_.empty() ? 0 : *contexts_.rbegin() + 1; }
    /// Counters that the operations with even and odd numbers have used.
    uint32_t& used_counters(uint32_t operation) { return used_counters_[operation % 2]; }

    /// A communicator of the same ranks in the same order, without the attributes of the original:
    /// MPI_Comm_dup would copy them and run the copy functions of the application. Throws MpiError.
    static MPI_Comm create_private(MPI_Comm comm);

    /// Leaves its communicator to MPI_Finalize.
    void leave_communicator() { is_left_ = true; }
    /// From now on inner communicators are left to MPI_Finalize.
    static void leave_communicators();

  private:
    InnerCommunicator(MPI_Comm comm, Topology topology, std::vector<int> members,
                      const World& world);
    static MPI_Comm make_for_all(MPI_Comm comm);
    static bool may_wait_for_another(MPI_Comm comm);
    bool create_arena();
    void meet();

    MPI_Comm comm_;
    Strays strays_;
    MPI_Comm second_comm_ = MPI_COMM_NULL;
    std::vector<int> members_;
    int rank_ = 0;
    Topology topology_;
    std::array<Parameters, call_memories> parameters_;
    std::map<std::tuple<CallMemory, int, bool>, Parameters> relaying_parameters_;
    NodeArena arena_;
    device::PinnedMemory pinned_;
    std::unique_ptr<Waiter> waiter_;
    std::unique_ptr<Agreement> agreement_;
    Exchange exchange_;
    std::vector<std::byte> terms_;
    uint32_t operations_ = 0;
    std::set<int> contexts_;
    bool may_have_devices_ = false;
    bool is_left_ = false;
    std::array<uint32_t, 2> used_counters_{};
};

} // namespace nodeaware
