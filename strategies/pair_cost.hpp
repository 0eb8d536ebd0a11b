#pragma once

#include "strategies/copy_load.hpp"
#include "strategies/node_load.hpp"
#include "strategies/plan.hpp"

namespace nodeaware {

/// Adds up what the messages of a pair cost: see forecast(). Where devices are used, also the
/// copies between them and the host: all that is small (DeviceCosts::copied_together) is copied at
/// once by each rank, what is larger by itself for each segment, while others travel, and not at
/// all where it goes straight to its destination and MPI is device-aware.
class PairCost {
  public:
    PairCost(const PairTraffic& pair, const Costs& costs);

    /// A message that goes straight to its destination.
    void add_direct(const Message& message);
    /// A piece, without the copies between devices and the arena.
    void add_piece(int sender, int receiver, uint64_t bytes);
    /// Those of a block, or of a part of it, that travels in pieces as so many segments.
    void add_segments(const Block& block, double segments, uint64_t bytes);
    void add_plan(const Plan& plan);

    uint64_t messages() const { return messages_; }
    double seconds() const;

    /// What the messages cost if they are left to MPI: one by one; from devices that it does not
    /// know by way of the host, where all of a rank are copied at once.
    static double seconds_of_mpi(const PairTraffic& pair, const Costs& costs);

  private:
    struct WithoutCopies {};
    PairCost(const PairTraffic& pair, const Costs& costs, WithoutCopies /*tag*/);

    bool is_copied_alone(uint64_t bytes) const {
        return costs_.devices.are_used && bytes > DeviceCosts::copied_together;
    }
    size_t ranks_on(int node) const { return static_cast<size_t>(pair_.topology->ranks_on(node)); }
    int local_of(int rank) const { return pair_.topology->local_of(rank); }
    void add_message(int sender, int receiver, uint64_t bytes);
    /// What cut_for_slots() makes of so many bytes, where the arena has room for them.
    uint64_t parts_of(uint64_t bytes) const {
        return largest_piece_ == 0 ? 1 : (bytes + largest_piece_ - 1) / largest_piece_;
    }
    double own_steps() const;

    const PairTraffic& pair_;
    const Costs& costs_;
    int partners_;
    uint64_t largest_piece_;
    NodeLoad sending_;
    NodeLoad receiving_;
    CopyLoad from_devices_;
    CopyLoad to_devices_;
    uint64_t messages_ = 0;
    double copied_ = 0; ///< bytes between memory of the host and the arena
    bool has_pieces_ = false;
};

} // namespace nodeaware
