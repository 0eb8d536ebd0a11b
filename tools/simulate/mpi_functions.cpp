#include "tools/simulate/mpi_functions.hpp"

#include "runtime/mpi/mpi.hpp"
#include "tools/simulate/requests.hpp"
#include "tools/simulate/virtual_time.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nodeaware::simulation {

namespace {

const int* nodes = nullptr;

/// MPI's own function, between the costs of what comes before it and what is around it.
template <auto Function> struct Plain;
template <class... Arguments, int (*Function)(Arguments...)> struct Plain<Function> {
    static int call(Arguments... arguments) {
        virtual_time::before_call();
        return Function(arguments...);
    }
};

int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    const int code = PMPI_Iprobe(source, tag, comm, flag, status);
    if (code == MPI_SUCCESS && *flag != 0) { virtual_time::note_progress(); }
    return code;
}

/// SMPI does not charge who blocks in a send that waits for its receiver.
int send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    virtual_time::before_call();
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Isend(buffer, count, type, to, tag, comm, &request);
    return code == MPI_SUCCESS ? PMPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

/// Messages that have been matched, and so received: SMPI has none.
struct Matched {
    std::vector<std::byte> bytes;
    MPI_Status status;
};

int match(MPI_Comm comm, MPI_Status found, MPI_Message* message, MPI_Status* status) {
    int size = 0;
    int code = PMPI_Get_count(&found, MPI_BYTE, &size);
    if (code != MPI_SUCCESS) { return code; }
    auto made = std::make_unique<Matched>();
    made->bytes.resize(static_cast<size_t>(size));
    code = PMPI_Recv(made->bytes.data(), size, MPI_BYTE, found.MPI_SOURCE, found.MPI_TAG, comm,
                     &made->status);
    if (code != MPI_SUCCESS) { return code; }
    if (status != MPI_STATUS_IGNORE) { *status = made->status; }
    *message = made.release();
    return MPI_SUCCESS;
}

int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
            MPI_Status* status) {
    MPI_Status found;
    const int code = PMPI_Iprobe(source, tag, comm, flag, &found);
    if (code != MPI_SUCCESS || *flag == 0) { return code; }
    virtual_time::note_progress();
    return match(comm, found, message, status);
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    virtual_time::before_call();
    MPI_Status found;
    const int code = PMPI_Probe(source, tag, comm, &found);
    return code == MPI_SUCCESS ? match(comm, found, message, status) : code;
}

int mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    const std::unique_ptr<Matched> matched(static_cast<Matched*>(*message));
    *message = MPI_MESSAGE_NULL;
    int size = 0;
    int code = PMPI_Type_size(type, &size);
    if (code != MPI_SUCCESS) { return code; }
    const int bytes = static_cast<int>(matched->bytes.size());
    const int whole = size == 0 ? 0 : std::min(count, bytes / size);
    int position = 0;
    code = PMPI_Unpack(matched->bytes.data(), bytes, &position, buffer, whole, type, MPI_COMM_SELF);
    if (status != MPI_STATUS_IGNORE) { *status = matched->status; }
    return code;
}

int query_received(void* state, MPI_Status* status) {
    *status = *static_cast<const MPI_Status*>(state);
    return MPI_SUCCESS;
}
int free_received(void* state) {
    delete static_cast<MPI_Status*>(state);
    return MPI_SUCCESS;
}
int cancel_nothing(void* /*state*/, int /*is_complete*/) { return MPI_SUCCESS; }

int imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
    auto status = std::make_unique<MPI_Status>();
    int code = mrecv(buffer, count, type, message, status.get());
    if (code != MPI_SUCCESS) { return code; }
    code = mpi.Grequest_start(query_received, free_received, cancel_nothing, status.get(), request);
    if (code != MPI_SUCCESS) { return code; }
    static_cast<void>(status.release());
    return mpi.Grequest_complete(*request);
}

int get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* elements) {
    int count = 0;
    const int code = PMPI_Get_count(status, type, &count);
    *elements = count;
    return code;
}

