#include "operations.hpp"

#include <algorithm>
#include <cstdint>

namespace bench {
namespace {

constexpr int tag = 0;

int common_bytes(const std::vector<Block>& blocks) { return blocks.empty() ? 0 : blocks[0].bytes; }

unsigned char* first_block(unsigned char* data, const std::vector<Block>& blocks) {
    return blocks.empty() ? data : data + blocks[0].offset;
}

void alltoall(Call& c) {
    Buffers& b = *c.buffers;
    check(c.form->alltoall(first_block(b.send_data(), b.sends()), common_bytes(b.sends()), MPI_BYTE,
                           first_block(b.receive_data(), b.receives()), common_bytes(b.receives()),
                           MPI_BYTE, c.comm),
          "Alltoall");
}

void alltoallv(Call& c) {
    check(c.form->alltoallv(c.buffers->send_data(), c.send.counts.data(),
                            c.send.displacements.data(), MPI_BYTE, c.buffers->receive_data(),
                            c.receive.counts.data(), c.receive.displacements.data(), MPI_BYTE,
                            c.comm),
          "Alltoallv");
}

void alltoallw(Call& c) {
    check(c.form->alltoallw(c.buffers->send_data(), c.send.counts.data(),
                            c.send.displacements.data(), c.send.types.data(),
                            c.buffers->receive_data(), c.receive.counts.data(),
                            c.receive.displacements.data(), c.receive.types.data(), c.comm),
          "Alltoallw");
}

void neighbor_alltoallv(Call& c) {
    check(c.form->neighbor_alltoallv(c.buffers->send_data(), c.send.counts.data(),
                                     c.send.displacements.data(), MPI_BYTE,
                                     c.buffers->receive_data(), c.receive.counts.data(),
                                     c.receive.displacements.data(), MPI_BYTE, c.comm),
          "Neighbor_alltoallv");
}

void neighbor_alltoallw(Call& c) {
    check(c.form->neighbor_alltoallw(
              c.buffers->send_data(), c.send.counts.data(), c.send.byte_displacements.data(),
              c.send.types.data(), c.buffers->receive_data(), c.receive.counts.data(),
              c.receive.byte_displacements.data(), c.receive.types.data(), c.comm),
          "Neighbor_alltoallw");
}

void neighbor_allgather(Call& c) {
    Buffers& b = *c.buffers;
    check(c.form->neighbor_allgather(first_block(b.send_data(), b.sends()), common_bytes(b.sends()),
                                     MPI_BYTE, first_block(b.receive_data(), b.receives()),
                                     common_bytes(b.receives()), MPI_BYTE, c.comm),
          "Neighbor_allgather");
}

void neighbor_allgatherv(Call& c) {
    Buffers& b = *c.buffers;
    check(c.form->neighbor_allgatherv(first_block(b.send_data(), b.sends()),
                                      common_bytes(b.sends()), MPI_BYTE, b.receive_data(),
                                      c.receive.counts.data(), c.receive.displacements.data(),
                                      MPI_BYTE, c.comm),
          "Neighbor_allgatherv");
}

// Receives first, as applications do: MPI_Irecv and MPI_Isend, or their persistent counterparts.
template <typename PostReceive, typename PostSend>
void post_all(Call& c, PostReceive post_receive, PostSend post_send) {
    Buffers& b = *c.buffers;
    c.requests.clear();
    c.requests.reserve(b.receives().size() + b.sends().size() + 1); // never a null pointer
    for (const Block& block : b.receives()) {
        check(post_receive(b.receive_data() + block.offset, block.bytes, MPI_BYTE, block.peer, tag,
                           c.comm, &c.requests.emplace_back(MPI_REQUEST_NULL)),
              "receive");
    }
    for (const Block& block : b.sends()) {
        check(post_send(b.send_data() + block.offset, block.bytes, MPI_BYTE, block.peer, tag,
                        c.comm, &c.requests.emplace_back(MPI_REQUEST_NULL)),
              "send");
    }
}

void wait_for_all(Call& c) {
    check(c.form->waitall(static_cast<int>(c.requests.size()), c.requests.data(),
                          MPI_STATUSES_IGNORE),
          "Waitall");
}

void p2p(Call& c) {
    post_all(c, c.form->irecv, c.form->isend);
    wait_for_all(c);
}

// The requests are made in the first call, whose time includes all set-up.
void persistent(Call& c) {
    if (c.requests.empty()) post_all(c, c.form->recv_init, c.form->send_init);
    check(c.form->startall(static_cast<int>(c.requests.size()), c.requests.data()), "Startall");
    wait_for_all(c);
}

// `slots`: one entry per rank (0: one per block, in the order of the neighbours).
Arguments make_arguments(const std::vector<Block>& blocks, int slots, bool typed) {
    const std::size_t used = slots > 0 ? static_cast<std::size_t>(slots) : blocks.size();
    // Never empty: some MPI libraries refuse the null pointer of a rank without neighbours.
    const std::size_t size = std::max<std::size_t>(used, 1);
    Arguments arguments{std::vector<int>(size, 0), std::vector<int>(size, 0),
                        std::vector<MPI_Aint>(size, 0), std::vector<MPI_Datatype>(size, MPI_BYTE)};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Block& block = blocks[i];
        const std::size_t slot = slots > 0 ? static_cast<std::size_t>(block.peer) : i;
        constexpr int element = sizeof(std::int64_t);
        const bool elements = typed && block.bytes % element == 0;
        arguments.counts[slot] = elements ? block.bytes / element : block.bytes;
        arguments.types[slot] = elements ? MPI_INT64_T : MPI_BYTE;
        arguments.displacements[slot] = block.offset;
        arguments.byte_displacements[slot] = block.offset;
    }
    return arguments;
}

std::vector<int> peers(const std::vector<Block>& blocks) {
    std::vector<int> ranks;
    ranks.reserve(blocks.size() + 1); // not a null pointer, see make_arguments
    for (const Block& block : blocks) ranks.push_back(block.peer);
    return ranks;
}

} // namespace

