// Communicators, groups, attributes, error handlers, and collective functions.

#include "tests/unit/scripted/functions.hpp"

#include <algorithm>
#include <cstring>

namespace scripted {

namespace {

int mpi_Comm_rank(MPI_Comm comm, int* rank) {
    ENTER_ON(Comm_rank, comm)
    *rank = job().comm(comm)->rank;
    return MPI_SUCCESS;
}

int mpi_Comm_size(MPI_Comm comm, int* size) {
    ENTER_ON(Comm_size, comm)
    *size = job().comm(comm)->size();
    return MPI_SUCCESS;
}

int mpi_Comm_test_inter(MPI_Comm comm, int* flag) {
    ENTER_ON(Comm_test_inter, comm)
    *flag = 0;
    return MPI_SUCCESS;
}

int mpi_Topo_test(MPI_Comm comm, int* topology) {
    ENTER_ON(Topo_test, comm)
    *topology = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int mpi_Comm_compare(MPI_Comm one, MPI_Comm other, int* result) {
    ENTER_ON(Comm_compare, one)
    const auto a = job().comm(one)->group;
    const auto b = job().comm(other)->group;
    *result = a == b ? MPI_IDENT : a->members == b->members ? MPI_CONGRUENT : MPI_UNEQUAL;
    return MPI_SUCCESS;
}

int mpi_Comm_group(MPI_Comm comm, MPI_Group* group) {
    ENTER_ON(Comm_group, comm)
    const auto& members = job().comm(comm)->group->members;
    *group = job().process().groups.add(std::make_shared<std::vector<int>>(members));
    return MPI_SUCCESS;
}

int mpi_Group_free(MPI_Group* group) {
    ENTER(Group_free)
    job().process().groups.remove(*group);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

int mpi_Group_translate_ranks(MPI_Group from, int count, const int ranks[], MPI_Group to,
                              int translated[]) {
    ENTER(Group_translate_ranks)
    const auto ours = job().process().groups.find(from);
    const auto theirs = job().process().groups.find(to);
    for (int i = 0; i < count; ++i) {
        const int member = (*ours)[static_cast<size_t>(ranks[i])];
        const auto found = std::find(theirs->begin(), theirs->end(), member);
        translated[i] =
            found == theirs->end() ? MPI_UNDEFINED : static_cast<int>(found - theirs->begin());
    }
    return MPI_SUCCESS;
}

/// Deletes attributes, those that were set last first.
void delete_attributes(MPI_Comm handle, Comm& comm) {
    while (!comm.order.empty()) {
        const int key = comm.order.back();
        comm.order.pop_back();
        void* const value = comm.attributes[key];
        comm.attributes.erase(key);
        auto* const function = job().process().keys[key];
        if (function == MPI_COMM_NULL_DELETE_FN) { continue; }
        try {
            function(handle, key, value, job().process().extras[key]);
        } catch (...) { job().complain("an exception comes out of an attribute"); }
    }
}

int mpi_Comm_free(MPI_Comm* comm) {
    ENTER_ON(Comm_free, *comm)
    const auto freed = job().comm(*comm);
    delete_attributes(*comm, *freed);
    job().process().comms.remove(*comm);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int mpi_Comm_create_keyval(MPI_Comm_copy_attr_function* /*copy*/,
                           MPI_Comm_delete_attr_function* remove, int* key, void* extra) {
    ENTER(Comm_create_keyval)
    *key = 100 + static_cast<int>(job().process().keys.size());
    job().process().keys[*key] = remove;
    job().process().extras[*key] = extra;
    return MPI_SUCCESS;
}

int mpi_Comm_set_attr(MPI_Comm comm, int key, void* value) {
    ENTER_ON(Comm_set_attr, comm)
    const auto found = job().comm(comm);
    std::erase(found->order, key);
    found->order.push_back(key);
    found->attributes[key] = value;
    return MPI_SUCCESS;
}

int mpi_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag) {
    ENTER_ON(Comm_get_attr, comm)
    if (key == MPI_TAG_UB) {
        static int largest = 0;
        largest = job().settings().largest_tag;
        *static_cast<int**>(value) = &largest;
        *flag = 1;
        return MPI_SUCCESS;
    }
    const auto found = job().comm(comm);
    const auto attribute = found->attributes.find(key);
    *flag = attribute != found->attributes.end() ? 1 : 0;
    if (*flag != 0) { *static_cast<void**>(value) = attribute->second; }
    return MPI_SUCCESS;
}

int mpi_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    ENTER_ON(Comm_set_errhandler, comm)
    job().comm(comm)->handler = handler;
    return MPI_SUCCESS;
}

int mpi_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
    ENTER_ON(Comm_get_errhandler, comm)
    *handler = job().comm(comm)->handler;
    return MPI_SUCCESS;
}

int mpi_Errhandler_free(MPI_Errhandler* handler) {
    ENTER(Errhandler_free)
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int mpi_Comm_call_errhandler(MPI_Comm comm, int code) {
    ENTER_ON(Comm_call_errhandler, comm)
    job().raise(comm, code);
    return MPI_SUCCESS;
}

int mpi_Abort(MPI_Comm /*comm*/, int code) {
    job().complain("MPI_Abort");
    job().scheduler().wait_until([] { return false; }, false);
    return code;
}

/// A call that fails has taken part nevertheless: the others do not wait.
#define ENTER_MEETING(name) const int code_ = job().enter("MPI_" #name);
#define LEAVE_MEETING(comm) return code_ == MPI_SUCCESS ? code_ : job().raise(comm, code_)

std::shared_ptr<Meeting> meet_all(MPI_Comm comm, const std::string& kind, Bytes bytes) {
    const auto found = job().comm(comm);
    const auto meeting = job().meet(*found, kind, std::move(bytes));
    job().wait_for_all(*found, meeting);
    return meeting;
}

std::string kind_of(const char* name, int count, MPI_Datatype type) {
    return std::string(name) + " " + std::to_string(count) + " x " +
           std::to_string(job().type(type)->size());
}

int mpi_Barrier(MPI_Comm comm) {
    ENTER_MEETING(Barrier)
    meet_all(comm, "Barrier", {});
    LEAVE_MEETING(comm);
}

template <class Value> Value combine(Value a, Value b, MPI_Op op) {
    if (op == MPI_MIN) { return std::min(a, b); }
    if (op == MPI_MAX) { return std::max(a, b); }
    if (op != MPI_SUM) { job().complain("an operator that is not known here"); }
    return a + b;
}

template <class Value> void reduce(const Meeting& meeting, int count, MPI_Op op, void* result) {
    for (int i = 0; i < count; ++i) {
        Value sum{};
        bool is_first = true;
        for (const auto& [rank, bytes] : meeting.given) {
            Value value{};
            std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof value, sizeof value);
            sum = is_first ? value : combine(sum, value, op);
            is_first = false;
        }
        std::memcpy(static_cast<std::byte*>(result) + static_cast<size_t>(i) * sizeof sum, &sum,
                    sizeof sum);
    }
}

void reduce(const Meeting& meeting, int count, MPI_Datatype type, MPI_Op op, void* result) {
    if (type == MPI_INT) {
        reduce<int>(meeting, count, op, result);
    } else if (type == MPI_UINT64_T || type == MPI_UNSIGNED_LONG_LONG) {
        reduce<uint64_t>(meeting, count, op, result);
    } else if (type == MPI_DOUBLE) {
        reduce<double>(meeting, count, op, result);
    } else {
        job().complain("a reduction of a type that is not known here");
    }
}

int mpi_Allreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    ENTER_MEETING(Allreduce)
    const auto meeting =
        meet_all(comm, kind_of("Allreduce", count, type), packed(sent, count, *job().type(type)));
    reduce(*meeting, count, type, op, received);
    LEAVE_MEETING(comm);
}

template <class Value> void reduce_local(const void* from, void* into, int count, MPI_Op op) {
    const auto* const terms = static_cast<const Value*>(from);
    auto* const sums = static_cast<Value*>(into);
    for (int i = 0; i < count; ++i) { sums[i] = combine(terms[i], sums[i], op); }
}

int mpi_Reduce_local(const void* from, void* into, int count, MPI_Datatype type, MPI_Op op) {
    ENTER(Reduce_local)
    if (type == MPI_INT) {
        reduce_local<int>(from, into, count, op);
    } else if (type == MPI_DOUBLE) {
        reduce_local<double>(from, into, count, op);
    } else {
        job().complain("a reduction of a type that is not known here");
    }
    return MPI_SUCCESS;
}

/// Only the root waits.
int mpi_Reduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
    ENTER_MEETING(Reduce)
    const auto own = job().comm(comm);
    const bool is_in_place = sent == MPI_IN_PLACE;
    const auto meeting =
        job().meet(*own, kind_of("Reduce", count, type),
                   packed(is_in_place ? received : sent, count, *job().type(type)));
    if (own->rank == root) {
        job().wait_for_all(*own, meeting);
        reduce(*meeting, count, type, op, received);
    }
    LEAVE_MEETING(comm);
}

