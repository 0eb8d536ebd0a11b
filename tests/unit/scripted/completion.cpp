// Functions that start, complete and cancel requests.

#include "tests/unit/scripted/functions.hpp"

#include <algorithm>

namespace scripted {

namespace {

using Kind = Request::Kind;

std::shared_ptr<Request> find(MPI_Request handle) {
    if (handle == MPI_REQUEST_NULL) { return nullptr; }
    auto found = job().process().requests.find(handle);
    if (found == nullptr) {
        job().complain("a request that is none, or was freed");
        job().scheduler().wait_until([] { return false; }, false);
    }
    return found;
}

bool is_waited_for(const std::shared_ptr<Request>& request) {
    return request != nullptr && request->is_active;
}
bool is_over(const std::shared_ptr<Request>& request) {
    return !is_waited_for(request) || request->is_complete;
}

/// Code of another language may call these: nothing must be thrown through it.
template <class Function, class... Arguments>
int call_back(Function function, Arguments... arguments) {
    try {
        return function(arguments...);
    } catch (...) {
        job().complain("an exception comes out of a callback");
        return MPI_ERR_INTERN;
    }
}

int ask(const Request& request, MPI_Status* status) {
    if (request.kind != Kind::generalized) {
        set_status(status, request);
        return request.error;
    }
    MPI_Status own;
    return call_back(request.query, request.extra, status == MPI_STATUS_IGNORE ? &own : status);
}

/// Completes a request that is over, and says with what code.
int finish(MPI_Request* handle, MPI_Status* status) {
    const auto request = find(*handle);
    if (!is_waited_for(request)) {
        set_status(status, Request());
        return MPI_SUCCESS;
    }
    const int code = ask(*request, status);
    job().scheduler().note_change();
    if (request->is_persistent) {
        request->is_active = false;
        return code;
    }
    if (request->kind == Kind::generalized) { call_back(request->release, request->extra); }
    job().process().requests.remove(*handle);
    *handle = MPI_REQUEST_NULL;
    return code;
}

/// Of several; statuses tell of errors if there are any.
int finish_all(const std::vector<MPI_Request*>& handles, MPI_Status* statuses, bool is_ignored) {
    std::vector<int> codes;
    for (size_t i = 0; i < handles.size(); ++i) {
        codes.push_back(finish(handles[i], is_ignored ? MPI_STATUS_IGNORE : statuses + i));
    }
    const bool is_well = std::all_of(codes.begin(), codes.end(), [](int c) { return c == 0; });
    if (is_well) { return MPI_SUCCESS; }
    for (size_t i = 0; i < handles.size() && !is_ignored; ++i) { statuses[i].MPI_ERROR = codes[i]; }
    return job().raise(MPI_COMM_WORLD, MPI_ERR_IN_STATUS);
}

/// A completing function fails: MPI has given up the requests.
int give_up(int code, int count, MPI_Request* handles) {
    for (int i = 0; i < count; ++i) {
        const auto request = find(handles[i]);
        if (request == nullptr || request->kind == Kind::generalized) { continue; }
        job().drop(request);
        if (request->is_persistent) {
            request->is_active = false;
            continue;
        }
        job().process().requests.remove(handles[i]);
        handles[i] = MPI_REQUEST_NULL;
    }
    return job().raise(MPI_COMM_WORLD, code);
}

#define ENTER_COMPLETION(name, count, requests)                                                    \
    if (const int code_ = job().enter("MPI_" #name); code_ != MPI_SUCCESS) {                       \
        return give_up(code_, count, requests);                                                    \
    }

int one(int code) { return code == MPI_SUCCESS ? code : job().raise(MPI_COMM_WORLD, code); }

void wait(const std::shared_ptr<Request>& request) {
    if (is_over(request)) { return; }
    job().scheduler().wait_until([request] { return is_over(request); }, true);
}

int mpi_Wait(MPI_Request* request, MPI_Status* status) {
    ENTER_COMPLETION(Wait, 1, request)
    wait(find(*request));
    return one(finish(request, status));
}

int mpi_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    ENTER_COMPLETION(Test, 1, request)
    *flag = is_over(find(*request)) ? 1 : 0;
    return *flag == 0 ? MPI_SUCCESS : one(finish(request, status));
}

std::vector<MPI_Request*> list(int count, MPI_Request* requests) {
    std::vector<MPI_Request*> handles;
    for (int i = 0; i < count; ++i) { handles.push_back(requests + i); }
    return handles;
}

int mpi_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    ENTER_COMPLETION(Waitall, count, requests)
    for (int i = 0; i < count; ++i) { wait(find(requests[i])); }
    return finish_all(list(count, requests), statuses, statuses == MPI_STATUSES_IGNORE);
}

int mpi_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    ENTER_COMPLETION(Testall, count, requests)
    *flag =
        std::all_of(requests, requests + count, [](auto r) { return is_over(find(r)); }) ? 1 : 0;
    if (*flag == 0) { return MPI_SUCCESS; }
    return finish_all(list(count, requests), statuses, statuses == MPI_STATUSES_IGNORE);
}

