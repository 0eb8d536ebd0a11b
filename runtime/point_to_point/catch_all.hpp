#pragma once

#include "runtime/mpi/mpi.hpp"
#include "runtime/point_to_point/wire.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace nodeaware {

/// While a receive with wildcards waits and this rank may be away in MPI: receives of payloads that
/// it may take, into memory of the library, so that MPI lets their senders go on. As no message may
/// be too large for them, each has as much address space as the machine has memory; it costs what
/// is used.
///
/// A payload that is caught goes where its envelope says, by a copy.
class CatchAll {
  public:
    /// `comm`: of payloads.
    explicit CatchAll(MPI_Comm comm) : comm_(comm) {}
    ~CatchAll();
    CatchAll(const CatchAll&) = delete;
    CatchAll& operator=(const CatchAll&) = delete;

    /// Which payloads: of the rank `source` (or MPI_ANY_SOURCE), with that tag (or MPI_ANY_TAG).
    struct Pattern {
        int source;
        int payload_tag;
    };
    static constexpr size_t most = 1024; ///< receives

    /// Before this rank may be away: for receives for `largest` bytes. Where address space is
    /// limited, messages are not expected to be much larger.
    void post(const std::vector<Pattern>& patterns, uint64_t largest);
    /// When it is back: takes back what has met nothing.
    void withdraw();
    /// Looks after those that something is coming for.
    void advance();
    /// A payload is coming, and it is not known which.
    bool is_catching() const { return !posted_.empty(); }

    /// The bytes of a payload that was caught.
    std::optional<wire::Bytes> take(int source, int payload_tag);

  private:
    struct Space {
        std::shared_ptr<std::byte> memory;
        size_t bytes = 0;
    };
    struct Receive {
        MPI_Request request;
        Space space;
    };

    Space take_space(size_t wanted, uint64_t largest);

    MPI_Comm comm_;
    std::vector<Receive> posted_;
    std::vector<Space> spare_;
    bool may_be_unmet_ = false; ///< some may have met nothing
    std::map<Channel, wire::Bytes> caught_;
};

} // namespace nodeaware
