#pragma once

#include "runtime/mpi/mpi.hpp"
#include "runtime/trace/contents.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// What is known of requests of the application: what the start of a persistent one means, and
/// which are of exchanges, whose time passes in the functions that complete them.
namespace nodeaware::recorded_requests {

struct Known {
    bool is_exchange = false;
    bool is_persistent = false;
    int pattern = trace::Contents::no_pattern; ///< of an exchange
    int communicator = trace::no_communicator;
    int peer = 0;              ///< of a message
    uint64_t bytes = 0;        ///< of a message
    std::string_view strategy; ///< of an exchange
};

/// What is beyond some number of them is not followed.
void add(MPI_Request request, const Known& known);
void forget(MPI_Request request);
std::optional<Known> find(MPI_Request request);

/// The requests of exchanges among those that a call completes, or looks for. Made before the call,
/// which may change the handles. Fewer where there is no memory for them.
class Awaited {
  public:
    Awaited() = default;
    Awaited(int count, const MPI_Request* requests);

    /// After the call: forgets those that it has completed. Throws nothing.
    void done() const;
    /// Of all of them.
    const std::vector<int>& patterns() const { return patterns_; }

  private:
    struct Place {
        int index;
        MPI_Request request;
    };
    const MPI_Request* requests_ = nullptr;
    std::vector<Place> places_; ///< of those that are no more when they are complete
    std::vector<int> patterns_;
};

} // namespace nodeaware::recorded_requests
