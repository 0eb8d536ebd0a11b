#pragma once

#include "runtime/collectives/sparse_node_pairs.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace nodeaware::sparse {

/// What is kept for sparse exchanges on a communicator of the application: how they go, and a
/// private communicator. Hangs on it as an attribute, and goes when it is freed.
class Context {
  public:
    /// Collective over `comm`, the first time. Throws MpiError and std::bad_alloc.
    static Context& of(MPI_Comm comm);

    /// Never automatic; one that all ranks can take part in, and have chosen alike.
    SparseMethod method() const { return method_; }
    MPI_Comm comm() const { return comm_; }
    /// Of the ranks of this node, numbered as in the topology; locality only.
    MPI_Comm node_comm() const { return node_comm_; }
    /// locality only.
    const Topology& topology() const { return *topology_; }
    /// node_pairs only.
    NodePairs& node_pairs() { return *node_pairs_; }
    /// Memory for a number of each rank, so that a rank which has no more can take part in a sum.
    std::span<int> counts() { return counts_; }
    /// Tag of the call that begins, on comm() and node_comm().
    int next_tag() { return static_cast<int>(++calls_ % 2); }

    Context() = default;
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

  private:
    static Context* kept(MPI_Comm comm);
    SparseMethod chosen() const;
    void choose(MPI_Comm comm);
    void tell() const;
    bool make_node_pairs(MPI_Comm comm);
    void make_node_comm();

    SparseMethod method_ = SparseMethod::automatic;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Comm node_comm_ = MPI_COMM_NULL;
    std::optional<Topology> topology_;
    std::unique_ptr<NodePairs> node_pairs_;
    int rank_ = 0;
    int size_ = 0;
    unsigned calls_ = 0;
    std::vector<int> counts_;
};

} // namespace nodeaware::sparse
