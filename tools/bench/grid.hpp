// The grid of ranks that the halo patterns are on.
#pragma once

#include "pattern.hpp"

#include <string>

namespace bench {

// "4x4": up to three dimensions. Throws InputError, also where that are not so many ranks.
std::array<int, 3> parse_grid(const std::string& text, int ranks);

// The given one, or the one that MPI_Dims_create makes.
std::array<int, 3> grid_of(const PatternOptions& options, int ranks);

// All ranks in the order that MPI_Cart_create gives them where it may reorder.
class CartesianOrder {
  public:
    CartesianOrder(MPI_Comm comm, const PatternOptions& options);
    ~CartesianOrder() { MPI_Comm_free(&grid_); }
    CartesianOrder(const CartesianOrder&) = delete;
    CartesianOrder& operator=(const CartesianOrder&) = delete;

    MPI_Comm comm() const { return grid_; }

  private:
    MPI_Comm grid_ = MPI_COMM_NULL;
};

} // namespace bench
