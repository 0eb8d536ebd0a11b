#pragma once

#include "runtime/neighbors.hpp"
#include "runtime/reason.hpp"
#include "runtime/selection.hpp"
#include "runtime/team.hpp"

#include <array>
#include <memory>
#include <optional>

namespace nodeaware {

/// What the library keeps for a communicator of the application. Hangs on it as an attribute, and
/// goes when it is freed.
class Communicator {
  public:
    /// What is kept for `comm`; made at the first use, which is collective over `comm`. A
    /// communicator that cannot be rerouted has an obstacle, the same on all ranks. Throws
    /// MpiError.
    static Communicator& of(MPI_Comm comm, const World& world);

    /// To be called once, before any other function, and at the end.
    static void open();
    static void close();

    Reason obstacle() const { return obstacle_; }
    Team& team() { return *team_; } ///< if there is no obstacle
    const Neighbors& neighbors(MPI_Comm comm, Operation operation);
    Selection& selection() { return selection_; }

  private:
    void find_team(MPI_Comm comm, const World& world);

    Reason obstacle_ = Reason::none;
    std::shared_ptr<Team> team_;
    std::array<std::optional<Neighbors>, operation_count> neighbors_;
    Selection selection_;
};

} // namespace nodeaware
