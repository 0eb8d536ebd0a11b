#include "runtime/point_to_point/arguments.hpp"

#include "runtime/memory/type_parts.hpp"
#include "runtime/mpi/errors_return.hpp"

#include <climits>

namespace nodeaware::transfers {

namespace {

/// Tags that every MPI has; most programs use no others.
bool is_promised(int tag) { return tag >= 0 && tag <= 32767; }

bool is_surely_predefined(MPI_Datatype type) {
    try {
        return type != MPI_DATATYPE_NULL && is_predefined(type);
    } catch (const MpiError&) { return false; }
}

/// Derived datatypes may not be committed.
bool is_beyond_doubt(const Message& message) {
    return message.count >= 0 && (message.buffer != nullptr || message.count == 0) &&
           is_surely_predefined(message.type);
}

/// `count` as MPI is to see it: what is wrong with it must stay wrong.
int to_int(MPI_Count count) {
    return count < 0 ? -1 : static_cast<int>(count > INT_MAX ? INT_MAX : count);
}

/// What MPI says of the arguments. `make` is MPI_Send_init or MPI_Recv_init.
template <class Make> int ask(Make make, const char* name, const Message& message) {
    const ErrorsReturn errors_return(message.comm);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = make(message.buffer, to_int(message.count), message.type, message.peer,
                          message.tag, message.comm, &request);
    if (code == MPI_SUCCESS) { MPI_CALL(Request_free, &request); }
    if (code != MPI_SUCCESS && !is_refused(code)) { throw MpiError(code, name); }
    return code;
}

} // namespace

int check_send(const Message& message, bool is_rank) {
    const bool is_well = is_rank && is_promised(message.tag) && is_beyond_doubt(message);
    return is_well ? MPI_SUCCESS : ask(mpi.Send_init, "MPI_Send_init", message);
}

int check_receive(const Message& message, bool is_rank) {
    const bool is_well = is_rank && is_tag_of_receives(message.tag) && is_beyond_doubt(message);
    return is_well ? MPI_SUCCESS : ask(mpi.Recv_init, "MPI_Recv_init", message);
}

bool is_tag_of_receives(int tag) { return tag == MPI_ANY_TAG || is_promised(tag); }

} // namespace nodeaware::transfers
