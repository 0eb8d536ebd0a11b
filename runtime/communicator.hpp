#pragma once

#include "runtime/agreement.hpp"
#include "runtime/exchange.hpp"
#include "runtime/neighbors.hpp"
#include "runtime/reason.hpp"
#include "runtime/world.hpp"

#include <array>
#include <memory>
#include <optional>

namespace nodeaware {

/// What the library keeps for a communicator of the application: which ranks are where, a private
/// communicator for its own messages, and the arena shared with the ranks of this node. Hangs on
/// the communicator as an attribute and goes when the communicator goes.
class Communicator {
  public:
    /// What is kept for `comm`; made at the first use, which is collective over `comm`. Never
    /// fails: a communicator that cannot be rerouted has a reason why, the same on all ranks.
    static Communicator& of(MPI_Comm comm, const World& world);

    /// To be called once, before any other function, and at the end; then nothing is freed any
    /// more, for MPI is about to.
    static void open();
    static void close();

    Reason obstacle() const { return obstacle_; }
    MPI_Comm handle() const { return private_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    const Topology& topology() const { return topology_; }
    const Parameters& parameters() const { return parameters_; }
    NodeArena& arena() { return *arena_; }
    Agreement& agreement() { return *agreement_; }
    Waiter& waiter() { return *waiter_; }

    /// Memory for the messages of a call, kept from call to call.
    Exchange& exchange() { return exchange_; }
    const Neighbors& neighbors(MPI_Comm comm, Operation operation);
    uint32_t next_operation() { return ++operations_; }
    /// Counters that the operations with even and odd numbers have used.
    uint32_t& used_counters(uint32_t operation) { return used_counters_[operation % 2]; }

    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator();

  private:
    Communicator() = default;
    void examine(MPI_Comm comm, const World& world);
    void acquire(MPI_Comm comm, const World& world);
    bool create_arena();

    Reason obstacle_ = Reason::none;
    int rank_ = 0;
    int size_ = 0;
    Topology topology_;
    Parameters parameters_;
    MPI_Comm private_ = MPI_COMM_NULL;
    std::unique_ptr<NodeArena> arena_;
    std::unique_ptr<Waiter> waiter_;
    std::unique_ptr<Agreement> agreement_;
    Exchange exchange_;
    std::array<std::optional<Neighbors>, operation_count> neighbors_;
    uint32_t operations_ = 0;
    std::array<uint32_t, 2> used_counters_{};
};

} // namespace nodeaware
