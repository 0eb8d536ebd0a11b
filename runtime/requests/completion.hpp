#pragma once

#include "runtime/progress/progress.hpp"
#include "runtime/requests/requests.hpp"

/// The functions that complete requests, as applications call them while the library has anything
/// under way or learns from messages. Each does what the MPI function of its name does; blocking
/// ones test in a loop while the library has work to do.
namespace nodeaware::completion {

/// What they work on.
struct Context {
    Requests& requests;
    Progress& progress;
};

int wait(Context context, MPI_Request* request, MPI_Status* status);
int test(Context context, MPI_Request* request, int* flag, MPI_Status* status);
int waitall(Context context, int count, MPI_Request* requests, MPI_Status* statuses);
int waitany(Context context, int count, MPI_Request* requests, int* index, MPI_Status* status);
int waitsome(Context context, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses);
int testall(Context context, int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int testany(Context context, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* status);
int testsome(Context context, int count, MPI_Request* requests, int* done, int* indices,
             MPI_Status* statuses);
int get_status(Context context, MPI_Request request, int* flag, MPI_Status* status);
int get_status_all(Context context, int count, const MPI_Request* requests, int* flag,
                   MPI_Status* statuses);
int get_status_any(Context context, int count, const MPI_Request* requests, int* index, int* flag,
                   MPI_Status* status);
int get_status_some(Context context, int count, const MPI_Request* requests, int* done,
                    int* indices, MPI_Status* statuses);
/// `cancel_one` is MPI_Cancel.
int cancel(Context context, MPI_Request* request, int (*cancel_one)(MPI_Request*));

} // namespace nodeaware::completion
