#include "runtime/core/recorded_communicators.hpp"

#include "runtime/communicators/neighbors.hpp"
#include "runtime/requests/library.hpp"
#include "runtime/trace/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

namespace nodeaware::recorded_communicators {

namespace {

int keyval = MPI_KEYVAL_INVALID;
std::atomic<uint64_t> freed = 0; ///< MPI uses handles again
std::mutex mutex;                ///< of attributes, and of what follows
/// By the number of the communicator, up to some ranks in all. Never destroyed: programs call
/// MPI_Finalize also after destructors have run.
struct KnownDestinations {
    static constexpr size_t most = 65536;

    std::map<int, std::vector<int>> lists;
    size_t ranks = 0;
};
KnownDestinations& known_destinations() {
    static auto* const known = new KnownDestinations;
    return *known;
}

int forget(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    freed.fetch_add(1, std::memory_order_relaxed);
    return MPI_SUCCESS;
}

int group_of(MPI_Comm comm, bool is_inter, MPI_Group* group) {
    if (!is_inter) { return mpi.Comm_group(comm, group); }
    static const auto remote_group =
        reinterpret_cast<int (*)(MPI_Comm, MPI_Group*)>(find_mpi("MPI_Comm_remote_group"));
    return remote_group == nullptr ? MPI_ERR_OTHER : remote_group(comm, group);
}

/// Of all ranks of the group that messages go to, in MPI_COMM_WORLD; -1: from outside.
std::vector<int> members_of(MPI_Comm comm, bool is_inter, int size) {
    MPI_Group group = MPI_GROUP_NULL;
    std::vector<int> members(static_cast<size_t>(size), -1);
    if (group_of(comm, is_inter, &group) != MPI_SUCCESS) { return members; }
    std::vector<int> theirs(members.size());
    std::iota(theirs.begin(), theirs.end(), 0);
    MPI_CALL(Group_translate_ranks, group, size, theirs.data(), library->world.group,
             members.data());
    MPI_CALL(Group_free, &group);
    std::replace(members.begin(), members.end(), int{MPI_UNDEFINED}, -1);
    return members;
}

/// What the program calls it; empty: nothing.
std::string name_of(MPI_Comm comm) {
    static const auto get_name =
        reinterpret_cast<int (*)(MPI_Comm, char*, int*)>(find_mpi("MPI_Comm_get_name"));
    std::string name(MPI_MAX_OBJECT_NAME, '\0');
    int length = 0;
    if (get_name == nullptr || get_name(comm, name.data(), &length) != MPI_SUCCESS) { return ""; }
    name.resize(static_cast<size_t>(length));
    // Open MPI numbers those that the program has not named.
    return name.starts_with("MPI COMMUNICATOR ") ? "" : name;
}

struct Sizes {
    int size = 0;
    bool is_inter = false;
};

Sizes sizes_of(MPI_Comm comm) {
    int inter = 0;
    Sizes sizes;
    MPI_CALL(Comm_test_inter, comm, &inter);
    sizes.is_inter = inter != 0;
    if (sizes.is_inter) {
        MPI_CALL(Comm_remote_size, comm, &sizes.size);
    } else {
        MPI_CALL(Comm_size, comm, &sizes.size);
    }
    return sizes;
}

Known look(MPI_Comm comm) {
    void* value = nullptr;
    int is_known = 0;
    const std::lock_guard guard(mutex);
    MPI_CALL(Comm_get_attr, comm, keyval, &value, &is_known);
    const Sizes sizes = sizes_of(comm);
    Known known{trace::no_communicator, sizes.size, 0, sizes.is_inter};
    MPI_CALL(Comm_rank, comm, &known.rank);
    if (is_known != 0) {
        known.number = static_cast<int>(reinterpret_cast<intptr_t>(value));
        return known;
    }
    trace::Communicator communicator{known.rank, sizes.size, sizes.is_inter, {}, name_of(comm)};
    communicator.members = trace::runs_of(members_of(comm, sizes.is_inter, sizes.size));
    trace::recorder->record(0, [&](trace::Contents& contents) {
        known.number = contents.add_communicator(communicator);
    });
    MPI_CALL(Comm_set_attr, comm, keyval,
             reinterpret_cast<void*>(static_cast<intptr_t>(known.number)));
    return known;
}

} // namespace

void open() { MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr); }

Known find(MPI_Comm comm) {
    struct Last {
        MPI_Comm comm = MPI_COMM_NULL;
        uint64_t freed = 0;
        Known known;
    };
    static thread_local Last last;
    const uint64_t freed_now = freed.load(std::memory_order_relaxed);
    if (last.comm != comm || last.freed != freed_now) { last = {comm, freed_now, look(comm)}; }
    return last.known;
}

std::vector<int> destinations(MPI_Comm comm, const Known& known) {
    // Those beyond the limit are not told apart.
    if (known.number == trace::no_communicator) { return read_neighbors(comm).destinations; }
    const std::lock_guard guard(mutex);
    KnownDestinations& all = known_destinations();
    const auto found = all.lists.find(known.number);
    if (found != all.lists.end()) { return found->second; }
    std::vector<int> made = read_neighbors(comm).destinations;
    if (all.ranks + made.size() > KnownDestinations::most) { return made; }
    all.ranks += made.size();
    return all.lists[known.number] = std::move(made);
}

} // namespace nodeaware::recorded_communicators
