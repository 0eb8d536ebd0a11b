#pragma once

#include "runtime/memory/datatype.hpp"
#include "runtime/mpi/mpi.hpp"

#include <cstddef>
#include <memory>

namespace nodeaware {

enum class Withdrawal {
    done,    ///< no message had met the receive, and it is gone
    refused, ///< one has, and the receive goes on
    open,    ///< MPI has not said: ask again
};

/// Takes back a receive of MPI. Throws MpiError.
Withdrawal withdraw(MPI_Request* receive);
/// What has become of a receive that was to be taken back. Throws MpiError.
Withdrawal withdrawal_of(MPI_Request* receive);

/// What to receive into where the receive may be taken back. MPICH never lets go of the datatype of
/// such a receive if it has gaps, and says so when the job ends: its message comes to `packed`
/// instead, as bytes. `packed` is empty else.
UserMemory memory_to_withdraw(const UserMemory& memory, std::unique_ptr<std::byte[]>* packed);

} // namespace nodeaware
