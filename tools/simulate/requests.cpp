#include "tools/simulate/requests.hpp"

#include "tools/simulate/barrier.hpp"
#include "tools/simulate/virtual_time.hpp"

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <tuple>

namespace nodeaware::simulation {

namespace {

/// What a handle of the simulation leads to.
struct Request {
    MPI_Request real = MPI_REQUEST_NULL; ///< of SMPI; none: a generalized one, or over
    bool is_persistent = false;
    bool is_active = true;
    bool is_over = false;
    int code = MPI_SUCCESS;
    MPI_Status status{};

    bool is_generalized = false;
    MPI_Grequest_query_function* query = nullptr;
    MPI_Grequest_free_function* release = nullptr;
    MPI_Grequest_cancel_function* cancel = nullptr;
    void* state = nullptr;

    std::shared_ptr<Barrier> barrier; ///< if it is one
};

Request& request_of(MPI_Request handle) { return *reinterpret_cast<Request*>(handle); }

MPI_Status empty_status() {
    MPI_Status status{};
    status.MPI_SOURCE = MPI_ANY_SOURCE;
    status.MPI_TAG = MPI_ANY_TAG;
    return status;
}

MPI_Request handle_of(const Request& made) {
    return reinterpret_cast<MPI_Request>(new Request(made));
}

/// Whether it is over, or not active.
bool look(Request& request) {
    if (request.is_over || !request.is_active || request.is_generalized) {
        return request.is_over || !request.is_active;
    }
    int is_over = 0;
    if (request.barrier != nullptr) {
        is_over = request.barrier->advance(request.code) ? 1 : 0;
    } else {
        request.code = PMPI_Test(&request.real, &is_over, &request.status);
    }
    request.is_over = is_over != 0 || request.code != MPI_SUCCESS;
    if (request.is_over) { virtual_time::note_progress(); }
    return request.is_over;
}

void wait(Request& request) {
    if (request.is_generalized || request.barrier != nullptr) {
        while (!look(request)) { virtual_time::pause(); }
    } else if (!look(request)) {
        virtual_time::before_call();
        request.code = PMPI_Wait(&request.real, &request.status);
        request.is_over = true;
    }
}

/// Of one that is over: tells how, and lets it go.
int take(MPI_Request* handle, MPI_Status* status) {
    Request& request = request_of(*handle);
    MPI_Status told = request.is_active ? request.status : empty_status();
    int code = request.is_active ? request.code : MPI_SUCCESS;
    if (request.is_generalized) {
        code = request.query(request.state, &told);
        request.release(request.state);
    }
    if (status != MPI_STATUS_IGNORE) { *status = told; }
    if (request.is_persistent) {
        request.is_active = false;
        request.is_over = false;
    } else {
        delete &request;
        *handle = MPI_REQUEST_NULL;
    }
    return code;
}

int take_or_ignore(MPI_Request* handle, MPI_Status* status) {
    if (*handle != MPI_REQUEST_NULL) { return take(handle, status); }
    if (status != MPI_STATUS_IGNORE) { *status = empty_status(); }
    return MPI_SUCCESS;
}

bool is_over(MPI_Request handle) { return handle == MPI_REQUEST_NULL || look(request_of(handle)); }
bool is_active(MPI_Request handle) {
    return handle != MPI_REQUEST_NULL && request_of(handle).is_active;
}

MPI_Status* one_of(MPI_Status* statuses, int place) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[place];
}

template <auto Function, bool Persists> struct Making;
template <class... Arguments, int (*Function)(Arguments...), bool Persists>
struct Making<Function, Persists> {
    /// The last argument is the handle.
    static int call(Arguments... arguments) {
        virtual_time::before_call();
        MPI_Request* const handle =
            std::get<sizeof...(Arguments) - 1>(std::forward_as_tuple(arguments...));
        const int code = Function(arguments...);
        if (code != MPI_SUCCESS) { return code; }
        Request made;
        made.real = *handle;
        made.is_persistent = Persists;
        made.is_active = !Persists;
        *handle = handle_of(made);
        return MPI_SUCCESS;
    }
};

int test(MPI_Request* handle, int* flag, MPI_Status* status) {
    *flag = is_over(*handle) ? 1 : 0;
    return *flag != 0 ? take_or_ignore(handle, status) : MPI_SUCCESS;
}

int wait_one(MPI_Request* handle, MPI_Status* status) {
    if (*handle != MPI_REQUEST_NULL) { wait(request_of(*handle)); }
    return take_or_ignore(handle, status);
}

int testall(int count, MPI_Request* handles, int* flag, MPI_Status* statuses) {
    *flag = std::all_of(handles, handles + count, is_over) ? 1 : 0;
    int code = MPI_SUCCESS;
    for (int i = 0; i < count && *flag != 0; ++i) {
        const int one = take_or_ignore(&handles[i], one_of(statuses, i));
        code = code == MPI_SUCCESS ? one : code;
    }
    return code;
}

int waitall(int count, MPI_Request* handles, MPI_Status* statuses) {
    int code = MPI_SUCCESS;
    for (int i = 0; i < count; ++i) {
        const int one = wait_one(&handles[i], one_of(statuses, i));
        code = code == MPI_SUCCESS ? one : code;
    }
    return code;
}

int testany(int count, MPI_Request* handles, int* index, int* flag, MPI_Status* status) {
    *index = MPI_UNDEFINED;
    *flag = 1;
    for (int i = 0; i < count; ++i) {
        if (!is_active(handles[i])) { continue; }
        *flag = 0;
        if (!look(request_of(handles[i]))) { continue; }
        *flag = 1;
        *index = i;
        return take(&handles[i], status);
    }
    if (*flag != 0 && status != MPI_STATUS_IGNORE) { *status = empty_status(); }
    return MPI_SUCCESS;
}

int waitany(int count, MPI_Request* handles, int* index, MPI_Status* status) {
    for (int flag = 0;; virtual_time::pause()) {
        const int code = testany(count, handles, index, &flag, status);
        if (code != MPI_SUCCESS || flag != 0) { return code; }
    }
}

int testsome(int count, MPI_Request* handles, int* done, int* indices, MPI_Status* statuses) {
    *done = MPI_UNDEFINED;
    int code = MPI_SUCCESS;
    for (int i = 0; i < count; ++i) {
        if (!is_active(handles[i])) { continue; }
        *done = std::max(*done, 0);
        if (!look(request_of(handles[i]))) { continue; }
        const int one = take(&handles[i], one_of(statuses, *done));
        indices[(*done)++] = i;
        code = code == MPI_SUCCESS ? one : code;
    }
    return code;
}

int waitsome(int count, MPI_Request* handles, int* done, int* indices, MPI_Status* statuses) {
    while (true) {
        const int code = testsome(count, handles, done, indices, statuses);
        if (code != MPI_SUCCESS || *done != 0) { return code; }
        virtual_time::pause();
    }
}

int get_status(MPI_Request handle, int* flag, MPI_Status* status) {
    *flag = is_over(handle) ? 1 : 0;
    if (*flag == 0 || status == MPI_STATUS_IGNORE) { return MPI_SUCCESS; }
    *status = empty_status();
    if (!is_active(handle)) { return MPI_SUCCESS; }
    const Request& request = request_of(handle);
    *status = request.status;
    return request.is_generalized ? request.query(request.state, status) : MPI_SUCCESS;
}

/// SMPI lets a message go that has met the receive and is still under way: that is waited for.
int cancel(MPI_Request* handle) {
    Request& request = request_of(*handle);
    if (request.is_generalized) { return request.cancel(request.state, request.is_over ? 1 : 0); }
    virtual_time::before_call();
    virtual_time::wait_for_arrivals();
    if (look(request)) { return MPI_SUCCESS; }
    const int code = PMPI_Cancel(&request.real);
    if (code != MPI_SUCCESS) { return code; }
    if (!request.is_persistent) { PMPI_Request_free(&request.real); }
    request.status = empty_status();
    request.is_over = true;
    return PMPI_Status_set_cancelled(&request.status, 1);
}

/// What is under way goes on without it.
int request_free(MPI_Request* handle) {
    Request& request = request_of(*handle);
    int code = MPI_SUCCESS;
    if (request.is_generalized) {
        code = request.release(request.state);
    } else if (request.real != MPI_REQUEST_NULL) {
        code = PMPI_Request_free(&request.real);
    }
    delete &request;
    *handle = MPI_REQUEST_NULL;
    return code;
}

int start(MPI_Request* handle) {
    virtual_time::before_call();
    Request& request = request_of(*handle);
    request.is_active = true;
    return PMPI_Start(&request.real);
}

int startall(int count, MPI_Request* handles) {
    for (int i = 0; i < count; ++i) {
        if (const int code = start(&handles[i]); code != MPI_SUCCESS) { return code; }
    }
    return MPI_SUCCESS;
}

int grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* release,
                   MPI_Grequest_cancel_function* cancel_it, void* state, MPI_Request* handle) {
    Request made;
    made.is_generalized = true;
    made.query = query;
    made.release = release;
    made.cancel = cancel_it;
    made.state = state;
    *handle = handle_of(made);
    return MPI_SUCCESS;
}

