#pragma once

#include "runtime/mpi/mpi.hpp"
#include "runtime/point_to_point/wire.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace nodeaware {

/// Takes the library's own messages from MPI and apart. Never waits for one: the rest of a large
/// one may take as long as its sender is away.
class IncomingMessages {
  public:
    IncomingMessages(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {}
    ~IncomingMessages() = default;
    IncomingMessages(const IncomingMessages&) = delete;
    IncomingMessages& operator=(const IncomingMessages&) = delete;

    /// Calls `take` with each wire::Arrived of some of what has come. Throws MpiError.
    template <class Take> void advance(Take take) {
        constexpr int most = 4096;
        for (int i = 0; i < most; ++i) {
            const auto message = next();
            if (!message) { break; }
            take_apart(*message, take);
        }
        for (size_t i = coming_.size(); i-- > 0;) {
            if (!is_here(coming_[i])) { continue; }
            const Message message = coming_[i].message;
            coming_.erase(coming_.begin() + static_cast<ptrdiff_t>(i));
            take_apart(message, take);
        }
    }

  private:
    struct Message {
        std::shared_ptr<std::byte[]> bytes;
        uint64_t size = 0;
    };
    struct Coming {
        MPI_Request request;
        Message message;
    };

    template <class Take> static void take_apart(const Message& message, Take& take) {
        for (uint64_t at = 0; at + sizeof(wire::Entry) <= message.size;) {
            wire::Arrived arrived;
            std::memcpy(&arrived.entry, message.bytes.get() + at, sizeof arrived.entry);
            arrived.bytes =
                wire::Bytes(message.bytes, message.bytes.get() + at + sizeof(wire::Entry));
            at += wire::size_of(arrived.entry);
            take(std::move(arrived));
        }
    }

    std::optional<Message> next();
    static bool is_here(Coming& coming);

    MPI_Comm comm_;
    int tag_;
    std::vector<Coming> coming_;
};

} // namespace nodeaware