int comm_test_inter(MPI_Comm /*comm*/, int* is_inter) {
    *is_inter = 0;
    return MPI_SUCCESS;
}

int topo_test(MPI_Comm /*comm*/, int* topology) {
    *topology = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/// By the nodes of the machine, which SMPI knows nothing of.
int comm_split_type(MPI_Comm comm, int type, int key, MPI_Info /*info*/, MPI_Comm* made) {
    virtual_time::before_call();
    const int node = nodes[virtual_time::rank()];
    return PMPI_Comm_split(comm, type == MPI_UNDEFINED ? MPI_UNDEFINED : node, key, made);
}

int get_library_version(char* text, int* length) {
    constexpr std::string_view name = "SMPI 3.32";
    *length = static_cast<int>(name.copy(text, MPI_MAX_LIBRARY_VERSION_STRING - 1));
    text[*length] = '\0';
    return MPI_SUCCESS;
}

int query_thread(int* level) {
    *level = MPI_THREAD_SINGLE;
    return MPI_SUCCESS;
}

/// Of every rank: what the library has told to be called at the end.
struct OfSelf {
    MPI_Comm_delete_attr_function* made = nullptr; ///< with the key made last
    MPI_Comm_delete_attr_function* set = nullptr;
    int key = MPI_KEYVAL_INVALID;
    void* value = nullptr;
};
std::unordered_map<int, OfSelf> attributes_of_self;

int comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove,
                       int* key, void* state) {
    attributes_of_self[virtual_time::rank()].made = remove;
    return PMPI_Comm_create_keyval(copy, remove, key, state);
}

int comm_set_attr(MPI_Comm comm, int key, void* value) {
    if (comm != MPI_COMM_SELF) { return PMPI_Comm_set_attr(comm, key, value); }
    OfSelf& kept = attributes_of_self[virtual_time::rank()];
    kept.set = kept.made;
    kept.key = key;
    kept.value = value;
    return MPI_SUCCESS;
}

using Functions = std::unordered_map<std::string_view, void*>;

template <class Function> void* address_of(Function* function) {
    return reinterpret_cast<void*>(function);
}

Functions all_functions() {
    Functions all;
#define X(name) all["MPI_" #name] = address_of(Plain<&PMPI_##name>::call);
    NODEAWARE_MPI_FUNCTIONS(X)
#undef X
    add_request_functions([&](const char* name, void* function) { all[name] = function; });
    all["MPI_Iprobe"] = address_of(iprobe);
    all["MPI_Send"] = address_of(send);
    all["MPI_Improbe"] = address_of(improbe);
    all["MPI_Mprobe"] = address_of(mprobe);
    all["MPI_Mrecv"] = address_of(mrecv);
    all["MPI_Imrecv"] = address_of(imrecv);
    all["MPI_Get_elements_x"] = address_of(get_elements_x);
    all["MPI_Comm_test_inter"] = address_of(comm_test_inter);
    all["MPI_Topo_test"] = address_of(topo_test);
    all["MPI_Comm_split_type"] = address_of(comm_split_type);
    all["MPI_Get_library_version"] = address_of(get_library_version);
    all["MPI_Query_thread"] = address_of(query_thread);
    all["MPI_Comm_create_keyval"] = address_of(comm_create_keyval);
    all["MPI_Comm_set_attr"] = address_of(comm_set_attr);
    return all;
}

} // namespace

void* find_function(const char* name) {
    static const Functions all = all_functions();
    const auto found = all.find(name);
    return found == all.end() ? nullptr : found->second;
}

void set_nodes(const int* node_of) { nodes = node_of; }

void delete_attribute_of_self() {
    const auto found = attributes_of_self.find(virtual_time::rank());
    if (found == attributes_of_self.end() || found->second.set == nullptr) { return; }
    const OfSelf kept = found->second;
    attributes_of_self.erase(found);
    kept.set(MPI_COMM_SELF, kept.key, kept.value, nullptr);
}

} // namespace nodeaware::simulation
