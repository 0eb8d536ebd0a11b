#pragma once

#include "runtime/job/world.hpp"
#include "runtime/memory/node_arena.hpp"
#include "runtime/progress/waiter.hpp"
#include "strategies/topology.hpp"
#include "tools/nodeaware/progress_line.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// Throws MpiError unless an MPI function succeeded.
inline void check(int code, const char* function) {
    if (code != MPI_SUCCESS) { throw MpiError(code, function); }
}

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// The ranks of a calibration, what they share, and who measures with whom: all on the two nodes
/// that have the most ranks, called first and second. Every function that does not say otherwise is
/// called by all ranks. Throws MpiError.
class CalibrationJob {
  public:
    static constexpr int tag = 7;

    /// `progress` is that of rank 0; no other one has any.
    CalibrationJob(const World& world, int socket, ProgressLine::Kind progress);
    ~CalibrationJob();
    CalibrationJob(const CalibrationJob&) = delete;
    CalibrationJob& operator=(const CalibrationJob&) = delete;

    /// Why these ranks cannot calibrate; empty: they can. The same on all ranks.
    std::string complaint() const;
    /// Shared memory of `bytes` for each rank of a node. False if it cannot be had.
    bool share_memory(size_t bytes);

    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    const Topology& topology() const { return topology_; }
    bool is_oversubscribed() const { return oversubscribed_; }
    /// Pairs of ranks, one on each of the two nodes, that can send at the same time.
    int pairs() const;
    int local() const { return topology_.local_of(rank_); }
    bool is_on_first() const { return topology_.node_of(rank_) == first_; }
    bool is_on_second() const { return topology_.node_of(rank_) == second_; }
    const std::vector<int>& first_ranks() const { return topology_.ranks_of(first_); }
    const std::vector<int>& second_ranks() const { return topology_.ranks_of(second_); }
    /// -1: not bound to one socket.
    int socket_of(int rank) const { return sockets_[static_cast<size_t>(rank)]; }

    /// The largest value of all ranks. A rank that has nothing else to do waits here, without
    /// taking a core from those that measure.
    double most(double value) const;
    /// The sum of all ranks.
    double sum(double value) const;
    /// What the lowest rank that complains says, without its end if it is long; empty: none does.
    std::string first_complaint(const std::string& own) const;

    /// Of the ranks of one node, through shared memory.
    void node_barrier();
    NodeArena& arena() { return arena_; }
    Waiter& waiter() { return *waiter_; }
    std::byte* slot(int local) const {
        return arena_.data(0) + slot_bytes_ * static_cast<size_t>(local);
    }

    void send(int peer, const std::byte* data, size_t bytes) const;
    void receive(int peer, std::byte* data, size_t bytes) const;
    /// Both at once.
    void exchange(int peer, const std::byte* out, std::byte* in, size_t bytes) const;
    ProgressLine& progress() { return progress_; }

  private:
    double reduce(double value, MPI_Op operation) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    Topology topology_;
    bool oversubscribed_;
    std::vector<int> sockets_;
    int first_ = 0;
    int second_ = 0;
    NodeArena arena_;
    std::unique_ptr<Waiter> waiter_;
    size_t slot_bytes_ = 0;
    ProgressLine progress_;
};

} // namespace nodeaware::tool
