#include "tests/unit/scripted/rank.hpp"

#include "tests/unit/scripted/library.hpp"

#include <cstdlib>
#include <stdexcept>

namespace scripted {

namespace {

namespace abi = nodeaware::abi;

/// Handles as the binary interface has them: pointers, whatever they are.
template <class Opaque, class Handle> Opaque opaque(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
        return reinterpret_cast<Opaque>(handle);
    } else {
        return reinterpret_cast<Opaque>(static_cast<intptr_t>(handle)); // NOLINT
    }
}
abi::MPI_Datatype abi_of_type(MPI_Datatype type) { return opaque<abi::MPI_Datatype>(type); }
abi::MPI_Comm abi_of(MPI_Comm comm) { return opaque<abi::MPI_Comm>(comm); }
abi::MPI_Request* abi_of(MPI_Request* request) {
    return reinterpret_cast<abi::MPI_Request*>(request);
}
abi::MPI_Status* abi_of(MPI_Status* status) { return reinterpret_cast<abi::MPI_Status*>(status); }
abi::MPI_Message* abi_of_message(MPI_Message* message) {
    return reinterpret_cast<abi::MPI_Message*>(message);
}

bool is_any(const std::atomic<int>* counter) { return *counter != 0; }

/// The cores that are in use, by rank.
std::vector<const abi::Core*> active;
const void* no_caller() { return nullptr; }
void at_end() { active[static_cast<size_t>(job().rank())] = nullptr; }

} // namespace

void Rank::at(const char* function) const { job().scheduler().set_place(function); }

/// Nothing may be thrown into the application.
template <class Work> int Rank::call(const char* function, Work work) {
    at(function);
    try {
        return work();
    } catch (...) { job().complain(std::string("an exception comes out of ") + function); }
    return MPI_ERR_INTERN;
}

Rank::Rank() {
    active.resize(static_cast<size_t>(job().size()));
    const abi::Core* const loaded = core_of(number());
    const auto start = [&] { return loaded->start(at_end, no_caller) != nullptr; };
    if (call("MPI_Init", start) == 1) {
        core_ = loaded;
        active[static_cast<size_t>(number())] = loaded;
    }
    job().process().calls_of_start = job().process().calls;
}

Rank::~Rank() = default;

bool Rank::is_elsewhere(int peer) const {
    const auto& nodes = job().settings().nodes;
    return nodes[static_cast<size_t>(peer)] != nodes[static_cast<size_t>(number())];
}

#define POINT_TO_POINT(name, ...)                                                                  \
    return call("MPI_" #name, [&] {                                                                \
        if (core_ != nullptr && is_any(core_->point_to_point)) { return core_->name(__VA_ARGS__); }

#define NATIVELY(name, ...)                                                                        \
    return mpi().name(__VA_ARGS__);                                                                \
    });

#define REQUESTS(name, ...)                                                                        \
    return call("MPI_" #name, [&] {                                                                \
        if (core_ != nullptr && is_any(core_->requests)) { return core_->name(__VA_ARGS__); }

#define SEND(function, name)                                                                       \
    int Rank::function(const void* memory, int count, MPI_Datatype type, int peer, int tag,        \
                       MPI_Comm comm) {                                                            \
        POINT_TO_POINT(name, memory, count, abi_of_type(type), peer, tag, abi_of(comm))            \
        NATIVELY(name, memory, count, type, peer, tag, comm)                                       \
    }
#define ISEND(function, name)                                                                      \
    int Rank::function(const void* memory, int count, MPI_Datatype type, int peer, int tag,        \
                       MPI_Comm comm, MPI_Request* request) {                                      \
        POINT_TO_POINT(name, memory, count, abi_of_type(type), peer, tag, abi_of(comm),            \
                       abi_of(request))                                                            \
        NATIVELY(name, memory, count, type, peer, tag, comm, request)                              \
    }

SEND(send, Send)
SEND(ssend, Ssend)
SEND(bsend, Bsend)
ISEND(isend, Isend)
ISEND(issend, Issend)

int Rank::recv(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Status* status) {
    POINT_TO_POINT(Recv, memory, count, abi_of_type(type), peer, tag, abi_of(comm), abi_of(status))
    NATIVELY(Recv, memory, count, type, peer, tag, comm, status)
}

int Rank::irecv(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request* request) {
    POINT_TO_POINT(Irecv, memory, count, abi_of_type(type), peer, tag, abi_of(comm),
                   abi_of(request))
    NATIVELY(Irecv, memory, count, type, peer, tag, comm, request)
}

int Rank::iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    POINT_TO_POINT(Iprobe, source, tag, abi_of(comm), flag, abi_of(status))
    NATIVELY(Iprobe, source, tag, comm, flag, status)
}

int Rank::probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
    POINT_TO_POINT(Probe, source, tag, abi_of(comm), abi_of(status))
    NATIVELY(Probe, source, tag, comm, status)
}

int Rank::mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    POINT_TO_POINT(Mprobe, source, tag, abi_of(comm), abi_of_message(message), abi_of(status))
    NATIVELY(Mprobe, source, tag, comm, message, status)
}

