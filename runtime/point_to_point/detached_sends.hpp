#pragma once

#include "runtime/mpi/mpi.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace nodeaware {

/// Sends of MPI whose bytes the library holds, until they are over.
class DetachedSends {
  public:
    void add(MPI_Request request, std::vector<std::byte> bytes) {
        sends_.push_back({request, std::move(bytes)});
    }
    bool empty() const { return sends_.empty(); }

    /// Throws MpiError.
    void advance() {
        std::erase_if(sends_, [](Send& send) {
            int flag = 0;
            MPI_CALL(Test, &send.request, &flag, MPI_STATUS_IGNORE);
            return flag != 0;
        });
    }

  private:
    struct Send {
        MPI_Request request;
        std::vector<std::byte> bytes;
    };
    std::vector<Send> sends_;
};

} // namespace nodeaware
