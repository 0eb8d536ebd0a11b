// Datatypes, statuses, errors, and the table of all functions.

#include "tests/unit/scripted/functions.hpp"

#include <algorithm>
#include <cstring>

namespace scripted {

namespace {

std::shared_ptr<const Type> predefined(MPI_Datatype handle) {
    const auto make = [](MPI_Count size) {
        Type type;
        type.extent = size;
        type.blocks = {{0, size}};
        return std::make_shared<const Type>(type);
    };
    static const auto one = make(1);
    static const auto four = make(4);
    static const auto eight = make(8);
    if (handle == MPI_BYTE || handle == MPI_CHAR) { return one; }
    if (handle == MPI_INT) { return four; }
    const bool is_long = handle == MPI_UNSIGNED_LONG_LONG || handle == MPI_LONG_LONG ||
                         handle == MPI_INT64_T || handle == MPI_UINT64_T || handle == MPI_DOUBLE;
    return is_long ? eight : nullptr;
}

MPI_Datatype add(Type type) {
    return job().process().types.add(std::make_shared<Type>(std::move(type)));
}

int mpi_Type_size_x(MPI_Datatype type, MPI_Count* size) {
    ENTER(Type_size_x)
    *size = static_cast<MPI_Count>(job().type(type)->size());
    return MPI_SUCCESS;
}

int mpi_Type_get_extent_x(MPI_Datatype type, MPI_Count* lower_bound, MPI_Count* extent) {
    ENTER(Type_get_extent_x)
    *lower_bound = 0;
    *extent = job().type(type)->extent;
    return MPI_SUCCESS;
}

int mpi_Type_get_true_extent_x(MPI_Datatype type, MPI_Count* lower_bound, MPI_Count* extent) {
    ENTER(Type_get_true_extent_x)
    const auto found = job().type(type);
    *lower_bound = found->first();
    *extent = found->end() - found->first();
    return MPI_SUCCESS;
}

int mpi_Type_get_envelope(MPI_Datatype type, int* integers, int* addresses, int* types,
                          int* combiner) {
    ENTER(Type_get_envelope)
    *combiner = job().type(type)->combiner;
    *integers = 0;
    *addresses = 0;
    *types = *combiner == MPI_COMBINER_NAMED ? 0 : 1;
    return MPI_SUCCESS;
}

int mpi_Type_get_contents(MPI_Datatype type, int /*integers*/, int /*addresses*/, int /*types*/,
                          int /*integer_list*/[], MPI_Aint /*address_list*/[],
                          MPI_Datatype type_list[]) {
    ENTER(Type_get_contents)
    type_list[0] = job().type(type)->made_of;
    return MPI_SUCCESS;
}

/// Adds `count` elements of a type at an offset.
void append(Type& made, const Type& part, MPI_Count count, MPI_Count offset) {
    const bool is_dense = part.blocks.size() == 1 && part.blocks[0].second == part.extent;
    if (is_dense) { made.blocks.emplace_back(offset + part.blocks[0].first, count * part.extent); }
    for (MPI_Count i = 0; i < count && !is_dense; ++i) {
        for (const auto& [first, bytes] : part.blocks) {
            made.blocks.emplace_back(offset + i * part.extent + first, bytes);
        }
    }
    made.extent = std::max(made.extent, offset + count * part.extent);
}

int mpi_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made) {
    ENTER(Type_contiguous)
    Type contiguous;
    contiguous.combiner = MPI_COMBINER_DARRAY; // not to be looked into
    contiguous.made_of = type;
    append(contiguous, *job().type(type), count, 0);
    *made = add(std::move(contiguous));
    return MPI_SUCCESS;
}

int mpi_Type_create_struct(int count, const int lengths[], const MPI_Aint places[],
                           const MPI_Datatype types[], MPI_Datatype* made) {
    ENTER(Type_create_struct)
    Type combined;
    combined.combiner = MPI_COMBINER_DARRAY;
    combined.made_of = types[0];
    for (int i = 0; i < count; ++i) {
        append(combined, *job().type(types[i]), lengths[i], places[i]);
    }
    *made = add(std::move(combined));
    return MPI_SUCCESS;
}

int mpi_Type_commit(MPI_Datatype* /*type*/) {
    ENTER(Type_commit)
    return MPI_SUCCESS;
}

int mpi_Type_free(MPI_Datatype* type) {
    ENTER(Type_free)
    return free_type(type);
}

int mpi_Type_create_keyval(MPI_Type_copy_attr_function* /*copy*/,
                           MPI_Type_delete_attr_function* /*remove*/, int* key, void* /*extra*/) {
    ENTER(Type_create_keyval)
    *key = 50;
    return MPI_SUCCESS;
}

int mpi_Type_get_attr(MPI_Datatype type, int key, void* value, int* flag) {
    ENTER(Type_get_attr)
    const auto found = job().type(type);
    const auto attribute = found->attributes.find(key);
    *flag = attribute != found->attributes.end() ? 1 : 0;
    if (*flag != 0) { *static_cast<void**>(value) = attribute->second; }
    return MPI_SUCCESS;
}

int mpi_Type_set_attr(MPI_Datatype type, int key, void* value) {
    ENTER(Type_set_attr)
    job().process().types.find(type)->attributes[key] = value;
    return MPI_SUCCESS;
}

int mpi_Pack(const void* memory, int count, MPI_Datatype type, void* to, int /*room*/,
             int* position, MPI_Comm comm) {
    ENTER_ON(Pack, comm)
    const Bytes bytes = packed(memory, count, *job().type(type));
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(to) + *position);
    *position += static_cast<int>(bytes.size());
    return MPI_SUCCESS;
}

