#pragma once

#include "interpose/abi.hpp"

/// The functions of the core that start, cancel and complete requests.
namespace nodeaware::requests {

int cancel(abi::MPI_Request* request);
int start(abi::MPI_Request* request);
int startall(int count, abi::MPI_Request* requests);
int wait(abi::MPI_Request* request, abi::MPI_Status* status);
int waitall(int count, abi::MPI_Request* requests, abi::MPI_Status* statuses);
int waitany(int count, abi::MPI_Request* requests, int* index, abi::MPI_Status* status);
int waitsome(int count, abi::MPI_Request* requests, int* done, int* indices,
             abi::MPI_Status* statuses);
int test(abi::MPI_Request* request, int* flag, abi::MPI_Status* status);
int testall(int count, abi::MPI_Request* requests, int* flag, abi::MPI_Status* statuses);
int testany(int count, abi::MPI_Request* requests, int* index, int* flag, abi::MPI_Status* status);
int testsome(int count, abi::MPI_Request* requests, int* done, int* indices,
             abi::MPI_Status* statuses);
int request_get_status(abi::MPI_Request request, int* flag, abi::MPI_Status* status);
int request_get_status_all(int count, abi::MPI_Request* requests, int* flag,
                           abi::MPI_Status* statuses);
int request_get_status_any(int count, abi::MPI_Request* requests, int* index, int* flag,
                           abi::MPI_Status* status);
int request_get_status_some(int count, abi::MPI_Request* requests, int* done, int* indices,
                            abi::MPI_Status* statuses);
int request_free(abi::MPI_Request* request);

} // namespace nodeaware::requests
