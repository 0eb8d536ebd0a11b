// Calls in which a rank may block or wait for others, made between a message's send and whatever
// its sender does next: the receiver makes the call only after the message has come.

#include "tests/mpi/conformance/context.hpp"

#include <cstdio>
#include <unistd.h>

namespace nodeaware::conformance {

namespace {

/// Objects that the calls need; made and freed with the right to wait for everybody.
struct Objects {
    MPI_Comm comm; ///< on which they are collective
    MPI_Win window = MPI_WIN_NULL;
    MPI_File file = MPI_FILE_NULL;
    int rank = 0;
    int size = 0;
    int numbers[16] = {};
    int more[16] = {};
    int ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    int places[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Win made_window = MPI_WIN_NULL;
    void* memory = nullptr;
};

struct Call {
    const char* name;
    int (*invoke)(Objects&);
};

#define COLLECTIVE(name, ...)                                                                      \
    {                                                                                              \
#name, [](Objects & o) { return MPI_##name(__VA_ARGS__, o.comm); }                         \
    }
#define CREATES(name, ...)                                                                         \
    {                                                                                              \
#name, [](Objects & o) { return MPI_##name(o.comm, __VA_ARGS__, &o.made); }                \
    }

const std::vector<Call>& collective_calls() {
    static const std::vector<Call> list = {
        {"Barrier", [](Objects& o) { return MPI_Barrier(o.comm); }},
        COLLECTIVE(Bcast, o.numbers, 3, MPI_INT, 0),
        COLLECTIVE(Reduce, o.numbers, o.more, 3, MPI_INT, MPI_SUM, 0),
        COLLECTIVE(Allreduce, o.numbers, o.more, 3, MPI_INT, MPI_SUM),
        COLLECTIVE(Allgather, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT),
        COLLECTIVE(Allgatherv, o.numbers, 1, MPI_INT, o.more, o.ones, o.places, MPI_INT),
        COLLECTIVE(Gather, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT, 0),
        COLLECTIVE(Gatherv, o.numbers, 1, MPI_INT, o.more, o.ones, o.places, MPI_INT, 0),
        COLLECTIVE(Scatter, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT, 0),
        COLLECTIVE(Scatterv, o.numbers, o.ones, o.places, MPI_INT, o.more, 1, MPI_INT, 0),
        COLLECTIVE(Scan, o.numbers, o.more, 3, MPI_INT, MPI_SUM),
        COLLECTIVE(Exscan, o.numbers, o.more, 3, MPI_INT, MPI_SUM),
        COLLECTIVE(Reduce_scatter_block, o.numbers, o.more, 1, MPI_INT, MPI_SUM),
        COLLECTIVE(Reduce_scatter, o.numbers, o.more, o.ones, MPI_INT, MPI_SUM),
        COLLECTIVE(Alltoall, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT),
        COLLECTIVE(Alltoallv, o.numbers, o.ones, o.places, MPI_INT, o.more, o.ones, o.places,
                   MPI_INT),
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        COLLECTIVE(Bcast_c, o.numbers, 3, MPI_INT, 0),
        COLLECTIVE(Reduce_c, o.numbers, o.more, 3, MPI_INT, MPI_SUM, 0),
        COLLECTIVE(Allreduce_c, o.numbers, o.more, 3, MPI_INT, MPI_SUM),
        COLLECTIVE(Allgather_c, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT),
        COLLECTIVE(Gather_c, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT, 0),
        COLLECTIVE(Scatter_c, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT, 0),
        COLLECTIVE(Scan_c, o.numbers, o.more, 3, MPI_INT, MPI_SUM),
        COLLECTIVE(Exscan_c, o.numbers, o.more, 3, MPI_INT, MPI_SUM),
        COLLECTIVE(Reduce_scatter_block_c, o.numbers, o.more, 1, MPI_INT, MPI_SUM),
        COLLECTIVE(Alltoall_c, o.numbers, 1, MPI_INT, o.more, 1, MPI_INT),
#endif
        {"Comm_dup", [](Objects& o) { return MPI_Comm_dup(o.comm, &o.made); }},
        CREATES(Comm_dup_with_info, MPI_INFO_NULL),
        CREATES(Comm_split, 0, -o.rank),
        CREATES(Comm_split_type, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL),
        CREATES(Cart_create, 1, &o.size, o.ones, 0),
        CREATES(Dist_graph_create_adjacent, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                MPI_INFO_NULL, 0),
    };
    return list;
}

const std::vector<Call>& window_calls() {
    static const std::vector<Call> list = {
        {"Win_create",
         [](Objects& o) {
             return MPI_Win_create(o.numbers, sizeof o.numbers, 4, MPI_INFO_NULL, o.comm,
                                   &o.made_window);
         }},
        {"Win_allocate",
         [](Objects& o) {
             return MPI_Win_allocate(64, 4, MPI_INFO_NULL, o.comm, static_cast<void*>(&o.memory),
                                     &o.made_window);
         }},
        {"Win_allocate_shared",
         [](Objects& o) {
             return MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, o.comm,
                                            static_cast<void*>(&o.memory), &o.made_window);
         }},
        {"Win_create_dynamic",
         [](Objects& o) { return MPI_Win_create_dynamic(MPI_INFO_NULL, o.comm, &o.made_window); }},
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        {"Win_allocate_c",
         [](Objects& o) {
             return MPI_Win_allocate_c(64, 4, MPI_INFO_NULL, o.comm, static_cast<void*>(&o.memory),
                                       &o.made_window);
         }},
#endif
        {"Win_fence", [](Objects& o) { return MPI_Win_fence(0, o.window); }},
        {"Win_free", [](Objects& o) { return MPI_Win_free(&o.window); }},
    };
    return list;
}

const std::vector<Call>& file_calls() {
    static const std::vector<Call> list = {
        {"File_close", [](Objects& o) { return MPI_File_close(&o.file); }},
        {"File_sync", [](Objects& o) { return MPI_File_sync(o.file); }},
        {"File_set_size", [](Objects& o) { return MPI_File_set_size(o.file, 1000); }},
        {"File_preallocate", [](Objects& o) { return MPI_File_preallocate(o.file, 1000); }},
        {"File_set_view",
         [](Objects& o) {
             return MPI_File_set_view(o.file, 4 * o.rank, MPI_INT, MPI_INT, "native",
                                      MPI_INFO_NULL);
         }},
        {"File_seek_shared",
         [](Objects& o) { return MPI_File_seek_shared(o.file, 0, MPI_SEEK_SET); }},
        {"File_set_atomicity", [](Objects& o) { return MPI_File_set_atomicity(o.file, 1); }},
        {"File_write_all",
         [](Objects& o) {
             return MPI_File_write_all(o.file, o.numbers, 1, MPI_INT, MPI_STATUS_IGNORE);
         }},
        {"File_read_all",
         [](Objects& o) {
             return MPI_File_read_all(o.file, o.more, 1, MPI_INT, MPI_STATUS_IGNORE);
         }},
        {"File_write_at_all",
         [](Objects& o) {
             return MPI_File_write_at_all(o.file, 4 * o.rank, o.numbers, 1, MPI_INT,
                                          MPI_STATUS_IGNORE);
         }},
        {"File_read_at_all",
         [](Objects& o) {
             return MPI_File_read_at_all(o.file, 4 * o.rank, o.more, 1, MPI_INT, MPI_STATUS_IGNORE);
         }},
        {"File_write_ordered",
         [](Objects& o) {
             return MPI_File_write_ordered(o.file, o.numbers, 1, MPI_INT, MPI_STATUS_IGNORE);
         }},
        {"File_read_ordered",
         [](Objects& o) {
             return MPI_File_read_ordered(o.file, o.more, 1, MPI_INT, MPI_STATUS_IGNORE);
         }},
        {"File_write_all_begin",
         [](Objects& o) {
             const int code = MPI_File_write_all_begin(o.file, o.numbers, 1, MPI_INT);
             return code != MPI_SUCCESS
                        ? code
                        : MPI_File_write_all_end(o.file, o.numbers, MPI_STATUS_IGNORE);
         }},
        {"File_read_at_all_begin",
         [](Objects& o) {
             const int code = MPI_File_read_at_all_begin(o.file, 0, o.more, 1, MPI_INT);
             return code != MPI_SUCCESS
                        ? code
                        : MPI_File_read_at_all_end(o.file, o.more, MPI_STATUS_IGNORE);
         }},
        {"File_write_ordered_begin",
         [](Objects& o) {
             const int code = MPI_File_write_ordered_begin(o.file, o.numbers, 1, MPI_INT);
             return code != MPI_SUCCESS
                        ? code
                        : MPI_File_write_ordered_end(o.file, o.numbers, MPI_STATUS_IGNORE);
         }},
    };
    return list;
}

/// Ranks 0 to 2 send to the ranks 3 further on, which are elsewhere, and make the call; those make
/// it when the message has come.
void between(Context& context, const Call& call, Objects& objects, bool nonblocking) {
    Memory sent = Memory::of_ints(learned_count, 100 * context.rank);
    Memory received(sent.size());
    MPI_Request request = MPI_REQUEST_NULL;
    const bool sends = context.rank < 3;
    const bool receives = context.rank >= 3 && context.rank < 6;
    if (sends && nonblocking) {
        MPI_Isend(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm,
                  &request);
    } else if (sends) {
        context.out.call("Send", MPI_Send(sent.data(), learned_count, MPI_INT, context.right(3),
                                          learned_tag, context.comm));
    }
    if (receives) {
        context.out.call("Recv", MPI_Recv(received.data(), learned_count, MPI_INT, context.left(3),
                                          learned_tag, context.comm, MPI_STATUS_IGNORE));
    }
    context.out.call(call.name, call.invoke(objects));
    context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.out.data("received", received);
}

std::string name_of_file(Context& context) {
    int process = static_cast<int>(getpid());
    MPI_Bcast(&process, 1, MPI_INT, 0, context.side);
    return "/tmp/conformance." + std::to_string(process);
}

void open(Context& context, Objects& objects, const std::vector<Call>& list,
          const std::string& path) {
    objects.comm = context.side;
    objects.rank = context.rank;
    objects.size = context.size;
    for (int i = 0; i < 16; ++i) { objects.numbers[i] = 10 * context.rank + i; }
    if (&list == &window_calls()) {
        MPI_Win_create(objects.more, sizeof objects.more, 4, MPI_INFO_NULL, context.side,
                       &objects.window);
    }
    if (&list == &file_calls()) {
        context.out.call("File_open",
                         MPI_File_open(context.side, path.c_str(),
                                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                       MPI_INFO_NULL, &objects.file));
    }
}

void close(Objects& objects) {
    if (objects.made != MPI_COMM_NULL) { MPI_Comm_free(&objects.made); }
    if (objects.made_window != MPI_WIN_NULL) { MPI_Win_free(&objects.made_window); }
    if (objects.window != MPI_WIN_NULL) { MPI_Win_free(&objects.window); }
    if (objects.file != MPI_FILE_NULL) { MPI_File_close(&objects.file); }
}

void add(Cases& cases, const std::vector<Call>& list) {
    for (const Call& call : list) {
        cases.add(call.name, Needs::shared, [&list, &call](Context& context) {
            const std::string path = &list == &file_calls() ? name_of_file(context) : std::string();
            for (const bool nonblocking : {false, true}) {
                Objects objects{};
                open(context, objects, list, path);
                context.sync();
                between(context, call, objects, nonblocking);
                context.sync();
                close(objects);
            }
        });
    }
}

/// Errors of calls on files and windows, with a message under way.
void errors_of_others(Context& context) {
    Memory sent = Memory::of_ints(learned_count, context.rank);
    Memory received(sent.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(received.data(), learned_count, MPI_INT, context.left(3), learned_tag, context.comm,
              &request);
    MPI_Send(sent.data(), learned_count, MPI_INT, context.right(3), learned_tag, context.comm);
    MPI_File file = MPI_FILE_NULL;
    MPI_Win window = MPI_WIN_NULL;
    context.out.call("File_open", MPI_File_open(context.side, "/no/such/folder/at/all",
                                                MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    context.out.call("Win_create",
                     MPI_Win_create(sent.data(), -8, 1, MPI_INFO_NULL, context.side, &window));
    context.out.call("Win_create",
                     MPI_Win_create(sent.data(), 8, -1, MPI_INFO_NULL, context.side, &window));
    context.out.call("Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    context.out.data("received", received);
}

} // namespace

void add_blocking(Cases& cases) {
    cases.group("blocking");
    add(cases, collective_calls());
    add(cases, window_calls());
    add(cases, file_calls());
    cases.add("errors_of_others", Needs::shared, errors_of_others);
}

} // namespace nodeaware::conformance