int mpi_Allgather(const void* sent, int count, MPI_Datatype type, void* received, int /*count*/,
                  MPI_Datatype /*type*/, MPI_Comm comm) {
    ENTER_MEETING(Allgather)
    const auto meeting =
        meet_all(comm, kind_of("Allgather", count, type), packed(sent, count, *job().type(type)));
    Bytes all;
    for (const auto& [rank, bytes] : meeting->given) {
        all.insert(all.end(), bytes.begin(), bytes.end());
    }
    unpack(all, received, count * job().comm(comm)->size(), *job().type(type));
    LEAVE_MEETING(comm);
}

/// The root waits for nobody.
int mpi_Bcast(void* memory, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    ENTER_MEETING(Bcast)
    const auto own = job().comm(comm);
    const bool is_root = own->rank == root;
    const auto meeting = job().meet(*own, kind_of("Bcast", count, type),
                                    is_root ? packed(memory, count, *job().type(type)) : Bytes());
    if (!is_root) {
        job().scheduler().wait_until([&] { return meeting->given.count(root) > 0; }, true);
        unpack(meeting->given[root], memory, count, *job().type(type));
    }
    LEAVE_MEETING(comm);
}

int make(MPI_Comm comm, const char* kind, const std::vector<int>& members, MPI_Comm* made) {
    const auto meeting = meet_all(comm, kind, {});
    *made = job().add_comm(meeting->made, members);
    return MPI_SUCCESS;
}

