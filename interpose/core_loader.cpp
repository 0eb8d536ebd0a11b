#include "interpose/next.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>
#include <utility>

namespace nodeaware::interpose {

namespace {

constinit std::atomic<const abi::Core*> running_core{nullptr};
constinit std::atomic<bool> was_started{false};
constinit thread_local ThreadState thread;

enum class Flavor {
    open_mpi,
    mpich,
    standard, ///< MPI 5.0, chapter 20, over either of them
    unknown,
    none ///< older than MPI 3, or what programs of one process have in place of MPI
};

Flavor flavor_of(const char* version) {
    if (std::strncmp(version, "Open MPI", 8) == 0) { return Flavor::open_mpi; }
    // The libraries that share MPICH's binary interface.
    for (const char* name : {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"}) {
        if (std::strstr(version, name) != nullptr) { return Flavor::mpich; }
    }
    return Flavor::unknown;
}

/// Handles and constants are those of MPI 5.0, chapter 20, whichever MPI has them. MPIs without
/// that interface say so.
bool has_standard_interface() {
    int major = -1;
    int minor = -1;
    const auto get_version =
        reinterpret_cast<int (*)(int*, int*)>(symbol_of_mpi("MPI_Abi_get_version"));
    return get_version != nullptr && get_version(&major, &minor) == 0 && major > 0;
}

Flavor flavor() {
    char version[8192] = ""; // MPI_MAX_LIBRARY_VERSION_STRING of all known MPIs
    int length = 0;
    const auto get_version =
        reinterpret_cast<int (*)(char*, int*)>(next_symbol("MPI_Get_library_version"));
    if (get_version == nullptr) { return Flavor::none; }
    if (get_version(version, &length) != 0) { return Flavor::unknown; }
    const Flavor mpi = flavor_of(version);
    return mpi != Flavor::unknown && has_standard_interface() ? Flavor::standard : mpi;
}

const char* name_of(Flavor flavor) {
    switch (flavor) {
    case Flavor::open_mpi: return "openmpi";
    case Flavor::mpich: return "mpich";
    default: return "abi";
    }
}

/// There is no rank to ask for without a core, so ask the launcher. nullptr: it does not say.
const char* launched_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
        if (const char* rank = std::getenv(name)) { return rank; }
    }
    return nullptr;
}

/// One process of the job complains, not all.
bool speaks_for_the_job() {
    const char* const rank = launched_rank();
    return rank == nullptr || std::strcmp(rank, "0") == 0;
}

void complain(const char* what, const char* detail) {
    if (speaks_for_the_job()) {
        std::fprintf(stderr, "nodeaware: %s: %s; MPI calls are left alone\n", what, detail);
    }
}

/// The folder that this library was in when relative paths were of the program's first folder, with
/// a slash behind it; empty: the loader knows where.
char own_folder[4096];

__attribute__((constructor)) void find_own_folder() {
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(&find_own_folder), &self) == 0) { return; }
    const char* const slash = std::strrchr(self.dli_fname, '/');
    if (slash == nullptr) { return; }
    char* end = own_folder;
    if (self.dli_fname[0] != '/') {
        if (getcwd(own_folder, sizeof own_folder) == nullptr) { return; }
        end += std::strlen(own_folder);
        *end++ = '/';
    }
    const auto length = static_cast<size_t>(slash + 1 - self.dli_fname);
    if (end + length >= own_folder + sizeof own_folder) {
        own_folder[0] = '\0';
        return;
    }
    std::memcpy(end, self.dli_fname, length);
    end[length] = '\0';
}

/// The core lies beside this library.
const abi::Core* load_core(Flavor flavor) {
    char path[sizeof own_folder + 64];
    std::snprintf(path, sizeof path, "%slibnodeaware-%s.so", own_folder, name_of(flavor));
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        complain(flavor == Flavor::standard ? "no support for MPI's standard binary interface"
                                            : "no support for this MPI",
                 dlerror());
        return nullptr;
    }
    const auto entry = reinterpret_cast<abi::CoreEntry>(dlsym(library, abi::core_entry_name));
    const abi::Core* core = entry == nullptr ? nullptr : entry(next_symbol);
    if (core == nullptr || core->size != sizeof(abi::Core) || core->sources() != abi::sources()) {
        complain("not of the same version as libnodeaware.so", path);
        return nullptr;
    }
    return core;
}

