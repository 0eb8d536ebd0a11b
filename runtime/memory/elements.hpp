#pragma once

#include "runtime/mpi/mpi.hpp"

#include <climits>

namespace nodeaware {

/// Some elements of a datatype, as MPI counts them. MPI's own counts are int: more elements than
/// that are one of a datatype that is made for them.
class Elements {
  public:
    Elements(MPI_Count count, MPI_Datatype type);
    explicit Elements(uint64_t bytes) : Elements(static_cast<MPI_Count>(bytes), MPI_BYTE) {}
    ~Elements();
    Elements(const Elements&) = delete;
    Elements& operator=(const Elements&) = delete;

    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

  private:
    int count_;
    MPI_Datatype type_;
    bool is_made_ = false;
};

} // namespace nodeaware
