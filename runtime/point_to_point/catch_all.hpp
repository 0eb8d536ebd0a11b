#pragma once

#include "runtime/mpi/mpi.hpp"
#include "runtime/point_to_point/wire.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace nodeaware {

/// While a receive with wildcards waits and this rank may be away in MPI: receives of any payload,
/// into memory of the library, so that MPI lets their senders go on. As no message may be too large
/// for them, each has as much address space as the machine has memory; it costs what is used.
///
/// A payload that is caught goes where its envelope says, by a copy. There are a few more such
/// receives than receives with wildcards, for senders may be served whose receive is not posted
/// yet; if these are many, one that MPI would serve may wait until this rank comes back.
class CatchAll {
  public:
    /// `comm`: of payloads.
    explicit CatchAll(MPI_Comm comm) : comm_(comm) {}
    ~CatchAll();
    CatchAll(const CatchAll&) = delete;
    CatchAll& operator=(const CatchAll&) = delete;

    /// Before this rank may be away: so many more receives with wildcards wait, the largest for so
    /// many bytes. Where address space is limited, messages are not expected to be much larger.
    void post(size_t wildcards, uint64_t largest);
    /// When it is back: takes back what has met nothing.
    void withdraw();
    /// Looks after those that something is coming for.
    void advance();
    /// A payload is coming, and it is not known which.
    bool is_catching() const { return !posted_.empty(); }

    /// The bytes of a payload that was caught.
    std::optional<wire::Bytes> take(int source, int payload_tag);

  private:
    struct Receive {
        MPI_Request request;
        std::shared_ptr<std::byte> memory;
        size_t bytes = 0;
    };

    MPI_Comm comm_;
    std::vector<Receive> posted_;
    size_t wildcards_ = 0; ///< not 0: some may have met nothing
    std::map<Channel, wire::Bytes> caught_;
};

} // namespace nodeaware
