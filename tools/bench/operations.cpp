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

// The arguments of the operations, whatever their form: `more` is what follows the communicator.
struct Equal {
    template <class Function, class... More>
    static int call(Call& c, Function function, More... more) {
        Buffers& b = *c.buffers;
        return function(first_block(b.send_data(), b.sends()), common_bytes(b.sends()), MPI_BYTE,
                        first_block(b.receive_data(), b.receives()), common_bytes(b.receives()),
                        MPI_BYTE, c.comm, more...);
    }
};

struct Counted {
    template <class Function, class... More>
    static int call(Call& c, Function function, More... more) {
        return function(c.buffers->send_data(), c.send.counts.data(), c.send.displacements.data(),
                        MPI_BYTE, c.buffers->receive_data(), c.receive.counts.data(),
                        c.receive.displacements.data(), MPI_BYTE, c.comm, more...);
    }
};

struct Typed {
    template <class Function, class... More>
    static int call(Call& c, Function function, More... more) {
        return function(c.buffers->send_data(), c.send.counts.data(), c.send.displacements.data(),
                        c.send.types.data(), c.buffers->receive_data(), c.receive.counts.data(),
                        c.receive.displacements.data(), c.receive.types.data(), c.comm, more...);
    }
};

struct NeighborTyped {
    template <class Function, class... More>
    static int call(Call& c, Function function, More... more) {
        return function(
            c.buffers->send_data(), c.send.counts.data(), c.send.byte_displacements.data(),
            c.send.types.data(), c.buffers->receive_data(), c.receive.counts.data(),
            c.receive.byte_displacements.data(), c.receive.types.data(), c.comm, more...);
    }
};

struct Gathered {
    template <class Function, class... More>
    static int call(Call& c, Function function, More... more) {
        Buffers& b = *c.buffers;
        return function(first_block(b.send_data(), b.sends()), common_bytes(b.sends()), MPI_BYTE,
                        b.receive_data(), c.receive.counts.data(), c.receive.displacements.data(),
                        MPI_BYTE, c.comm, more...);
    }
};

template <class Shape, auto function> void blocking(Call& c) {
    check(Shape::call(c, c.form->*function), c.name);
}

template <class Shape, auto function> void nonblocking(Call& c) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(Shape::call(c, c.form->*function, &request), c.name);
    check(c.form->wait(&request, MPI_STATUS_IGNORE), "Wait");
}

// Of persistent operations the requests are made in the first call, whose time includes all set-up.
template <class Shape, auto function> void persistent(Call& c) {
    if (c.requests.empty()) {
        MPI_Request& request = c.requests.emplace_back(MPI_REQUEST_NULL);
        check(Shape::call(c, c.form->*function, MPI_INFO_NULL, &request), c.name);
    }
    check(c.form->start(&c.requests[0]), "Start");
    check(c.form->wait(&c.requests[0], MPI_STATUS_IGNORE), "Wait");
}

// By MPI_Irecv or MPI_Recv_init.
template <typename Post> void post_receives(Call& c, Post post) {
    Buffers& b = *c.buffers;
    c.requests.clear();
    c.requests.reserve(b.receives().size() + b.sends().size() + 1); // never a null pointer
    for (const Block& block : b.receives()) {
        check(post(b.receive_data() + block.offset, block.bytes, MPI_BYTE, block.peer, tag, c.comm,
                   &c.requests.emplace_back(MPI_REQUEST_NULL)),
              "receive");
    }
}

template <typename Post> void post_sends(Call& c, Post post) {
    Buffers& b = *c.buffers;
    for (const Block& block : b.sends()) {
        check(post(b.send_data() + block.offset, block.bytes, MPI_BYTE, block.peer, tag, c.comm,
                   &c.requests.emplace_back(MPI_REQUEST_NULL)),
              "send");
    }
}

void wait_for_all(Call& c) {
    check(c.form->waitall(static_cast<int>(c.requests.size()), c.requests.data(),
                          MPI_STATUSES_IGNORE),
          "Waitall");
}

// Receives first, as applications do.
void p2p(Call& c) {
    post_receives(c, c.form->irecv);
    post_sends(c, c.form->isend);
    wait_for_all(c);
}