/// Those that can be completed; without any to wait for, `*has_any` is false.
std::vector<int> ready(int count, const MPI_Request* requests, bool* has_any) {
    std::vector<int> indices;
    *has_any = false;
    for (int i = 0; i < count; ++i) {
        const auto request = find(requests[i]);
        if (!is_waited_for(request)) { continue; }
        *has_any = true;
        if (request->is_complete) { indices.push_back(i); }
    }
    return indices;
}

int mpi_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    ENTER_COMPLETION(Testany, count, requests)
    bool has_any = false;
    const std::vector<int> indices = ready(count, requests, &has_any);
    *index = MPI_UNDEFINED;
    *flag = indices.empty() && has_any ? 0 : 1;
    if (indices.empty()) {
        if (!has_any) { set_status(status, Request()); }
        return MPI_SUCCESS;
    }
    *index = job().random().one_of(indices);
    return one(finish(requests + *index, status));
}

int mpi_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    ENTER_COMPLETION(Testsome, count, requests)
    bool has_any = false;
    std::vector<int> found = ready(count, requests, &has_any);
    if (found.size() > 1) { found.resize(1 + job().random().below(found.size())); }
    *done = has_any ? static_cast<int>(found.size()) : MPI_UNDEFINED;
    std::copy(found.begin(), found.end(), indices);
    std::vector<MPI_Request*> handles;
    for (const int index : found) { handles.push_back(requests + index); }
    return finish_all(handles, statuses, statuses == MPI_STATUSES_IGNORE);
}

void wait_for_any(int count, const MPI_Request* requests) {
    std::vector<std::shared_ptr<Request>> waited;
    for (int i = 0; i < count; ++i) {
        const auto request = find(requests[i]);
        if (is_waited_for(request)) { waited.push_back(request); }
    }
    if (waited.empty()) { return; }
    job().scheduler().wait_until(
        [waited] {
            return std::any_of(waited.begin(), waited.end(),
                               [](const auto& request) { return request->is_complete; });
        },
        true);
}

int mpi_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    ENTER_COMPLETION(Waitany, count, requests)
    wait_for_any(count, requests);
    int flag = 0;
    return mpi_Testany(count, requests, index, &flag, status);
}

int mpi_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    ENTER_COMPLETION(Waitsome, count, requests)
    wait_for_any(count, requests);
    return mpi_Testsome(count, requests, done, indices, statuses);
}

int mpi_Request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
    ENTER(Request_get_status)
    const auto request = find(handle);
    *flag = is_over(request) ? 1 : 0;
    if (*flag == 0) { return MPI_SUCCESS; }
    const bool is_none = !is_waited_for(request);
    ask(is_none ? Request() : *request, status); // errors are told when it is completed
    return MPI_SUCCESS;
}

int mpi_Request_free(MPI_Request* handle) {
    ENTER(Request_free)
    const auto request = find(*handle);
    const MPI_Request freed = *handle;
    *handle = MPI_REQUEST_NULL;
    if (request->kind == Kind::generalized) {
        request->is_freed = true; // and is kept until it is complete
        if (!request->is_complete) { return MPI_SUCCESS; }
        call_back(request->release, request->extra);
    }
    job().process().requests.remove(freed);
    return MPI_SUCCESS;
}

int mpi_Cancel(MPI_Request* handle) {
    ENTER(Cancel)
    const auto request = find(*handle);
    if (request->kind == Kind::generalized) {
        return one(call_back(request->cancel, request->extra, request->is_complete ? 1 : 0));
    }
    if (request->kind == Kind::receive && request->is_active && !request->is_complete) {
        job().cancel(request);
    }
    return MPI_SUCCESS;
}

int mpi_Startall(int count, MPI_Request* requests) {
    ENTER(Startall)
    for (int i = 0; i < count; ++i) { job().begin(find(requests[i])); }
    return MPI_SUCCESS;
}

int mpi_Start(MPI_Request* request) {
    ENTER(Start)
    job().begin(find(*request));
    return MPI_SUCCESS;
}

int mpi_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* release,
                       MPI_Grequest_cancel_function* cancel, void* extra, MPI_Request* handle) {
    ENTER(Grequest_start)
    auto request = std::make_shared<Request>();
    request->kind = Kind::generalized;
    request->query = query;
    request->release = release;
    request->cancel = cancel;
    request->extra = extra;
    *handle = job().process().requests.add(std::move(request));
    return MPI_SUCCESS;
}

int mpi_Grequest_complete(MPI_Request handle) {
    ENTER(Grequest_complete)
    const auto request = find(handle);
    if (request->kind != Kind::generalized || request->is_complete) {
        job().complain("MPI_Grequest_complete of a request that is none, or complete");
    }
    job().complete(request);
    if (request->is_freed) {
        call_back(request->release, request->extra);
        job().process().requests.remove(handle);
    }
    return MPI_SUCCESS;
}

} // namespace

void add_completion(nodeaware::Mpi& table) {
#define ADD(name) table.name = mpi_##name;
    ADD(Wait)
    ADD(Waitall)
    ADD(Waitany)
    ADD(Waitsome)
    ADD(Test)
    ADD(Testall)
    ADD(Testany)
    ADD(Testsome)
    ADD(Request_get_status)
    ADD(Request_free)
    ADD(Cancel) ADD(Start) ADD(Startall) ADD(Grequest_start) ADD(Grequest_complete)
#undef ADD
}

} // namespace scripted
