#include "runtime/point_to_point/incoming_messages.hpp"

#include "runtime/memory/elements.hpp"
#include "runtime/point_to_point/outgoing_messages.hpp"

namespace nodeaware {

/// A message that has come whole. Others begin to be received.
std::optional<IncomingMessages::Message> IncomingMessages::next() {
    while (true) {
        int found = 0;
        MPI_Message handle = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_CALL(Improbe, MPI_ANY_SOURCE, tag_, comm_, &found, &handle, &status);
        if (found == 0) { return std::nullopt; }
        MPI_Count size = 0;
        MPI_CALL(Get_elements_x, &status, MPI_BYTE, &size);
        const auto bytes = static_cast<uint64_t>(size);
        Message message{std::make_shared_for_overwrite<std::byte[]>(bytes), bytes};
        const Elements elements(bytes);
        if (bytes <= surely_eager) {
            MPI_CALL(Mrecv, message.bytes.get(), elements.count(), elements.type(), &handle,
                     MPI_STATUS_IGNORE);
            return message;
        }
        Coming& coming = coming_.emplace_back(Coming{MPI_REQUEST_NULL, std::move(message)});
        MPI_CALL(Imrecv, coming.message.bytes.get(), elements.count(), elements.type(), &handle,
                 &coming.request);
    }
}

bool IncomingMessages::is_here(Coming& coming) {
    int flag = 0;
    MPI_CALL(Test, &coming.request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
}

} // namespace nodeaware
