#include "tests/unit/handover/network.hpp"

#include "runtime/mpi/mpi.hpp"

#include <cstdint>
#include <cstring>

namespace nodeaware::handover_test {

Network::Request& request_of(MPI_Request handle) {
    uintptr_t value = 0;
    std::memcpy(&value, &handle, sizeof(MPI_Request));
    return network->requests.at(value - 1);
}

namespace {

MPI_Request handle_of(size_t number) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto value = static_cast<uintptr_t>(number);
    std::memcpy(&request, &value, sizeof(MPI_Request));
    return request;
}

int fake_irecv(void* memory, int /*count*/, MPI_Datatype /*type*/, int from, int tag,
               MPI_Comm /*comm*/, MPI_Request* request) {
    *request = handle_of(network->post(static_cast<int*>(memory), {from, tag}));
    return MPI_SUCCESS;
}
int fake_cancel(MPI_Request* request) {
    Network::Request& kept = request_of(*request);
    if (!kept.is_over) { kept.is_over = kept.is_cancelled = true; }
    return MPI_SUCCESS;
}
int fake_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    const Network::Request& kept = request_of(request);
    *flag = kept.is_over ? 1 : 0;
    if (status == MPI_STATUS_IGNORE || !kept.is_over) { return MPI_SUCCESS; }
    status->MPI_SOURCE = kept.is_cancelled ? MPI_ANY_SOURCE : kept.matched_source;
    status->MPI_TAG = kept.matched_tag;
    status->MPI_ERROR = kept.is_cancelled ? 1 : 0; // for fake_test_cancelled
    return MPI_SUCCESS;
}
int fake_test(MPI_Request* request, int* flag, MPI_Status* status) {
    fake_get_status(*request, flag, status);
    if (*flag != 0) {
        request_of(*request).is_gone = true;
        *request = MPI_REQUEST_NULL;
    }
    return MPI_SUCCESS;
}
int fake_wait(MPI_Request* request, MPI_Status* /*status*/) {
    request_of(*request).is_gone = true;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
int fake_test_cancelled(const MPI_Status* status, int* flag) {
    *flag = status->MPI_ERROR;
    return MPI_SUCCESS;
}
int fake_elements(const MPI_Status* /*status*/, MPI_Datatype /*type*/, MPI_Count* count) {
    *count = sizeof(int);
    return MPI_SUCCESS;
}
int fake_get_errhandler(MPI_Comm /*comm*/, MPI_Errhandler* /*handler*/) { return MPI_SUCCESS; }
int fake_version(int* version, int* subversion) {
    *version = 4;
    *subversion = 0;
    return MPI_SUCCESS;
}
int fake_set_errhandler(MPI_Comm /*comm*/, MPI_Errhandler /*handler*/) { return MPI_SUCCESS; }
int fake_free_errhandler(MPI_Errhandler* /*handler*/) { return MPI_SUCCESS; }

} // namespace

void use_network() {
    mpi.Irecv = fake_irecv;
    mpi.Cancel = fake_cancel;
    mpi.Request_get_status = fake_get_status;
    mpi.Test = fake_test;
    mpi.Wait = fake_wait;
    mpi.Test_cancelled = fake_test_cancelled;
    mpi.Get_elements_x = fake_elements;
    mpi.Comm_get_errhandler = fake_get_errhandler;
    mpi.Comm_set_errhandler = fake_set_errhandler;
    mpi.Get_version = fake_version;
    mpi.Errhandler_free = fake_free_errhandler;
}

} // namespace nodeaware::handover_test