// The commonest halo exchange.
void p2p_send(Call& c) {
    Buffers& b = *c.buffers;
    post_receives(c, c.form->irecv);
    for (const Block& block : b.sends()) {
        check(c.form->send(b.send_data() + block.offset, block.bytes, MPI_BYTE, block.peer, tag,
                           c.comm),
              "Send");
    }
    for (MPI_Request& request : c.requests)
        check(c.form->wait(&request, MPI_STATUS_IGNORE), "Wait");
}

void p2p_persistent(Call& c) {
    if (c.requests.empty()) {
        post_receives(c, c.form->recv_init);
        post_sends(c, c.form->send_init);
    }
    check(c.form->startall(static_cast<int>(c.requests.size()), c.requests.data()), "Startall");
    wait_for_all(c);
}

void sdde(Call& c) {
    if (!c.sparse) c.sparse.emplace(*c.form, c.comm, *c.buffers);
    c.sparse->run();
}

void deliver_sdde(Call& c) { c.sparse->deliver(); }

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
    constexpr Placement equal_messages{BlockRule::equal_messages, true};
    constexpr Placement block_per_rank{BlockRule::per_source, false};
    constexpr Placement equal_blocks{BlockRule::one_size, true};
    //   name, neighborhood, only_uniform, typed, placement, call, deliver
    static const std::vector<Operation> table{
        {"alltoall", false, true, false, packed, blocking<Equal, &Form::alltoall>},
        {"alltoallv", false, false, false, messages, blocking<Counted, &Form::alltoallv>},
        {"alltoallw", false, false, true, messages, blocking<Typed, &Form::alltoallw>},
        {"neighbor_alltoall", true, false, false, equal_messages,
         blocking<Equal, &Form::neighbor_alltoall>},
        {"neighbor_alltoallv", true, false, false, messages,
         blocking<Counted, &Form::neighbor_alltoallv>},
        {"neighbor_alltoallw", true, false, true, messages,
         blocking<NeighborTyped, &Form::neighbor_alltoallw>},
        {"neighbor_allgather", true, false, false, equal_blocks,
         blocking<Equal, &Form::neighbor_allgather>},
        {"neighbor_allgatherv", true, false, false, block_per_rank,
         blocking<Gathered, &Form::neighbor_allgatherv>},
        {"ialltoall", false, true, false, packed, nonblocking<Equal, &Form::ialltoall>},
        {"ialltoallv", false, false, false, messages, nonblocking<Counted, &Form::ialltoallv>},
        {"ialltoallw", false, false, true, messages, nonblocking<Typed, &Form::ialltoallw>},
        {"ineighbor_alltoall", true, false, false, equal_messages,
         nonblocking<Equal, &Form::ineighbor_alltoall>},
        {"ineighbor_alltoallv", true, false, false, messages,
         nonblocking<Counted, &Form::ineighbor_alltoallv>},
        {"ineighbor_alltoallw", true, false, true, messages,
         nonblocking<NeighborTyped, &Form::ineighbor_alltoallw>},
        {"ineighbor_allgather", true, false, false, equal_blocks,
         nonblocking<Equal, &Form::ineighbor_allgather>},
        {"ineighbor_allgatherv", true, false, false, block_per_rank,
         nonblocking<Gathered, &Form::ineighbor_allgatherv>},
#ifdef BENCH_PERSISTENT
        {"persistent_alltoallv", false, false, false, messages,
         persistent<Counted, &Form::alltoallv_init>},
        {"persistent_neighbor_alltoallv", true, false, false, messages,
         persistent<Counted, &Form::neighbor_alltoallv_init>},
#endif
        {"p2p", false, false, false, messages, p2p},
        {"p2p_send", false, false, false, messages, p2p_send},
        {"p2p_persistent", false, false, false, messages, p2p_persistent},
        {"sdde", false, false, false, messages, sdde, deliver_sdde},
    };
    return table;
}

bool is_message(const Operation& operation) {
    return operation.call == p2p || operation.call == p2p_send || operation.call == p2p_persistent;
}

bool is_sparse(const Operation& operation) { return operation.call == sdde; }

const Operation* find_operation(const std::string& name) {
    for (const Operation& operation : operations())
        if (name == operation.name) return &operation;
    return nullptr;
}

bool has_defect(const Operation& operation, const Pattern& pattern, int ranks,
                const std::string& mpi_library) {
    if (!operation.neighborhood || !operation.typed) return false;
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
    call.name = operation.name;
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
