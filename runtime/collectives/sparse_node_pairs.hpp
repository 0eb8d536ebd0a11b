#pragma once

#include "runtime/collectives/sparse_messages.hpp"
#include "runtime/communicators/inner_communicator.hpp"
#include "runtime/memory/exchange.hpp"
#include "strategies/sparse_block.hpp"
#include "strategies/sparse_choice.hpp"

namespace nodeaware::sparse {

/// Sparse exchanges by exchanges in which everybody knows what comes, three at most, each with one
/// message between two nodes. First every rank tells all ranks of each node what it has for that
/// node, in blocks of one size (strategies/sparse_block.hpp), in which small messages come along;
/// nodes relay them where that is thought quicker, for all of them take part.
/// So the ranks of a node see alike whether any of them sends or receives more than that. If so,
/// lists that had no room follow, to all ranks of a node again, and then the messages of ranks for
/// which that has not been enough, to their destinations.
///
/// What the first exchange needs is kept from call to call, so that a rank which has no more memory
/// takes part in it all the same, as one without messages. One that lacks memory later is one whose
/// counts do not match, which exchanges find out.
class NodePairs {
  public:
    /// Throws std::bad_alloc and MpiError.
    explicit NodePairs(InnerCommunicator& inner);

    /// Collective over the communicator that this was made for. What has been received is valid
    /// until the next call. Throws MpiError where this rank has not got through one of them.
    void exchange(InnerCommunicator& inner, std::span<const Outgoing> outgoing, Received& received);

    const Blocks& blocks() const { return blocks_; }

  private:
    using Bytes = std::vector<std::byte>;
    struct Call;
    /// What this rank has for a node.
    struct ForNode {
        std::vector<size_t> items; ///< of what is sent
        std::vector<Entry> entries;
        Bytes list;
        uint64_t bytes = 0;
        bool is_whole = true;
    };
    /// What a rank has for this one.
    struct FromRank {
        Header header;
        bool is_listed = true;
        std::vector<uint64_t> bytes; ///< of its messages
        std::vector<const std::byte*> data;
        uint64_t list_at = 0; ///< where its list comes to, if it is not in the block
    };

    void clear();
    bool is_mate(int rank) const { return topology_.node_of(rank) == node_; }
    std::byte* block_to(size_t node) { return blocks_out_.data() + node * blocks_.bytes; }
    std::byte* block_from(size_t rank) { return blocks_in_.data() + rank * blocks_.bytes; }

    void list_messages(const Call& call);
    void write_blocks(const Call& call);
    void exchange_blocks(const Call& call);
    bool is_more_needed();
    void read_blocks();
    void exchange_lists(const Call& call);
    void read_lists(const Bytes& lists, Received& received);
    void exchange_messages(const Call& call);
    void assemble(Received& received) const;

    template <class List>
    bool move(const Call& call, Sharing sharing, List list, bool relays = false);
    void send(int peer, uint32_t memory, const std::byte* data, uint64_t bytes);
    void send_to_node(size_t node, const std::byte* data, uint64_t bytes);
    void receive(int peer, std::byte* data, uint64_t bytes);
    UserMemory memory_of_bytes(std::byte* data, uint64_t bytes) const;
    void take_entries(FromRank& from, const std::vector<Entry>& entries, const std::byte* data);

    const Topology topology_;
    const int node_;
    const int local_;
    const Datatype byte_;
    const Blocks blocks_;
    std::vector<ForNode> for_;   ///< by node
    std::vector<FromRank> from_; ///< by rank
    Bytes blocks_out_;           ///< by node
    Bytes blocks_in_;            ///< by rank
    Exchange exchange_;
};

} // namespace nodeaware::sparse