int Rank::mrecv(void* memory, int count, MPI_Datatype type, MPI_Message* message,
                MPI_Status* status) {
    POINT_TO_POINT(Mrecv, memory, count, abi_of_type(type), abi_of_message(message), abi_of(status))
    NATIVELY(Mrecv, memory, count, type, message, status)
}

int Rank::imrecv(void* memory, int count, MPI_Datatype type, MPI_Message* message,
                 MPI_Request* request) {
    POINT_TO_POINT(Imrecv, memory, count, abi_of_type(type), abi_of_message(message),
                   abi_of(request))
    NATIVELY(Imrecv, memory, count, type, message, request)
}

int Rank::cancel(MPI_Request* request) {
    POINT_TO_POINT(Cancel, abi_of(request))
    NATIVELY(Cancel, request)
}

int Rank::request_free(MPI_Request* request) {
    REQUESTS(Request_free, abi_of(request))
    NATIVELY(Request_free, request)
}

int Rank::wait(MPI_Request* request, MPI_Status* status) {
    REQUESTS(Wait, abi_of(request), abi_of(status))
    NATIVELY(Wait, request, status)
}

int Rank::test(MPI_Request* request, int* flag, MPI_Status* status) {
    REQUESTS(Test, abi_of(request), flag, abi_of(status))
    NATIVELY(Test, request, flag, status)
}

int Rank::waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    REQUESTS(Waitall, count, abi_of(requests), abi_of(statuses))
    NATIVELY(Waitall, count, requests, statuses)
}

int Rank::waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    REQUESTS(Waitany, count, abi_of(requests), index, abi_of(status))
    NATIVELY(Waitany, count, requests, index, status)
}

int Rank::waitsome(int count, MPI_Request* requests, int* done, int* indices,
                   MPI_Status* statuses) {
    REQUESTS(Waitsome, count, abi_of(requests), done, indices, abi_of(statuses))
    NATIVELY(Waitsome, count, requests, done, indices, statuses)
}

int Rank::testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    REQUESTS(Testall, count, abi_of(requests), flag, abi_of(statuses))
    NATIVELY(Testall, count, requests, flag, statuses)
}

int Rank::ialltoallv(const void* sent, const int* counts, const int* places, void* received,
                     const int* received_counts, const int* received_places, MPI_Datatype type,
                     MPI_Comm comm, MPI_Request* request) {
    return call("MPI_Ialltoallv", [&]() -> int {
        int result = MPI_SUCCESS;
        const bool is_begun =
            core_ != nullptr && core_->Ialltoallv(&result, sent, counts, places, abi_of_type(type),
                                                  received, received_counts, received_places,
                                                  abi_of_type(type), abi_of(comm), abi_of(request));
        if (is_begun) { return result; }
        if (job().has_failed()) { return job().raise(comm, MPI_ERR_ARG); } // as MPI would refuse it
        job().complain("MPI_Ialltoallv is left to MPI");
        return MPI_ERR_OTHER;
    });
}

int Rank::alltoallv(const void* sent, const int* counts, const int* places, void* received,
                    const int* received_counts, const int* received_places, MPI_Datatype type,
                    MPI_Comm comm) {
    return call("MPI_Alltoallv", [&] {
        int result = MPI_SUCCESS;
        const bool is_done =
            core_ != nullptr &&
            core_->Alltoallv(&result, sent, counts, places, abi_of_type(type), received,
                             received_counts, received_places, abi_of_type(type), abi_of(comm));
        if (is_done) { return result; }
        if (!job().has_failed()) { job().complain("MPI_Alltoallv is left to MPI"); }
        return job().raise(comm, MPI_ERR_ARG);
    });
}

int Rank::prepare(MPI_Comm comm) {
    const std::vector<int> none(static_cast<size_t>(size()), 0);
    const int code = call("MPI_Ialltoallv", [&] {
        int result = MPI_SUCCESS;
        MPI_Request request = MPI_REQUEST_NULL;
        const bool is_begun = core_->Ialltoallv(
            &result, nullptr, none.data(), none.data(), abi_of_type(MPI_BYTE), nullptr, none.data(),
            none.data(), abi_of_type(MPI_BYTE), abi_of(comm), abi_of(&request));
        if (is_begun) { job().complain("the communicator is prepared already"); }
        core_->native_done(MPI_SUCCESS);
        return result;
    });
    return code == MPI_SUCCESS ? barrier(comm) : code;
}

int Rank::barrier(MPI_Comm comm) {
    return call("MPI_Barrier", [&] {
        const bool is_meeting = core_ != nullptr && is_any(core_->waiting_communicators);
        if (is_meeting) { core_->before_meeting(); }
        const int result = mpi().Barrier(comm);
        return is_meeting ? core_->meeting(abi_of(comm), result) : result;
    });
}

