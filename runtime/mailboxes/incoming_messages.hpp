#pragma once

#include "runtime/mpi/mpi.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace nodeaware {

/// Takes the library's own messages from MPI. Never waits for one: the rest of a large
/// one may take as long as its sender is away.
class IncomingMessages {
  public:
    IncomingMessages(MPI_Comm comm, int tag) : comm_(comm), tag_(tag) {}
    ~IncomingMessages() = default;
    IncomingMessages(const IncomingMessages&) = delete;
    IncomingMessages& operator=(const IncomingMessages&) = delete;

    struct Message {
        std::shared_ptr<std::byte> bytes;
        uint64_t size = 0;
        int source = 0;
    };
    /// Calls `take` with each Message of some of what has come. Throws MpiError.
    template <class Take> void advance(Take take) {
        constexpr int most = 4096;
        for (int i = 0; i < most; ++i) {
            const auto message = next();
            if (!message) { break; }
            take(*message);
        }
        for (size_t i = coming_.size(); i-- > 0;) {
            if (!is_here(coming_[i])) { continue; }
            const Message message = coming_[i].message;
            coming_.erase(coming_.begin() + static_cast<ptrdiff_t>(i));
            take(message);
        }
    }

  private:
    struct Coming {
        MPI_Request request;
        Message message;
    };

    struct Matched {
        MPI_Message handle;
        MPI_Status status;
    };

    std::optional<Message> next();
    static bool is_here(Coming& coming);

    MPI_Comm comm_;
    int tag_;
    std::optional<Matched> matched_; ///< and not received
    std::vector<Coming> coming_;
};

} // namespace nodeaware
