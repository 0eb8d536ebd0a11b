#include "runtime/communicators/self_communicator.hpp"

#include "runtime/communicators/inner_communicator.hpp"

namespace nodeaware {

namespace {

MPI_Comm self = MPI_COMM_NULL;

} // namespace

MPI_Comm self_communicator() { return self; }

void open_self_communicator() { self = InnerCommunicator::create_private(MPI_COMM_SELF); }

void close_self_communicator() {
    if (self != MPI_COMM_NULL) { mpi.Comm_free(&self); }
}

} // namespace nodeaware
