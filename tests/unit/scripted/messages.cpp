// Functions that send, receive and look for messages.

#include "tests/unit/scripted/functions.hpp"

namespace scripted {

namespace {

using Kind = Request::Kind;
using Mode = Request::Mode;

std::shared_ptr<Request> make(Kind kind, Mode mode, const void* memory, int count,
                              MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    auto made = std::make_shared<Request>();
    made->kind = kind;
    made->mode = mode;
    made->memory = memory;
    made->count = count;
    made->type = job().type(type);
    made->peer = peer;
    made->tag = tag;
    made->comm = comm;
    made->group = job().comm(comm)->group;
    return made;
}

/// What MPI says of the arguments.
int check(Kind kind, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    const bool receives = kind == Kind::receive;
    const int size = job().comm(comm)->size();
    int code = MPI_SUCCESS;
    if (count < 0) { code = MPI_ERR_COUNT; }
    if (type == MPI_DATATYPE_NULL) { code = MPI_ERR_TYPE; }
    if (tag < 0 && !(receives && tag == MPI_ANY_TAG)) { code = MPI_ERR_TAG; }
    if (tag > job().settings().largest_tag) { code = MPI_ERR_TAG; }
    const bool is_special = peer == MPI_PROC_NULL || (receives && peer == MPI_ANY_SOURCE);
    if (!is_special && (peer < 0 || peer >= size)) { code = MPI_ERR_RANK; }
    return code == MPI_SUCCESS ? code : job().raise(comm, code);
}

int begin(Kind kind, Mode mode, const void* memory, int count, MPI_Datatype type, int peer, int tag,
          MPI_Comm comm, MPI_Request* request) {
    const int code = check(kind, count, type, peer, tag, comm);
    if (code != MPI_SUCCESS) { return code; }
    const auto made = make(kind, mode, memory, count, type, peer, tag, comm);
    *request = job().process().requests.add(made);
    job().begin(made);
    return MPI_SUCCESS;
}

/// A blocking call.
int run(Kind kind, Mode mode, const void* memory, int count, MPI_Datatype type, int peer, int tag,
        MPI_Comm comm, MPI_Status* status) {
    const int code = check(kind, count, type, peer, tag, comm);
    if (code != MPI_SUCCESS) { return code; }
    const auto made = make(kind, mode, memory, count, type, peer, tag, comm);
    job().begin(made);
    job().scheduler().wait_until([made] { return made->is_complete; }, true);
    set_status(status, *made);
    return made->error == MPI_SUCCESS ? MPI_SUCCESS : job().raise(comm, made->error);
}

#define SEND(name, mode)                                                                           \
    int mpi_##name(const void* memory, int count, MPI_Datatype type, int peer, int tag,            \
                   MPI_Comm comm) {                                                                \
        ENTER_ON(name, comm)                                                                       \
        return run(Kind::send, Mode::mode, memory, count, type, peer, tag, comm,                   \
                   MPI_STATUS_IGNORE);                                                             \
    }
#define ISEND(name, mode)                                                                          \
    int mpi_##name(const void* memory, int count, MPI_Datatype type, int peer, int tag,            \
                   MPI_Comm comm, MPI_Request* request) {                                          \
        ENTER_ON(name, comm)                                                                       \
        return begin(Kind::send, Mode::mode, memory, count, type, peer, tag, comm, request);       \
    }

SEND(Send, standard)
SEND(Bsend, buffered)
SEND(Ssend, synchronous)
SEND(Rsend, standard)
ISEND(Isend, standard)
ISEND(Ibsend, buffered)
ISEND(Issend, synchronous)
ISEND(Irsend, standard)

int make_persistent(Kind kind, Mode mode, const void* memory, int count, MPI_Datatype type,
                    int peer, int tag, MPI_Comm comm, MPI_Request* request) {
    const int code = check(kind, count, type, peer, tag, comm);
    if (code != MPI_SUCCESS) { return code; }
    const auto made = make(kind, mode, memory, count, type, peer, tag, comm);
    made->is_persistent = true;
    made->is_active = false;
    *request = job().process().requests.add(made);
    return MPI_SUCCESS;
}

#define SEND_INIT(name, mode)                                                                      \
    int mpi_##name(const void* memory, int count, MPI_Datatype type, int peer, int tag,            \
                   MPI_Comm comm, MPI_Request* request) {                                          \
        ENTER_ON(name, comm)                                                                       \
        return make_persistent(Kind::send, Mode::mode, memory, count, type, peer, tag, comm,       \
                               request);                                                           \
    }

SEND_INIT(Send_init, standard)
SEND_INIT(Bsend_init, buffered)
SEND_INIT(Ssend_init, synchronous)
SEND_INIT(Rsend_init, standard)

int mpi_Recv_init(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    ENTER_ON(Recv_init, comm)
    return make_persistent(Kind::receive, Mode::standard, memory, count, type, peer, tag, comm,
                           request);
}