const std::vector<Operation>& operations() {
    constexpr Placement messages{BlockRule::per_message, false};
    constexpr Placement packed{BlockRule::per_message, true};
    constexpr Placement block_per_rank{BlockRule::per_source, false};
    constexpr Placement equal_blocks{BlockRule::one_size, true};
    //   name, neighborhood, only_uniform, typed, placement, call
    static const std::vector<Operation> table{
        {"alltoall", false, true, false, packed, alltoall},
        {"alltoallv", false, false, false, messages, alltoallv},
        {"alltoallw", false, false, true, messages, alltoallw},
        {"neighbor_alltoallv", true, false, false, messages, neighbor_alltoallv},
        {"neighbor_alltoallw", true, false, true, messages, neighbor_alltoallw},
        {"neighbor_allgather", true, false, false, equal_blocks, neighbor_allgather},
        {"neighbor_allgatherv", true, false, false, block_per_rank, neighbor_allgatherv},
        {"p2p", false, false, false, messages, p2p},
        {"persistent", false, false, false, messages, persistent},
    };
    return table;
}

const Operation* find_operation(const std::string& name) {
    for (const Operation& operation : operations())
        if (name == operation.name) return &operation;
    return nullptr;
}

bool has_defect(const Operation& operation, const Pattern& pattern, int ranks,
                const std::string& mpi_library) {
    if (operation.call != neighbor_alltoallw) return false;
    if (mpi_library.find("MPICH Version:\t4.0") == std::string::npos) return false;
    std::vector<int> surplus(static_cast<std::size_t>(ranks), 0); // of messages sent
    for (const Message& message : pattern.messages) {
        ++surplus[static_cast<std::size_t>(message.source)];
        --surplus[static_cast<std::size_t>(message.destination)];
    }
    return std::any_of(surplus.begin(), surplus.end(), [](int more) { return more != 0; });
}

MPI_Comm create_communicator(const Operation& operation, const Form& form, const Buffers& buffers,
                             MPI_Comm parent) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (operation.neighborhood) {
        const std::vector<int> sources = peers(buffers.receives());
        const std::vector<int> destinations = peers(buffers.sends());
        check(form.dist_graph_create_adjacent(
                  parent, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                  static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                  MPI_INFO_NULL, 0, &comm),
              "Dist_graph_create_adjacent");
    } else {
        check(form.comm_dup(parent, &comm), "Comm_dup");
    }
    return comm;
}

Call prepare_call(const Operation& operation, const Form& form, MPI_Comm comm, Buffers& buffers) {
    // Errors come back as codes, so that check() can name the call.
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int ranks = 0;
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    const int slots = operation.neighborhood ? 0 : ranks;
    Call call;
    call.form = &form;
    call.comm = comm;
    call.buffers = &buffers;
    call.send = make_arguments(buffers.sends(), slots, operation.typed);
    call.receive = make_arguments(buffers.receives(), slots, operation.typed);
    return call;
}

void release_call(Call& call) {
    for (MPI_Request& request : call.requests)
        if (request != MPI_REQUEST_NULL) check(call.form->request_free(&request), "Request_free");
    check(call.form->comm_free(&call.comm), "Comm_free");
}

} // namespace bench
