// The operations that can be measured: one table, each written once for both forms.
#pragma once

#include "layout.hpp"
#include "mpi_forms.hpp"
#include "sparse_exchange.hpp"

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace bench {

// The arguments of the vector operations for one direction.
struct Arguments {
    std::vector<int> counts;
    std::vector<int> displacements; // bytes
    std::vector<MPI_Aint> byte_displacements;
    std::vector<MPI_Datatype> types;
};

// One operation in one form on one communicator, ready to be called again and again.
struct Call {
    const char* name = nullptr; // of the operation
    const Form* form = nullptr;
    MPI_Comm comm = MPI_COMM_NULL;
    Buffers* buffers = nullptr;
    Arguments send;
    Arguments receive;
    std::vector<MPI_Request> requests; // persistent ones are kept from call to call
    std::optional<SparseExchange> sparse;
};

struct Operation {
    const char* name;
    bool neighborhood; // needs a communicator with a graph
    bool only_uniform; // can only do patterns of one size between all ranks
    bool typed;        // 8-byte elements where sizes allow, bytes elsewhere
    Placement placement;
    void (*call)(Call& call);
    void (*deliver)(Call& call) = nullptr; // after it, not timed: what has come into the buffers
};

const std::vector<Operation>& operations();
// Messages from point to point, not a collective operation.
bool is_message(const Operation& operation);
// One in which no rank knows what it receives, by a function of the library.
bool is_sparse(const Operation& operation);
const Operation* find_operation(const std::string& name); // nullptr: there is none

// MPICH 4.0 takes wrong counts in Neighbor_alltoallw and Ineighbor_alltoallw on a rank whose in-
// and out-degree differ (its issue 6233, mended in 4.1): wrong data, crashes and hangs that are not
// ours to measure.
bool has_defect(const Operation& operation, const Pattern& pattern, int ranks,
                const std::string& mpi_library);

// Communicator (dist graph or duplicate) made by the form's own functions. Collective.
MPI_Comm create_communicator(const Operation& operation, const Form& form, const Buffers& buffers,
                             MPI_Comm parent);
Call prepare_call(const Operation& operation, const Form& form, MPI_Comm comm, Buffers& buffers);
void release_call(Call& call); // requests and communicator

} // namespace bench
