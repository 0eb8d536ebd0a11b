#pragma once

#include "runtime/point_to_point/arguments.hpp"
#include "runtime/point_to_point/message_layer.hpp"

/// What the point-to-point functions of MPI have in common, while some communicator is learned from
/// or served.
namespace nodeaware::transfers {

using Mode = PersistentRequest::Mode;

/// Sends if the message is an engine's; then `*result` is what the call returns. Otherwise the call
/// is one of MPI, and with a `*result` that is no MPI_SUCCESS one that MPI refuses, in its own way.
/// `request` is nullptr for a blocking send. Throws MpiError.
bool send(MessageLayer& layer, const Message& message, Mode mode, MPI_Request* request,
          int* result);
/// Receives likewise; `status` is that of a blocking receive.
bool receive(MessageLayer& layer, const Message& message, MPI_Request* request, MPI_Status* status,
             int* result);

/// A blocking call of MPI with these arguments will end with an error: then that call is to be
/// made, for its nonblocking form may say something else. Throw MpiError.
bool refuses_send(MessageLayer& layer, const Message& message);
bool refuses_receive(MessageLayer& layer, const Message& message);
/// Waits for a request of MPI on `comm` so that the engines go on. Errors are raised there, as by a
/// blocking call.
int wait_native(MessageLayer& layer, MPI_Request* request, MPI_Status* status, MPI_Comm comm,
                bool is_for_send = false);
/// The same for one that the library has not noted by its handle, which may be used again while
/// this waits in MPI.
int wait_unnoted(MessageLayer& layer, MPI_Request* request, MPI_Status* status, MPI_Comm comm,
                 bool is_for_send = false);

// What MPI has done or begun, to learn from: before anything else of the library can happen.
void note_sent(MessageLayer& layer, const Message& message);
void note_receive_begun(MessageLayer& layer, const Message& message, MPI_Request request);
/// A blocking receive is posted; then what has become of it.
void note_blocking_receive(MessageLayer& layer, const Message& message);
void note_received(MessageLayer& layer, const Message& message, const MPI_Status& status);

/// Looks for a message, as MPI_Iprobe does. `*is_ours`: it is an engine's.
int probe(MessageLayer& layer, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status,
          bool* is_ours);

/// Receives a message of `bytes` that this rank has sent itself, if there is less room: Open MPI
/// would write all of it. What MPI_Mrecv is to return; nothing: it is to be called.
std::optional<int> receive_cut(MessageLayer& layer, uint64_t bytes, Message message,
                               MPI_Message* handle, MPI_Status* status);
/// Receives a message that a probe has matched in an engine and that MPI holds: a payload that went
/// straight. `status` or `request`, as above. Returns what the call returns.
int receive_probed(MessageLayer& layer, const MessageLayer::Probed& probed, const Message& message,
                   MPI_Message* handle, MPI_Request* request, MPI_Status* status);

} // namespace nodeaware::transfers
