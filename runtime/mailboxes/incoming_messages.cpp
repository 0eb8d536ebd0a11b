#include "runtime/mailboxes/incoming_messages.hpp"

#include "runtime/mailboxes/outgoing_messages.hpp"
#include "runtime/memory/elements.hpp"

namespace nodeaware {

/// A message that has come whole. Others begin to be received. Whatever fails, a message that MPI
/// has matched is tried again the next time, for nobody else would look for it.
std::optional<IncomingMessages::Message> IncomingMessages::next() {
    while (true) {
        if (!matched_) {
            int found = 0;
            Matched matched{};
            MPI_CALL(Improbe, MPI_ANY_SOURCE, tag_, comm_, &found, &matched.handle,
                     &matched.status);
            if (found == 0) { return std::nullopt; }
            matched_ = matched;
        }
        MPI_Count size = 0;
        MPI_CALL(Get_elements_x, &matched_->status, MPI_BYTE, &size);
        const auto bytes = static_cast<uint64_t>(size);
        const auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
        Message message{{memory, memory.get()}, bytes, matched_->status.MPI_SOURCE};
        const Elements elements(bytes);
        if (bytes <= surely_eager) {
            MPI_CALL(Mrecv, message.bytes.get(), elements.count(), elements.type(),
                     &matched_->handle, MPI_STATUS_IGNORE);
            matched_.reset();
            return message;
        }
        coming_.reserve(coming_.size() + 1);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_CALL(Imrecv, message.bytes.get(), elements.count(), elements.type(), &matched_->handle,
                 &request);
        matched_.reset();
        coming_.push_back({request, std::move(message)});
    }
}

bool IncomingMessages::is_here(Coming& coming) {
    int flag = 0;
    MPI_CALL(Test, &coming.request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
}

} // namespace nodeaware
