#pragma once

#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/communicators/selection.hpp"
#include "runtime/job/report.hpp"

namespace nodeaware {

/// A reduction whose result all ranks get.
struct Reduction {
    const void* sent; ///< MPI_IN_PLACE: the terms are where the result goes
    void* received;
    int count; ///< elements
    MPI_Datatype type;
    MPI_Op op;
    uint64_t bytes; ///< of all elements of a rank

    const void* terms() const { return sent == MPI_IN_PLACE ? received : sent; }
};

/// Reductions by nodes, of two exchanges: in the first one all ranks of a node have their terms for
/// its first rank, which takes them together; in the second one the first rank of each node has the
/// node's terms for all ranks, and every rank takes those together. All ranks do that in the same
/// order, by halves, so that all get the same bits, and rounding errors grow with the logarithm of
/// the number of terms.
class NodeReduction {
  public:
    /// Bytes of a block, which goes from rank to rank: the terms and what is said of them. Powers
    /// of two, so that few schedules serve all sizes.
    static uint64_t block_bytes(uint64_t bytes);

    NodeReduction(InnerCommunicator& inner, const Reduction& reduction);

    /// Terms that must not be read, or whose order matters, are left out (`has_terms`), and then
    /// MPI has to do it. Collective. Returns what MPI_Allreduce is to return; the result is in
    /// `reduction.received` if that is MPI_SUCCESS and is_done(). Throws MpiError where this rank
    /// has not got through one of the exchanges.
    int run(bool has_terms, const Selected& selected, CallRecord& record);
    /// After run(), the same on all ranks where it was successful.
    bool is_done() const { return is_done_; }

  private:
    /// What a block says of its terms.
    enum class Terms : uint8_t {
        left_out, ///< MPI has to take all terms together
        here,
        lost, ///< a rank has failed
    };

    /// The first one is what this rank sends, the others are what comes.
    std::byte* block(size_t i) { return memory_.data() + i * block_; }
    void write_block(size_t i, Terms state, const void* terms);
    Terms state_of(size_t blocks);
    void gather_on_node(bool has_terms);
    void exchange_nodes(const Selected& selected, CallRecord& record);
    template <class List>
    void move(const Selected& selected, CallRecord& record, Sharing sharing, List list);
    const std::byte* combine(size_t blocks);
    void fail(int code) { error_ = error_ == MPI_SUCCESS ? code : error_; }
    UserMemory memory_of(std::byte* data) const;

    InnerCommunicator& inner_;
    const Reduction& reduction_;
    const std::vector<int>& mates_; ///< ranks of this node
    const bool is_first_;           ///< of them
    const size_t nodes_;
    const uint64_t block_;
    std::vector<std::byte>& memory_;
    bool has_memory_ = true;
    bool is_done_ = false;
    int error_ = MPI_SUCCESS;
};

} // namespace nodeaware