int Rank::refused_barrier(MPI_Comm comm) {
    return call("MPI_Barrier", [&] {
        const bool is_meeting = core_ != nullptr && is_any(core_->waiting_communicators);
        if (is_meeting) { core_->before_meeting(); }
        return is_meeting ? core_->meeting(abi_of(comm), MPI_ERR_ARG) : MPI_ERR_ARG;
    });
}

int Rank::allreduce(const int* sent, int* received, int count, MPI_Op op, MPI_Comm comm) {
    return call("MPI_Allreduce", [&] {
        abi::Offered offered = abi::Offered::left_alone;
        int result = MPI_SUCCESS;
        if (core_ != nullptr && is_any(core_->reductions)) {
            const abi::Reduction reduction{sent, received, count, abi_of_type(MPI_INT),
                                           opaque<abi::MPI_Op>(op)};
            offered = core_->allreduce(&result, reduction, abi_of(comm));
        }
        if (offered == abi::Offered::done) { return result; }
        result = mpi().Allreduce(sent, received, count, MPI_INT, op, comm);
        if (offered == abi::Offered::left_and_counted) { core_->native_done(result); }
        return result;
    });
}

int Rank::gather(MPI_Comm comm) {
    return call("MPI_Gather", [&] {
        if (core_ != nullptr && is_any(core_->pending_work)) { core_->before_blocking(); }
        return gather_nothing(comm);
    });
}

int Rank::dup(MPI_Comm comm, MPI_Comm* made) {
    return call("MPI_Comm_dup", [&] {
        if (core_ != nullptr && is_any(core_->pending_work)) { core_->before_blocking(); }
        const int result = scripted::dup(comm, made);
        if (core_ == nullptr) { return result; }
        if (result != MPI_SUCCESS) {
            core_->not_created();
            return result;
        }
        return core_->created(abi_of(comm), reinterpret_cast<abi::MPI_Comm*>(made));
    });
}

int Rank::dist_graph_create(MPI_Comm comm, const std::vector<int>& destinations, MPI_Comm* made) {
    return call("MPI_Dist_graph_create", [&] {
        int result = MPI_SUCCESS;
        const int source = number();
        const auto degree = static_cast<int>(destinations.size());
        const bool is_done =
            core_ != nullptr &&
            core_->make_graph(&result, abi_of(comm), 1, &source, &degree, destinations.data(),
                              MPI_UNWEIGHTED, opaque<abi::MPI_Info>(MPI_INFO_NULL), 0,
                              reinterpret_cast<abi::MPI_Comm*>(made));
        if (!is_done) { return job().raise(comm, MPI_ERR_ARG); }
        if (result != MPI_SUCCESS) {
            core_->not_created();
            return result;
        }
        return core_->created(abi_of(comm), reinterpret_cast<abi::MPI_Comm*>(made));
    });
}

int Rank::comm_free(MPI_Comm* comm) {
    return call("MPI_Comm_free", [&] {
        if (core_ != nullptr && is_any(core_->pending_work)) { core_->before_blocking(); }
        return mpi().Comm_free(comm);
    });
}

void Rank::compute(const std::function<bool()>& ready) {
    at("outside of MPI");
    job().scheduler().wait_until(ready, false);
}

int Rank::finalize() {
    return call("MPI_Finalize", [&] {
        const int result = scripted::finalize();
        core_ = nullptr;
        return result;
    });
}

std::string run(Job& job, const std::function<void(Rank&)>& program) {
    load_cores(job.size());
    active.assign(static_cast<size_t>(job.size()), nullptr);
    const std::string ended = job.run([&](int /*rank*/) {
        Rank rank;
        program(rank);
        rank.finalize();
    });
    unload_cores();
    return ended.empty() && !job.has_failed() ? job.left_over() : ended;
}

void set_options(const std::map<std::string, std::string>& options) {
    static std::map<std::string, std::string> set;
    for (const auto& [name, value] : set) { unsetenv(name.c_str()); }
    set.clear();
    for (const auto& [name, value] : options) { set["NODEAWARE_" + name] = value; }
    set["HWLOC_SYNTHETIC"] = "core:1"; // more ranks than cores, and quickly found out
    set["HWLOC_PLUGINS_PATH"] =
        "/nowhere"; // loaded for each rank again, for most of the time of a short job
    set["XDG_CONFIG_HOME"] = "/nowhere";
    set["NODEAWARE_STRICT"] = "1"; // an option that is none ends the job
    for (const auto& [name, value] : set) { setenv(name.c_str(), value.c_str(), 1); }
}

std::vector<uint64_t> seeds(uint64_t count) {
    if (const char* const one = std::getenv("SCRIPTED_SEED")) { return {std::stoull(one)}; }
    // Where they have run with another build, fewer: what differs between builds is little.
#ifdef __SANITIZE_ADDRESS__
    constexpr uint64_t part = 4; // and each takes ten times as long
#else
    constexpr uint64_t part = NODEAWARE_ANY_MPI_TESTS ? 1 : 2;
#endif
    const uint64_t last = (count + part - 1) / part;
    std::vector<uint64_t> list;
    for (uint64_t seed = 1; seed <= last; ++seed) { list.push_back(seed); }
    return list;
}

} // namespace scripted