/// Rank 0 may be the one that is waited for.
void say_that_ranks_are_missing() {
    const char* const rank = launched_rank();
    if (rank != nullptr && std::strcmp(rank, "0") != 0 && std::strcmp(rank, "1") != 0) { return; }
    std::fprintf(stderr, "nodeaware: waiting for ranks that have not come out of MPI_Init with the "
                         "library; it has to be preloaded on all (nodeaware doctor says where it "
                         "is not)\n");
}

time_t seconds_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now); // which Linux always has
    return now.tv_sec;
}

/// MPI_Wait, without <mpi.h>.
int wait(uintptr_t request, Flavor flavor) {
    constexpr time_t patience = 30; // seconds; ranks come out of MPI_Init together
    const auto test = reinterpret_cast<int (*)(uintptr_t*, int*, void*)>(next_symbol("MPI_Test"));
    void* const no_status = reinterpret_cast<void*>(uintptr_t{flavor == Flavor::mpich ? 1U : 0U});
    const time_t begin = seconds_now();
    bool has_said = false;
    int is_complete = 0;
    while (true) {
        const int code = test(&request, &is_complete, no_status);
        if (code != 0 || is_complete != 0) { return code; }
        sched_yield();
        if (seconds_now() - begin < patience) { continue; }
        if (!std::exchange(has_said, true)) { say_that_ranks_are_missing(); }
        usleep(10000);
    }
}

struct Handles {
    void *integer, *minimum, *world;
};

/// They are part of the binary interfaces.
Handles handles_of(Flavor flavor) {
    const auto value = [](uintptr_t number) { return reinterpret_cast<void*>(number); };
    switch (flavor) {
    case Flavor::open_mpi:
        return {dlsym(RTLD_DEFAULT, "ompi_mpi_int"), dlsym(RTLD_DEFAULT, "ompi_mpi_op_min"),
                dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world")};
    case Flavor::mpich: return {value(0x4c000405), value(0x58000002), value(0x44000000)};
    case Flavor::standard: return {value(0x209), value(0x22), value(0x101)};
    default: return {nullptr, nullptr, nullptr};
    }
}

/// What a rank has; ranks that differ in it cannot work together.
int identity_of(const abi::Core* core, Flavor flavor) {
    if (core == nullptr) { return 0; }
    return 1 + core->sources() * 4 + static_cast<int>(flavor); // 30 bits
}

enum class Ranks { alike, different, unknown };

/// MPI_Iallreduce(MPI_MIN) over MPI_COMM_WORLD, without <mpi.h>. Where a rank lacks the library, a
/// blocking collective would meet one of the application's there, and spoil its data.
Ranks compare_ranks(int identity, Flavor flavor) {
    const Handles handles = handles_of(flavor);
    const auto allreduce =
        reinterpret_cast<int (*)(const void*, void*, int, void*, void*, void*, uintptr_t*)>(
            next_symbol("MPI_Iallreduce"));
    if (allreduce == nullptr || handles.integer == nullptr || handles.minimum == nullptr ||
        handles.world == nullptr) {
        return Ranks::unknown; // the same MPI on all ranks: on all of them
    }
    const int mine[] = {identity, -identity}; // the greatest, too
    int least[] = {0, 0};
    uintptr_t request = 0;
    if (allreduce(mine, least, 2, handles.integer, handles.minimum, handles.world, &request) != 0 ||
        wait(request, flavor) != 0) {
        return Ranks::unknown;
    }
    return least[0] == -least[1] ? Ranks::alike : Ranks::different;
}

/// Each that has no core has told why.
bool all_have(const abi::Core* core, Flavor flavor) {
    const Ranks ranks = compare_ranks(identity_of(core, flavor), flavor);
    if (ranks == Ranks::different && core != nullptr) {
        complain("not the same library on all ranks", "nodeaware doctor says where it differs");
    }
    return ranks == Ranks::alike && core != nullptr;
}

void watch(const abi::Core* core) {
    const auto set = [](Activity::Counter& counter, const std::atomic<int>* value) {
        counter.store(value, std::memory_order_relaxed);
    };
    set(activity.meetings, core == nullptr ? &Activity::nothing : core->waiting_communicators);
    set(activity.requests, core == nullptr ? &Activity::nothing : core->requests);
    set(activity.messages, core == nullptr ? &Activity::nothing : core->point_to_point);
    set(activity.pending_work, core == nullptr ? &Activity::nothing : core->pending_work);
    set(activity.reductions, core == nullptr ? &Activity::nothing : core->reductions);
    set(activity.told_calls, core == nullptr ? &Activity::nothing : core->told_calls);
}

const void* caller() { return thread.caller; }

void forget_core() {
    watch(nullptr);
    running_core.store(nullptr, std::memory_order_release);
}

} // namespace