int mpi_Unpack(const void* from, int size, int* position, void* memory, int count,
               MPI_Datatype type, MPI_Comm comm) {
    ENTER_ON(Unpack, comm)
    const auto* const first = static_cast<const std::byte*>(from);
    unpack(Bytes(first + *position, first + size), memory, count, *job().type(type));
    *position = size;
    return MPI_SUCCESS;
}

// What MPI keeps in a status beside the public members.
struct Hidden {
    uint64_t bytes;
    bool is_cancelled;
};

#if defined(NODEAWARE_STANDARD_INTERFACE)
Hidden hidden(const MPI_Status& status) {
    return {static_cast<uint64_t>(status.MPI_internal[0]), status.MPI_internal[1] != 0};
}
void hide(MPI_Status* status, const Hidden& values) {
    status->MPI_internal[0] = static_cast<int>(values.bytes);
    status->MPI_internal[1] = values.is_cancelled ? 1 : 0;
}
#elif defined(OPEN_MPI)
Hidden hidden(const MPI_Status& status) { return {status._ucount, status._cancelled != 0}; }
void hide(MPI_Status* status, const Hidden& values) {
    status->_ucount = values.bytes;
    status->_cancelled = values.is_cancelled ? 1 : 0;
}
#else
Hidden hidden(const MPI_Status& status) {
    return {static_cast<uint64_t>(status.count_lo), status.count_hi_and_cancelled != 0};
}
void hide(MPI_Status* status, const Hidden& values) {
    status->count_lo = static_cast<int>(values.bytes);
    status->count_hi_and_cancelled = values.is_cancelled ? 1 : 0;
}
#endif

int mpi_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
    ENTER(Get_count)
    const uint64_t size = job().type(type)->size();
    const uint64_t bytes = hidden(*status).bytes;
    *count = bytes % size == 0 ? static_cast<int>(bytes / size) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int mpi_Get_elements_x(const MPI_Status* status, MPI_Datatype /*type*/, MPI_Count* count) {
    ENTER(Get_elements_x)
    *count = static_cast<MPI_Count>(hidden(*status).bytes);
    return MPI_SUCCESS;
}

int mpi_Test_cancelled(const MPI_Status* status, int* flag) {
    ENTER(Test_cancelled)
    *flag = hidden(*status).is_cancelled ? 1 : 0;
    return MPI_SUCCESS;
}

int mpi_Status_set_cancelled(MPI_Status* status, int flag) {
    ENTER(Status_set_cancelled)
    hide(status, {hidden(*status).bytes, flag != 0});
    return MPI_SUCCESS;
}

int mpi_Status_set_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count count) {
    ENTER(Status_set_elements_x)
    hide(status,
         {static_cast<uint64_t>(count) * job().type(type)->size(), hidden(*status).is_cancelled});
    return MPI_SUCCESS;
}