/// All ranks get it or none would: where it fails on one, that one lacks it.
int mpi_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    ENTER_MEETING(Comm_create)
    if (code_ != MPI_SUCCESS) {
        job().meet(*job().comm(comm), "Comm_create", {});
        return job().raise(comm, code_);
    }
    if (comm == MPI_COMM_SELF) {
        *made = job().add_comm(job().new_context(), {job().rank()});
        return MPI_SUCCESS;
    }
    return make(comm, "Comm_create", *job().process().groups.find(group), made);
}

/// That it is a graph nobody is told: the library would prepare it.
int mpi_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int sources[],
                                   const int* /*weights*/, int /*out*/, const int* /*destinations*/,
                                   const int* /*weights*/, MPI_Info /*info*/, int /*may_reorder*/,
                                   MPI_Comm* made) {
    ENTER_MEETING(Dist_graph_create_adjacent)
    make(comm, "Dist_graph_create_adjacent", job().comm(comm)->group->members, made);
    job().comm(*made)->sources.assign(sources, sources + in);
    LEAVE_MEETING(comm);
}

int mpi_Comm_split_type(MPI_Comm comm, int /*type*/, int /*key*/, MPI_Info /*info*/,
                        MPI_Comm* made) {
    ENTER_ON(Comm_split_type, comm)
    const auto& nodes = job().settings().nodes;
    const int node = nodes[static_cast<size_t>(job().rank())];
    const auto meeting = meet_all(comm, "Comm_split_type", {});
    std::vector<int> members;
    for (int rank = 0; rank < job().size(); ++rank) {
        if (nodes[static_cast<size_t>(rank)] == node) { members.push_back(rank); }
    }
    *made = job().add_comm(meeting->made + (node + 1) * 1000000, members);
    return MPI_SUCCESS;
}

} // namespace

int dup(MPI_Comm comm, MPI_Comm* made) {
    job().scheduler().may_switch();
    return make(comm, "Comm_dup", job().comm(comm)->group->members, made);
}

int gather_nothing(MPI_Comm comm) {
    job().scheduler().may_switch();
    meet_all(comm, "Gather", {});
    return MPI_SUCCESS;
}

void set_errors_return(MPI_Comm comm) { job().comm(comm)->handler = MPI_ERRORS_RETURN; }

int finalize() {
    delete_attributes(MPI_COMM_SELF, *job().process().self);
    meet_all(MPI_COMM_WORLD, "Finalize", {});
    delete_attributes(MPI_COMM_WORLD, *job().process().world);
    job().process().is_over = true;
    return MPI_SUCCESS;
}

void add_communicators(nodeaware::Mpi& table) {
#define ADD(name) table.name = mpi_##name;
    ADD(Comm_rank)
    ADD(Comm_size)
    ADD(Comm_test_inter)
    ADD(Topo_test)
    ADD(Comm_compare)
    ADD(Comm_group)
    ADD(Group_free)
    ADD(Group_translate_ranks)
    ADD(Comm_free)
    ADD(Comm_create_keyval)
    ADD(Comm_set_attr)
    ADD(Comm_get_attr)
    ADD(Comm_set_errhandler)
    ADD(Comm_get_errhandler)
    ADD(Errhandler_free)
    ADD(Comm_call_errhandler)
    ADD(Abort)
    ADD(Dist_graph_create_adjacent)
    ADD(Barrier)
    ADD(Allreduce)
    ADD(Reduce) ADD(Reduce_local) ADD(Allgather) ADD(Bcast) ADD(Comm_create) ADD(Comm_split_type)
#undef ADD
}

} // namespace scripted