const abi::Core* active_core(const void* caller) {
    if (thread.depth != 0) { return nullptr; }
    thread.caller = thread.fortran == nullptr ? caller : thread.fortran;
    return running_core.load(std::memory_order_acquire);
}

namespace {

/// This thread's guard is gone, and may have been the outermost.
void throw_what_was_kept() {
    if (thread.thrown == nullptr || thread.depth > 0 || thread.blocking > 0) { return; }
    const abi::Core* const core = running_core.load();
    if (core != nullptr) { core->throw_kept(std::exchange(thread.thrown, nullptr)); }
}

} // namespace

Inside::Inside() { ++thread.depth; }
Inside::~Inside() {
    --thread.depth;
    throw_what_was_kept();
}

BlockingCall::BlockingCall(const abi::Core& core) : core_(core) {
    before_blocking(core);
    core_.blocking_calls->fetch_add(1, std::memory_order_relaxed);
    ++thread.blocking;
}
BlockingCall::~BlockingCall() {
    core_.blocking_calls->fetch_sub(1, std::memory_order_relaxed);
    --thread.blocking;
    throw_what_was_kept();
}

ToldCall::ToldCall(const abi::Core& core, const char* function)
    : core_(is_any(activity.told_calls) && !thread.is_told ? &core : nullptr), function_(function),
      begin_(core_ == nullptr ? 0 : core.call_begins()) {
    if (core_ != nullptr) { thread.is_told = true; }
}
ToldCall::~ToldCall() {
    if (core_ != nullptr) { thread.is_told = false; }
}

void ToldCall::tell(const abi::MPI_Comm* comm, const abi::Passed* passed) const {
    const Inside inside;
    core_->call_done(function_, comm, begin_, passed);
}

CalledFromFortran::CalledFromFortran(const void* caller)
    : is_outermost_(thread.fortran == nullptr) {
    if (is_outermost_) { thread.fortran = caller; }
}
CalledFromFortran::~CalledFromFortran() {
    if (is_outermost_) { thread.fortran = nullptr; }
}

Application::Application() : state_(std::exchange(thread, ThreadState())) {
    const abi::Core* const core = running_core.load();
    turns_ = core == nullptr ? 0 : core->application_begins();
}
Application::~Application() {
    thread = state_;
    const abi::Core* const core = running_core.load();
    if (core != nullptr) { core->application_ends(turns_); }
}

bool Application::keeps_exceptions() const {
    return (state_.depth > 0 || state_.blocking > 0) && running_core.load() != nullptr;
}

void Application::call_and_keep(void (*function)(void*), void* argument) {
    state_.thrown = running_core.load()->call_and_keep(function, argument, state_.blocking);
}

void tell_error(int code) {
    ++thread.errors;
    thread.last_error = code;
    if (const abi::Core* const core = running_core.load()) { core->error_told(code); }
}

Outcome::Outcome() : errors_(thread.errors) {}
int Outcome::of(int returned) const {
    return returned == 0 && thread.errors != errors_ ? thread.last_error : returned;
}

void before_end(bool by_abort) {
    if (const abi::Core* const core = running_core.load(std::memory_order_acquire)) {
        const Inside inside;
        core->ended(by_abort);
    }
}

namespace {

/// After what the program has registered, which may call MPI_Finalize.
[[gnu::destructor]] void at_exit() { before_end(false); }

} // namespace

bool is_open_mpi() { return dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != nullptr; }

void start_core() {
    // Once: a Fortran MPI_Init that is implemented with the C one comes here twice.
    if (thread.depth > 0 || was_started.exchange(true)) { return; }
    const Inside inside;
    const Flavor mpi = flavor();
    if (mpi == Flavor::none) { return; }
    if (mpi == Flavor::unknown) {
        complain("no support for this MPI", "neither Open MPI nor a relative of MPICH");
        return;
    }
    const abi::Core* const core = load_core(mpi);
    if (!all_have(core, mpi)) { return; }
    if (const abi::Core* const hooks = core->start(forget_core, caller)) {
        running_core.store(hooks, std::memory_order_release);
        watch(hooks);
    }
}

} // namespace nodeaware::interpose
