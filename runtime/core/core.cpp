// The core of the library for one MPI: the hooks that the preloaded library calls.

#include "runtime/collectives/contexts.hpp"
#include "runtime/collectives/nonblocking.hpp"
#include "runtime/collectives/reduction_call.hpp"
#include "runtime/core/communicator_calls.hpp"
#include "runtime/core/ending.hpp"
#include "runtime/core/exchange_hooks.hpp"
#include "runtime/core/guarded.hpp"
#include "runtime/core/kept_exceptions.hpp"
#include "runtime/core/recorded_calls.hpp"
#include "runtime/core/recording.hpp"
#include "runtime/core/requests.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/device/kept_lists.hpp"
#include "runtime/device/list_kernel.hpp"
#include "runtime/device/memory.hpp"
#include "runtime/device/own_streams.hpp"
#include "runtime/device/sharing.hpp"
#include "runtime/job/ranges.hpp"
#include "runtime/memory/datatype.hpp"
#include "runtime/mpi/hidden_errors.hpp"
#include "runtime/point_to_point/hooks.hpp"
#include "runtime/progress/activity.hpp"
#include "runtime/requests/library.hpp"
#include "runtime/trace/recorder.hpp"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

namespace nodeaware {

using namespace communicator_calls;

void count_native(int result) {
    LeftToMpi& left = left_to_mpi;
    if (!is_refused(result)) {
        if (left.selected.is_measured) { left.selected.learn_time(); }
        if (left.unprepared != nullptr) { left.unprepared->wait_for_meeting(); }
    }
    left.selected = {};
    left.unprepared = nullptr;
}

void native_done(int result) {
    count_native(result);
    LeftToMpi& left = left_to_mpi;
    if (library->report.wants_times()) { left.record.seconds = seconds_since(left.start); }
    library->report.add(left.record);
}

namespace {

template <class Count>
using Alltoall =
    Hooks<Operation::alltoall, Operation::ialltoall, exchange_arguments::alltoall<Count>>;
template <class Count, class Offset>
using Alltoallv = Hooks<Operation::alltoallv, Operation::ialltoallv,
                        exchange_arguments::alltoallv<Count, Offset>>;
template <class Count, class Offset>
using Alltoallw = Hooks<Operation::alltoallw, Operation::ialltoallw,
                        exchange_arguments::alltoallw<Count, Offset>>;
template <class Count>
using Neighbor_alltoall = Hooks<Operation::neighbor_alltoall, Operation::ineighbor_alltoall,
                                exchange_arguments::alltoall<Count>>;
template <class Count, class Offset>
using Neighbor_alltoallv = Hooks<Operation::neighbor_alltoallv, Operation::ineighbor_alltoallv,
                                 exchange_arguments::alltoallv<Count, Offset>>;
template <class Count>
using Neighbor_alltoallw = Hooks<Operation::neighbor_alltoallw, Operation::ineighbor_alltoallw,
                                 exchange_arguments::alltoallw<Count, abi::MPI_Aint>>;
template <class Count>
using Neighbor_allgather = Hooks<Operation::neighbor_allgather, Operation::ineighbor_allgather,
                                 exchange_arguments::allgather<Count>>;
template <class Count, class Offset>
using Neighbor_allgatherv = Hooks<Operation::neighbor_allgatherv, Operation::ineighbor_allgatherv,
                                  exchange_arguments::allgatherv<Count, Offset>>;

abi::Offered allreduce(int* result, const abi::Reduction& reduction, abi::MPI_Comm comm) {
    return ReductionCall(reduction, native(comm)).run(result);
}

void memory_shared() {
    const Turn turn;
    if (library->mailboxes != nullptr) { library->mailboxes->send_at_once(); }
    if (library->messages != nullptr) { library->messages->memory_shared(); }
}

void buffer_attached() {
    if (library->messages != nullptr) { library->messages->buffer_attached(); }
}

void buffer_detached() {
    if (library->messages == nullptr) { return; }
    const Turn turn;
    guarded([&] { library->messages->wait_for_buffered(); });
}

/// MPICH calls most of them with a lock of its own, for which who has a turn may wait.
uint32_t application_begins() { return is_open_mpi() ? Turn::give_up() : 0; }

/// From now on the preloaded part asks for what the job may need.
void begin_activity() {
    activity.told_calls.store(trace::recorder == nullptr ? 0 : 1, std::memory_order_relaxed);
    const World& world = library->world;
    const bool reduces = !world.options.observes && !world.leaves_to_mpi(Operation::allreduce);
    activity.reductions.store(reduces ? 1 : 0, std::memory_order_relaxed);
    if (library->messages == nullptr && trace::recorder == nullptr) { return; }
    activity.requests.fetch_or(Activity::all, std::memory_order_relaxed);
    if (library->messages != nullptr) {
        activity.meetings.fetch_or(Activity::all, std::memory_order_relaxed);
    }
    p2p::layer = library->messages.get();
    activity.messages.store(1, std::memory_order_relaxed);
    // Who calls a function that may block is to be known as a thread of several.
    if (Turn::are_taken()) { activity.pending_work.fetch_add(1, std::memory_order_relaxed); }
}

void stop() {
    activity.messages.store(0, std::memory_order_relaxed);
    activity.reductions.store(0, std::memory_order_relaxed);
    const auto times = ending::finalizing();
    library->close();
    recorded_calls::note_messages();
    guarded([&] { trace::close(library->world); });
    p2p::layer = nullptr;
    guarded([&] { ending::close(times, message_counts::notes()); });
    Communicator::close();
    device::forget_kept_lists();
    device::list_kernel::unload();
    device::own_streams::close();
    mpi.Group_free(&library->world.group);
    delete library;
    library = nullptr;
}

/// What the preloaded part wants to be told.
void (*at_end)() = nullptr;

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, those that were set
/// last first. So this comes after the callbacks of the application, which may still want its
/// messages, and also where a tool calls PMPI_Finalize.
int end(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    at_end();
    stop();
    return MPI_SUCCESS;
}

void open_ranges(const World& world) {
    if (!world.options.nvtx || ranges::turn_on() || world.rank != 0) { return; }
    log(LogLevel::warn, "NODEAWARE_NVTX: this build has no NVTX, so no ranges");
}

void open_trace() {
    trace::open(library->world);
    if (trace::recorder != nullptr) { library->report.tell(trace::tell); }
}

const abi::Core& plain_core();

const abi::Core* start(void (*then)(), const void* (*caller)()) {
    try {
        World world = World::discover();
        if (world.options.disable) { return nullptr; }
        open_datatypes();
        Communicator::open();
        library = new Library(std::move(world));
        device::set_mpi_awareness(library->world.options.device_aware);
        const DeviceKernels kernels = library->world.options.device_kernels;
        device::list_kernel::allow(kernels != DeviceKernels::no);
        device::set_processes_on_machine(kernels == DeviceKernels::yes ? 1
                                                                       : library->world.ranks_here);
        library->report.open(library->world.options);
        open_ranges(library->world);
        if (!library->world.options.observes) { contexts::prepare(MPI_COMM_WORLD); }
        open_trace();
        ending::open();
        const abi::Core* const hooks =
            trace::recorder == nullptr ? &plain_core() : &recording::around(plain_core(), caller);
        int keyval = MPI_KEYVAL_INVALID;
        MPI_CALL(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, end, &keyval, nullptr);
        MPI_CALL(Comm_set_attr, MPI_COMM_SELF, keyval, nullptr);
        at_end = then;
        begin_activity();
        return hooks;
    } catch (const BadSettings& error) {
        int rank = 0;
        if (mpi.Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS && rank == 0) {
            write_log(LogLevel::warn,
                      std::string(error.what()) + " (NODEAWARE_STRICT=1 ends the job)");
        }
        // Launchers lose what a process has written when it ends the job at once.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        mpi.Abort(MPI_COMM_WORLD, 1);
    } catch (const std::exception& error) { log(LogLevel::warn, "{}", error.what()); }
    delete library;
    library = nullptr;
    return nullptr;
}

#define MESSAGES(suffix, Count)                                                                    \
    .Send##suffix =                                                                                \
        p2p::send<Count, &Mpi::Send##suffix, &Mpi::Isend##suffix, p2p::Mode::standard>,            \
    .Bsend##suffix = p2p::send<Count, &Mpi::Bsend##suffix, nullptr, p2p::Mode::buffered>,          \
    .Ssend##suffix =                                                                               \
        p2p::send<Count, &Mpi::Ssend##suffix, &Mpi::Issend##suffix, p2p::Mode::synchronous>,       \
    .Rsend##suffix =                                                                               \
        p2p::send<Count, &Mpi::Rsend##suffix, &Mpi::Irsend##suffix, p2p::Mode::standard>,          \
    .Isend##suffix = p2p::isend<Count, &Mpi::Isend##suffix, p2p::Mode::standard>,                  \
    .Ibsend##suffix = p2p::isend<Count, &Mpi::Ibsend##suffix, p2p::Mode::buffered>,                \
    .Issend##suffix = p2p::isend<Count, &Mpi::Issend##suffix, p2p::Mode::synchronous>,             \
    .Irsend##suffix = p2p::isend<Count, &Mpi::Irsend##suffix, p2p::Mode::standard>,                \
    .Send_init##suffix =                                                                           \
        p2p::init<Count, const void*, &Mpi::Send_init##suffix, p2p::Mode::standard>,               \
    .Bsend_init##suffix =                                                                          \
        p2p::init<Count, const void*, &Mpi::Bsend_init##suffix, p2p::Mode::buffered>,              \
    .Ssend_init##suffix =                                                                          \
        p2p::init<Count, const void*, &Mpi::Ssend_init##suffix, p2p::Mode::synchronous>,           \
    .Rsend_init##suffix =                                                                          \
        p2p::init<Count, const void*, &Mpi::Rsend_init##suffix, p2p::Mode::standard>,              \
    .Recv##suffix = p2p::recv<Count, &Mpi::Recv##suffix, &Mpi::Irecv##suffix>,                     \
    .Irecv##suffix = p2p::irecv<Count, &Mpi::Irecv##suffix>,                                       \
    .Recv_init##suffix = p2p::init<Count, void*, &Mpi::Recv_init##suffix, p2p::Mode::receive>,     \
    .Mrecv##suffix = p2p::mrecv<Count, &Mpi::Mrecv##suffix>,                                       \
    .Imrecv##suffix = p2p::imrecv<Count, &Mpi::Mrecv##suffix, &Mpi::Imrecv##suffix>,               \
    .Sendrecv##suffix = p2p::sendrecv<Count, &Mpi::Sendrecv##suffix>,                              \
    .Sendrecv_replace##suffix = p2p::sendrecv_replace<Count, &Mpi::Sendrecv_replace##suffix>,      \
    .Isendrecv##suffix = p2p::isendrecv<Count>,                                                    \
    .Isendrecv_replace##suffix = p2p::isendrecv_replace<Count>,

constexpr abi::Core core = {
    .size = sizeof(abi::Core),
    .sources = abi::sources,
    .start = start,
    .ended = ending::ended,
    .degrees = degrees,
    .native_done = native_done,
    .waiting_communicators = &activity.meetings,
    .before_meeting = before_meeting,
    .meeting = meeting,
    .created = created,
    .not_created = not_created,
    .make_grid = make_grid,
    .make_graph = make_graph,
    .map_grid = map_grid,
    .reductions = &activity.reductions,
    .allreduce = allreduce,
    .communicator_begun = communicator_begun,
    .requests = &activity.requests,
    .point_to_point = &activity.messages,
    .pending_work = &activity.pending_work,
    .before_blocking = before_blocking,
    .blocking_calls = &activity.blocking_calls,
    .application_begins = application_begins,
    .application_ends = Turn::take_again,
    .call_and_keep = kept_exceptions::call_and_keep,
    .throw_kept = kept_exceptions::throw_kept,
    .error_told = hidden_errors::told,
    .told_calls = &activity.told_calls,
    .call_begins = nullptr,
    .call_done = nullptr,
    .memory_shared = memory_shared,
    .buffer_attached = buffer_attached,
    .buffer_detached = buffer_detached,
    .Alltoall = Alltoall<int>::blocking,
    .Alltoallv = Alltoallv<int, int>::blocking,
    .Alltoallw = Alltoallw<int, int>::blocking,
    .Neighbor_alltoall = Neighbor_alltoall<int>::blocking,
    .Neighbor_alltoallv = Neighbor_alltoallv<int, int>::blocking,
    .Neighbor_alltoallw = Neighbor_alltoallw<int>::blocking,
    .Neighbor_allgather = Neighbor_allgather<int>::blocking,
    .Neighbor_allgatherv = Neighbor_allgatherv<int, int>::blocking,
    .Ialltoall = Alltoall<int>::nonblocking,
    .Ialltoallv = Alltoallv<int, int>::nonblocking,
    .Ialltoallw = Alltoallw<int, int>::nonblocking,
    .Ineighbor_alltoall = Neighbor_alltoall<int>::nonblocking,
    .Ineighbor_alltoallv = Neighbor_alltoallv<int, int>::nonblocking,
    .Ineighbor_alltoallw = Neighbor_alltoallw<int>::nonblocking,
    .Ineighbor_allgather = Neighbor_allgather<int>::nonblocking,
    .Ineighbor_allgatherv = Neighbor_allgatherv<int, int>::nonblocking,
    .Alltoall_init = Alltoall<int>::persistent,
    .Alltoallv_init = Alltoallv<int, int>::persistent,
    .Alltoallw_init = Alltoallw<int, int>::persistent,
    .Neighbor_alltoall_init = Neighbor_alltoall<int>::persistent,
    .Neighbor_alltoallv_init = Neighbor_alltoallv<int, int>::persistent,
    .Neighbor_alltoallw_init = Neighbor_alltoallw<int>::persistent,
    .Neighbor_allgather_init = Neighbor_allgather<int>::persistent,
    .Neighbor_allgatherv_init = Neighbor_allgatherv<int, int>::persistent,
    .Alltoall_c = Alltoall<abi::MPI_Count>::blocking,
    .Alltoallv_c = Alltoallv<abi::MPI_Count, abi::MPI_Aint>::blocking,
    .Alltoallw_c = Alltoallw<abi::MPI_Count, abi::MPI_Aint>::blocking,
    .Neighbor_alltoall_c = Neighbor_alltoall<abi::MPI_Count>::blocking,
    .Neighbor_alltoallv_c = Neighbor_alltoallv<abi::MPI_Count, abi::MPI_Aint>::blocking,
    .Neighbor_alltoallw_c = Neighbor_alltoallw<abi::MPI_Count>::blocking,
    .Neighbor_allgather_c = Neighbor_allgather<abi::MPI_Count>::blocking,
    .Neighbor_allgatherv_c = Neighbor_allgatherv<abi::MPI_Count, abi::MPI_Aint>::blocking,
    .Ialltoall_c = Alltoall<abi::MPI_Count>::nonblocking,
    .Ialltoallv_c = Alltoallv<abi::MPI_Count, abi::MPI_Aint>::nonblocking,
    .Ialltoallw_c = Alltoallw<abi::MPI_Count, abi::MPI_Aint>::nonblocking,
    .Ineighbor_alltoall_c = Neighbor_alltoall<abi::MPI_Count>::nonblocking,
    .Ineighbor_alltoallv_c = Neighbor_alltoallv<abi::MPI_Count, abi::MPI_Aint>::nonblocking,
    .Ineighbor_alltoallw_c = Neighbor_alltoallw<abi::MPI_Count>::nonblocking,
    .Ineighbor_allgather_c = Neighbor_allgather<abi::MPI_Count>::nonblocking,
    .Ineighbor_allgatherv_c = Neighbor_allgatherv<abi::MPI_Count, abi::MPI_Aint>::nonblocking,
    .Alltoall_init_c = Alltoall<abi::MPI_Count>::persistent,
    .Alltoallv_init_c = Alltoallv<abi::MPI_Count, abi::MPI_Aint>::persistent,
    .Alltoallw_init_c = Alltoallw<abi::MPI_Count, abi::MPI_Aint>::persistent,
    .Neighbor_alltoall_init_c = Neighbor_alltoall<abi::MPI_Count>::persistent,
    .Neighbor_alltoallv_init_c = Neighbor_alltoallv<abi::MPI_Count, abi::MPI_Aint>::persistent,
    .Neighbor_alltoallw_init_c = Neighbor_alltoallw<abi::MPI_Count>::persistent,
    .Neighbor_allgather_init_c = Neighbor_allgather<abi::MPI_Count>::persistent,
    .Neighbor_allgatherv_init_c = Neighbor_allgatherv<abi::MPI_Count, abi::MPI_Aint>::persistent,
    MESSAGES(, int)
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        MESSAGES(_c, abi::MPI_Count)
#else
        .Send_c = nullptr,
    .Bsend_c = nullptr,
    .Ssend_c = nullptr,
    .Rsend_c = nullptr,
    .Isend_c = nullptr,
    .Ibsend_c = nullptr,
    .Issend_c = nullptr,
    .Irsend_c = nullptr,
    .Send_init_c = nullptr,
    .Bsend_init_c = nullptr,
    .Ssend_init_c = nullptr,
    .Rsend_init_c = nullptr,
    .Recv_c = nullptr,
    .Irecv_c = nullptr,
    .Recv_init_c = nullptr,
    .Mrecv_c = nullptr,
    .Imrecv_c = nullptr,
    .Sendrecv_c = nullptr,
    .Sendrecv_replace_c = nullptr,
    .Isendrecv_c = nullptr,
    .Isendrecv_replace_c = nullptr,
#endif
            .Probe = p2p::probe,
    .Iprobe = p2p::iprobe,
    .Mprobe = p2p::mprobe,
    .Improbe = p2p::improbe,
    .Cancel = requests::cancel,
    .Start = requests::start,
    .Startall = requests::startall,
    .Wait = requests::wait,
    .Waitall = requests::waitall,
    .Waitany = requests::waitany,
    .Waitsome = requests::waitsome,
    .Test = requests::test,
    .Testall = requests::testall,
    .Testany = requests::testany,
    .Testsome = requests::testsome,
    .Request_free = requests::request_free,
    .Request_get_status = requests::request_get_status,
    .Request_get_status_all = requests::request_get_status_all,
    .Request_get_status_any = requests::request_get_status_any,
    .Request_get_status_some = requests::request_get_status_some,
};

const abi::Core& plain_core() { return core; }

} // namespace

} // namespace nodeaware

/// The way in, see interpose/abi.hpp.
extern "C" __attribute__((visibility("default"))) const nodeaware::abi::Core*
nodeaware_core(void* (*next)(const char*)) {
    if (const char* missing = nodeaware::load_mpi(next)) {
        nodeaware::write_log(nodeaware::LogLevel::warn, std::string("this MPI has no ") + missing);
        return nullptr;
    }
    return &nodeaware::core;
}

/// Objects with static storage in this library are never destroyed: programs may call MPI_Finalize,
/// which calls us, after the destructors of all that they have loaded.
// NOLINTNEXTLINE
extern "C" int __cxa_atexit(void (* /*destructor*/)(void*), void* /*object*/, void* /*library*/) {
    return 0;
}
