#include "tools/simulate/rank.hpp"

#include "runtime/mpi/mpi.hpp"
#include "tools/simulate/mpi_functions.hpp"
#include "tools/simulate/virtual_time.hpp"

#include <atomic>
#include <cstddef>
#include <dlfcn.h>

namespace nodeaware::simulation {

namespace {

abi::MPI_Comm world() { return reinterpret_cast<abi::MPI_Comm>(MPI_COMM_WORLD); }
abi::MPI_Datatype bytes_type() { return reinterpret_cast<abi::MPI_Datatype>(MPI_BYTE); }
abi::MPI_Request* abi_of(MPI_Request* request) {
    return reinterpret_cast<abi::MPI_Request*>(request);
}

bool is_any(const std::atomic<int>* counter) { return *counter != 0; }

void check(int code, const char* function) {
    if (code != MPI_SUCCESS) { throw MpiError(code, function); }
}

/// A call of the program: what it has done meanwhile others may wait for.
template <class Call> void around(const char* function, Call call) {
    virtual_time::note_progress();
    const int code = call();
    virtual_time::before_call();
    check(code, function);
}

/// As MPIs do it: one message for each block, after all receives. SMPI's own sends empty ones, too.
int native_alltoallv(const void* sent, const Rank::Lists& lists, void* received) {
    constexpr int tag = 9;
    const int ranks = static_cast<int>(lists.sent_counts.size());
    std::vector<MPI_Request> requests;
    requests.reserve(2 * lists.sent_counts.size());
    int code = MPI_SUCCESS;
    for (int peer = 0; peer < ranks && code == MPI_SUCCESS; ++peer) {
        const auto i = static_cast<size_t>(peer);
        if (lists.received_counts[i] == 0) { continue; }
        code = mpi.Irecv(static_cast<std::byte*>(received) + lists.received_places[i],
                         lists.received_counts[i], MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                         &requests.emplace_back());
    }
    for (int peer = 0; peer < ranks && code == MPI_SUCCESS; ++peer) {
        const auto i = static_cast<size_t>(peer);
        if (lists.sent_counts[i] == 0) { continue; }
        code = mpi.Isend(static_cast<const std::byte*>(sent) + lists.sent_places[i],
                         lists.sent_counts[i], MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                         &requests.emplace_back());
    }
    if (code != MPI_SUCCESS) { return code; }
    return mpi.Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void forget_nothing() {}
const void* no_caller() { return nullptr; }

} // namespace

Rank::Rank(const std::string& core) {
    if (core.empty()) { return; }
    loaded_ = load_core(core);
    core_ = loaded_.core->start(forget_nothing, no_caller);
}

Rank::~Rank() {
    if (core_ != nullptr) { delete_attribute_of_self(); }
}

void Rank::alltoallv(const void* sent, const Lists& lists, void* received) {
    around("MPI_Alltoallv", [&] {
        int result = MPI_SUCCESS;
        const bool is_done =
            core_ != nullptr &&
            core_->Alltoallv(&result, sent, lists.sent_counts.data(), lists.sent_places.data(),
                             bytes_type(), received, lists.received_counts.data(),
                             lists.received_places.data(), bytes_type(), world());
        if (is_done) { return result; }
        result = native_alltoallv(sent, lists, received);
        if (core_ != nullptr) { core_->native_done(result); }
        return result;
    });
}

void Rank::isend(const void* memory, int bytes, int peer, int tag, MPI_Request* request) {
    around("MPI_Isend", [&] {
        if (core_ != nullptr && is_any(core_->point_to_point)) {
            return core_->Isend(memory, bytes, bytes_type(), peer, tag, world(), abi_of(request));
        }
        return mpi.Isend(memory, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, request);
    });
}

void Rank::irecv(void* memory, int bytes, int peer, int tag, MPI_Request* request) {
    around("MPI_Irecv", [&] {
        if (core_ != nullptr && is_any(core_->point_to_point)) {
            return core_->Irecv(memory, bytes, bytes_type(), peer, tag, world(), abi_of(request));
        }
        return mpi.Irecv(memory, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, request);
    });
}

void Rank::waitall(std::vector<MPI_Request>& requests) {
    const int count = static_cast<int>(requests.size());
    around("MPI_Waitall", [&] {
        if (core_ != nullptr && is_any(core_->requests)) {
            return core_->Waitall(count, abi_of(requests.data()), nullptr);
        }
        return mpi.Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    });
}

void Rank::barrier() {
    around("MPI_Barrier", [&] {
        const bool is_meeting = core_ != nullptr && is_any(core_->waiting_communicators);
        if (is_meeting) { core_->before_meeting(); }
        if (core_ != nullptr && is_any(core_->pending_work)) { core_->before_blocking(); }
        const int result = PMPI_Barrier(MPI_COMM_WORLD);
        return is_meeting ? core_->meeting(world(), result) : result;
    });
}

void Rank::go_away() {
    virtual_time::note_progress();
    if (core_ != nullptr && is_any(core_->pending_work)) { core_->before_blocking(); }
    virtual_time::before_call();
}

void* Rank::own_function(const char* name) const {
    return core_ == nullptr ? nullptr : dlsym(loaded_.library, name);
}

} // namespace nodeaware::simulation
