#pragma once

#include "runtime/mpi/mpi.hpp"

#include <functional>

namespace nodeaware {

/// A send of the application that is not over yet.
struct PendingSend {
    int awaited = 0; ///< what has to happen before it is
    int error = MPI_SUCCESS;
    std::function<void()> then; ///< called when it is over, if there is anything to call

    bool is_over() const { return awaited == 0; }
    /// Something that was awaited has happened.
    void settle(int code = MPI_SUCCESS) {
        if (code != MPI_SUCCESS) { error = code; }
        if (--awaited == 0 && then) { then(); }
    }
};

} // namespace nodeaware