int mpi_Recv(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
             MPI_Status* status) {
    ENTER_ON(Recv, comm)
    return run(Kind::receive, Mode::standard, memory, count, type, peer, tag, comm, status);
}

int mpi_Irecv(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
    ENTER_ON(Irecv, comm)
    return begin(Kind::receive, Mode::standard, memory, count, type, peer, tag, comm, request);
}

int mpi_Sendrecv(const void* sent, int sent_count, MPI_Datatype sent_type, int destination,
                 int sent_tag, void* received, int count, MPI_Datatype type, int source, int tag,
                 MPI_Comm comm, MPI_Status* status) {
    ENTER_ON(Sendrecv, comm)
    const auto receive =
        make(Kind::receive, Mode::standard, received, count, type, source, tag, comm);
    const auto send =
        make(Kind::send, Mode::standard, sent, sent_count, sent_type, destination, sent_tag, comm);
    job().begin(receive);
    job().begin(send);
    job().scheduler().wait_until([=] { return receive->is_complete && send->is_complete; }, true);
    set_status(status, *receive);
    return receive->error == MPI_SUCCESS ? MPI_SUCCESS : job().raise(comm, receive->error);
}

std::shared_ptr<Message> look(int source, int tag, MPI_Comm comm) {
    return job().find(*job().comm(comm)->group, source, tag);
}

std::shared_ptr<Message> wait_for(int source, int tag, MPI_Comm comm) {
    const auto group = job().comm(comm)->group;
    job().scheduler().wait_until(
        [=, own = job().rank()] { return job().find(own, *group, source, tag) != nullptr; }, true);
    return look(source, tag, comm);
}

void tell(const Message& message, MPI_Status* status) {
    Request found;
    found.source = message.source;
    found.actual_tag = message.tag;
    found.bytes = message.size;
    set_status(status, found);
}

MPI_Message hand_out(const std::shared_ptr<Message>& message) {
    job().take(message);
    job().scheduler().note_change();
    return job().process().messages.add(message);
}

int mpi_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    ENTER_ON(Iprobe, comm)
    const auto found = look(source, tag, comm);
    *flag = found != nullptr ? 1 : 0;
    if (found != nullptr) { tell(*found, status); }
    return MPI_SUCCESS;
}

int mpi_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    ENTER_ON(Probe, comm)
    tell(*wait_for(source, tag, comm), status);
    return MPI_SUCCESS;
}

int mpi_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
    ENTER_ON(Improbe, comm)
    const auto found = look(source, tag, comm);
    *flag = found != nullptr ? 1 : 0;
    if (found == nullptr) { return MPI_SUCCESS; }
    tell(*found, status);
    *message = hand_out(found);
    return MPI_SUCCESS;
}

int mpi_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    ENTER_ON(Mprobe, comm)
    const auto found = wait_for(source, tag, comm);
    tell(*found, status);
    *message = hand_out(found);
    return MPI_SUCCESS;
}

std::shared_ptr<Request> receive_probed(void* memory, int count, MPI_Datatype type,
                                        MPI_Message* message) {
    const auto found = job().process().messages.find(*message);
    if (found == nullptr) {
        job().complain("a message that was not probed is received");
        job().scheduler().wait_until([] { return false; }, false);
    }
    auto receive = std::make_shared<Request>();
    receive->kind = Kind::receive;
    receive->memory = memory;
    receive->count = count;
    receive->type = job().type(type);
    receive->comm = MPI_COMM_WORLD;
    job().process().messages.remove(*message);
    *message = MPI_MESSAGE_NULL;
    job().match(found, receive);
    return receive;
}

int mpi_Mrecv(void* memory, int count, MPI_Datatype type, MPI_Message* message,
              MPI_Status* status) {
    ENTER(Mrecv)
    const auto receive = receive_probed(memory, count, type, message);
    job().scheduler().wait_until([receive] { return receive->is_complete; }, true);
    set_status(status, *receive);
    return receive->error == MPI_SUCCESS ? MPI_SUCCESS
                                         : job().raise(MPI_COMM_WORLD, receive->error);
}

int mpi_Imrecv(void* memory, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
    ENTER(Imrecv)
    *request = job().process().requests.add(receive_probed(memory, count, type, message));
    return MPI_SUCCESS;
}

} // namespace

void add_messages(nodeaware::Mpi& table) {
#define ADD(name) table.name = mpi_##name;
    ADD(Send)
    ADD(Bsend)
    ADD(Ssend)
    ADD(Rsend)
    ADD(Isend)
    ADD(Ibsend)
    ADD(Issend)
    ADD(Irsend)
    ADD(Send_init)
    ADD(Bsend_init)
    ADD(Ssend_init)
    ADD(Rsend_init)
    ADD(Recv_init)
    ADD(Recv)
    ADD(Irecv) ADD(Sendrecv) ADD(Iprobe) ADD(Probe) ADD(Improbe) ADD(Mprobe) ADD(Mrecv) ADD(Imrecv)
#undef ADD
}

} // namespace scripted
