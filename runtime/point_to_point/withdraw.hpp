#pragma once

#include "runtime/mpi/mpi.hpp"

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

} // namespace nodeaware
