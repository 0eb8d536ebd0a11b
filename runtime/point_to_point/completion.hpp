#pragma once

#include "runtime/point_to_point/hub.hpp"

/// The functions that complete requests, as applications call them while point-to-point messages
/// are learned or moved. Each does what the MPI function of its name does; blocking ones test in a
/// loop so that the library goes on.
namespace nodeaware::completion {

int wait(Hub& hub, MPI_Request* request, MPI_Status* status);
int test(Hub& hub, MPI_Request* request, int* flag, MPI_Status* status);
int waitall(Hub& hub, int count, MPI_Request* requests, MPI_Status* statuses);
int waitany(Hub& hub, int count, MPI_Request* requests, int* index, MPI_Status* status);
int waitsome(Hub& hub, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses);
int testall(Hub& hub, int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int testany(Hub& hub, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int testsome(Hub& hub, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses);
int get_status(Hub& hub, MPI_Request request, int* flag, MPI_Status* status);
int cancel(Hub& hub, MPI_Request* request);

/// Persistent requests: remembered when they are made, started, freed.
void remember(Hub& hub, MPI_Request request, const Hub::Persistent& persistent);
int start(Hub& hub, int count, MPI_Request* requests);
void forget(Hub& hub, MPI_Request request);

} // namespace nodeaware::completion
