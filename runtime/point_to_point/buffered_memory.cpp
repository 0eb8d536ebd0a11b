#include "runtime/point_to_point/buffered_memory.hpp"

#include "runtime/memory/elements.hpp"

#include <vector>

namespace nodeaware::transfers {

namespace {

/// A message of this rank to itself needs as much memory of the application as others do.
int try_buffered(MessageLayer& layer, const Message& message, uint64_t bytes) {
    const MPI_Comm comm = layer.trials();
    std::vector<std::byte> received(bytes); // before anything is sent that must be received
    const Elements sent(message.count, message.type);
    const Elements all(bytes);
    const int code = mpi.Bsend(message.buffer, sent.count(), sent.type(), 0, 0, comm);
    if (code != MPI_SUCCESS) {
        layer.end_trials(); // Open MPI has counted it, and would wait for it
        return code;
    }
    MPI_CALL(Recv, received.data(), all.count(), all.type(), 0, 0, comm, MPI_STATUS_IGNORE);
    return MPI_SUCCESS;
}

/// Bytes of buffered messages with one more, if that may be too much: what is over is known only
/// after a look at all of them. 0: it is not. Little is let through.
uint64_t bytes_together(MessageLayer& layer, uint64_t bytes) {
    constexpr uint64_t little = uint64_t{16} << 20;
    constexpr int most_looks = 64; // each at as many messages
    uint64_t together = 0;
    for (int looks = 0; looks < most_looks; ++looks) {
        together = layer.buffered.bytes() + bytes;
        if (together == bytes || together <= little || layer.buffered.is_known_to_fit(together)) {
            return 0;
        }
        layer.progress.advance();
    }
    return together;
}

/// Whether there is memory for so many bytes more than those that have not left. A look takes as
/// long as copying all of them.
bool try_together(MessageLayer& layer, uint64_t bytes) {
    const uint64_t together = bytes_together(layer, bytes);
    if (together == 0) { return true; }
    std::vector<std::byte> all(together);
    const Elements elements(together);
    const Message message{all.data(), elements.count(), elements.type(), 0, 0, MPI_COMM_NULL};
    if (try_buffered(layer, message, together) != MPI_SUCCESS) { return false; }
    layer.buffered.note_fits(together);
    return true;
}

} // namespace

int check_buffered(MessageLayer& layer, const Message& message, uint64_t bytes) {
    if (layer.has_other_buffers()) { return MPI_SUCCESS; } // of which a trial says nothing
    const int code =
        try_together(layer, bytes) ? try_buffered(layer, message, bytes) : MPI_ERR_BUFFER;
    // Open MPI sends small messages without that memory, where it sends any so; those that a rank
    // sends itself have to be smaller.
    constexpr uint64_t surely_small = 4000;
    char one = 0;
    const Message least{&one, 1, MPI_CHAR, 0, 0, MPI_COMM_NULL};
    if (is_open_mpi() && code != MPI_SUCCESS && bytes <= surely_small &&
        try_buffered(layer, least, 1) == MPI_SUCCESS) {
        return MPI_SUCCESS;
    }
    return code;
}

} // namespace nodeaware::transfers
