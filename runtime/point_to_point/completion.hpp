#pragma once

#include "runtime/point_to_point/message_layer.hpp"

/// The functions that complete requests, as applications call them while point-to-point messages
/// are learned or moved. Each does what the MPI function of its name does; blocking ones test in a
/// loop so that the library goes on.
namespace nodeaware::completion {

int wait(MessageLayer& layer, MPI_Request* request, MPI_Status* status);
int test(MessageLayer& layer, MPI_Request* request, int* flag, MPI_Status* status);
int waitall(MessageLayer& layer, int count, MPI_Request* requests, MPI_Status* statuses);
int waitany(MessageLayer& layer, int count, MPI_Request* requests, int* index, MPI_Status* status);
int waitsome(MessageLayer& layer, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses);
int testall(MessageLayer& layer, int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int testany(MessageLayer& layer, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* status);
int testsome(MessageLayer& layer, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses);
int get_status(MessageLayer& layer, MPI_Request request, int* flag, MPI_Status* status);
int cancel(MessageLayer& layer, MPI_Request* request);

/// Persistent requests: remembered when they are made, started, freed.
void remember(MessageLayer& layer, MPI_Request request, const MessageLayer::Persistent& persistent);
int start(MessageLayer& layer, int count, MPI_Request* requests);
void forget(MessageLayer& layer, MPI_Request request);

} // namespace nodeaware::completion