int ibarrier(MPI_Comm comm, MPI_Request* handle) {
    Request made;
    made.status = empty_status();
    made.barrier = std::make_shared<Barrier>(comm);
    *handle = handle_of(made);
    return MPI_SUCCESS;
}

int grequest_complete(MPI_Request handle) {
    request_of(handle).is_over = true;
    virtual_time::note_progress();
    return MPI_SUCCESS;
}

template <class Function> void* address_of(Function* function) {
    return reinterpret_cast<void*>(function);
}

} // namespace

void add_request_functions(const std::function<void(const char* name, void* function)>& add) {
#define MAKES(name, persists) add("MPI_" #name, address_of(Making<&PMPI_##name, persists>::call));
    MAKES(Isend, false)
    MAKES(Ibsend, false)
    MAKES(Issend, false)
    MAKES(Irsend, false)
    MAKES(Irecv, false)
    MAKES(Send_init, true)
    MAKES(Bsend_init, true)
    MAKES(Ssend_init, true)
    MAKES(Rsend_init, true)
    MAKES(Recv_init, true)
#undef MAKES
    add("MPI_Ibarrier", address_of(ibarrier));
    add("MPI_Test", address_of(test));
    add("MPI_Testall", address_of(testall));
    add("MPI_Testany", address_of(testany));
    add("MPI_Testsome", address_of(testsome));
    add("MPI_Wait", address_of(wait_one));
    add("MPI_Waitall", address_of(waitall));
    add("MPI_Waitany", address_of(waitany));
    add("MPI_Waitsome", address_of(waitsome));
    add("MPI_Request_get_status", address_of(get_status));
    add("MPI_Cancel", address_of(cancel));
    add("MPI_Request_free", address_of(request_free));
    add("MPI_Start", address_of(start));
    add("MPI_Startall", address_of(startall));
    add("MPI_Grequest_start", address_of(grequest_start));
    add("MPI_Grequest_complete", address_of(grequest_complete));
}

} // namespace nodeaware::simulation