int mpi_Status_set_elements(MPI_Status* status, MPI_Datatype type, int count) {
    ENTER(Status_set_elements)
    hide(status,
         {static_cast<uint64_t>(count) * job().type(type)->size(), hidden(*status).is_cancelled});
    return MPI_SUCCESS;
}

int mpi_Error_class(int code, int* error_class) {
    *error_class = code;
    return MPI_SUCCESS;
}

int mpi_Error_string(int code, char* text, int* length) {
    const std::string said = "error " + std::to_string(code);
    std::strcpy(text, said.c_str()); // NOLINT
    *length = static_cast<int>(said.size());
    return MPI_SUCCESS;
}

int mpi_Get_version(int* version, int* subversion) {
    *version = 4;
    *subversion = 0;
    return MPI_SUCCESS;
}

int mpi_Get_library_version(char* text, int* length) {
    std::strcpy(text, "Scripted MPI v1.0"); // NOLINT
    *length = static_cast<int>(std::strlen(text));
    return MPI_SUCCESS;
}

int mpi_Query_thread(int* level) {
    ENTER(Query_thread)
    *level = MPI_THREAD_SINGLE;
    return MPI_SUCCESS;
}

int unscripted(const char* name) {
    job().complain(std::string("MPI_") + name + " is not known here");
    job().scheduler().wait_until([] { return false; }, false);
    return MPI_ERR_OTHER;
}

nodeaware::Mpi make_table() {
    nodeaware::Mpi table;
#define X(name) table.name = [](auto... /*arguments*/) { return unscripted(#name); };
    NODEAWARE_MPI_FUNCTIONS(X)
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    NODEAWARE_MPI_LARGE_FUNCTIONS(X)
#endif
#undef X
    add_messages(table);
    add_completion(table);
    add_communicators(table);
    add_types(table);
    return table;
}

} // namespace

std::shared_ptr<const Type> Job::type(MPI_Datatype handle) {
    if (auto found = predefined(handle)) { return found; }
    auto found = process().types.find(handle);
    if (found == nullptr) {
        complain("a datatype that is none, or was freed");
        scheduler_.wait_until([] { return false; }, false);
    }
    return found;
}

MPI_Datatype make_gapped(int bytes) {
    Type type;
    const MPI_Count half = bytes / 2;
    type.extent = bytes + 8;
    type.blocks = {{half + 8, bytes - half}, {0, half}};
    type.combiner = MPI_COMBINER_STRUCT;
    type.made_of = MPI_BYTE;
    return add(std::move(type));
}

int free_type(MPI_Datatype* type) {
    job().process().types.remove(*type);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

void set_status(MPI_Status* status, const Request& request) {
    if (status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE) { return; }
    status->MPI_SOURCE = request.source;
    status->MPI_TAG = request.actual_tag;
    hide(status, {request.bytes, request.is_cancelled});
}

void add_types(nodeaware::Mpi& table) {
#define ADD(name) table.name = mpi_##name;
    ADD(Type_size_x)
    ADD(Type_get_extent_x)
    ADD(Type_get_true_extent_x)
    ADD(Type_get_envelope)
    ADD(Type_get_contents)
    ADD(Type_contiguous)
    ADD(Type_create_struct)
    ADD(Type_commit)
    ADD(Type_free)
    ADD(Type_create_keyval)
    ADD(Type_get_attr)
    ADD(Type_set_attr)
    ADD(Pack)
    ADD(Unpack)
    ADD(Get_count)
    ADD(Get_elements_x)
    ADD(Test_cancelled)
    ADD(Status_set_cancelled)
    ADD(Status_set_elements_x)
    ADD(Status_set_elements)
    ADD(Error_class) ADD(Error_string) ADD(Get_library_version) ADD(Get_version) ADD(Query_thread)
#undef ADD
}

const nodeaware::Mpi& mpi() {
    static const nodeaware::Mpi table = make_table();
    return table;
}

void* find_function(const char* name) {
#define X(function)                                                                                \
    if (std::strcmp(name, "MPI_" #function) == 0) {                                                \
        return reinterpret_cast<void*>(mpi().function);                                            \
    }
    NODEAWARE_MPI_FUNCTIONS(X)
#undef X
    return nullptr;
}

} // namespace scripted
