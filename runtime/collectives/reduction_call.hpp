#pragma once

#include "interpose/abi.hpp"
#include "runtime/collectives/node_reduction.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/job/reason.hpp"
#include "runtime/job/report.hpp"

namespace nodeaware {

/// MPI_Allreduce on its way. A call whose bits may depend on the order of its terms is MPI's alone,
/// unless the configuration asks for more, and so are others than small ones; of the rest all ranks
/// decide alike, by the arguments that they have in common and by what they count together. What a
/// rank alone knows of its terms the others learn on the way, and if it is to be MPI, MPI does it.
class ReductionCall {
  public:
    ReductionCall(const abi::Reduction& reduction, MPI_Comm comm);

    /// As the hook in interpose/abi.hpp. Throws nothing.
    abi::Offered run(int* result);

  private:
    bool is_candidate() const;
    abi::Offered attempt(int* result);
    Reason run_with_others(Communicator& communicator, int* result, Selected& selected);
    bool may_read_terms() const;

    MPI_Comm comm_;
    const abi::MPI_Count count_;
    Reduction reduction_;
    bool looks_at_terms_ = false;
    CallRecord record_;
};

} // namespace nodeaware
