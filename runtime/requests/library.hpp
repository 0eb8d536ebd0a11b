#pragma once

#include "runtime/job/learned.hpp"
#include "runtime/job/report.hpp"
#include "runtime/job/world.hpp"
#include "runtime/progress/progress.hpp"
#include "runtime/requests/requests.hpp"

#include <memory>

namespace nodeaware {

class Mailboxes;
class MessageLayer;
class Nonblocking;

/// All that the process has between MPI_Init and MPI_Finalize, beside what hangs on communicators.
struct Library {
    /// Collective over MPI_COMM_WORLD. Defined in core/, where all rooms are known.
    explicit Library(World discovered);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    /// Before MPI_Finalize, collective: serves others until nobody has anything left to send.
    void close();

    World world;
    LearnedChoices learned;
    Report report;
    Progress progress;
    Requests requests;
    std::shared_ptr<Mailboxes> mailboxes; ///< nullptr: not wanted, or, on all ranks, not to be had
    std::unique_ptr<Nonblocking> nonblocking;
    std::unique_ptr<MessageLayer> messages; ///< nullptr: point-to-point calls are not seen
};

/// nullptr before and after. Never destroyed at exit: MPI may be gone then.
inline Library* library = nullptr;

} // namespace nodeaware
