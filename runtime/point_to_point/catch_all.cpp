#include "runtime/point_to_point/catch_all.hpp"

#include "runtime/memory/elements.hpp"
#include "runtime/point_to_point/withdraw.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace nodeaware {

namespace {

constexpr size_t more_than_wildcards = 4;
constexpr size_t most = 64;

size_t machine_memory() {
    static const auto bytes = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L)) *
                              static_cast<size_t>(std::max(sysconf(_SC_PAGESIZE), 4096L));
    return bytes;
}

/// Address space, or nullptr.
std::shared_ptr<std::byte> make_space(size_t bytes) {
    void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) { return nullptr; }
    return {static_cast<std::byte*>(address), [bytes](std::byte* space) { munmap(space, bytes); }};
}

} // namespace

CatchAll::~CatchAll() {
    try {
        withdraw();
    } catch (const MpiError&) {} // nothing can be done about it
    for (Receive& receive : posted_) { mpi.Wait(&receive.request, MPI_STATUS_IGNORE); }
}

void CatchAll::post(size_t wildcards) {
    if (wildcards == 0) { return; }
    wildcards_ += wildcards;
    const Elements elements(machine_memory());
    while (posted_.size() < std::min(wildcards_ + more_than_wildcards, most)) {
        Receive receive{MPI_REQUEST_NULL, make_space(machine_memory())};
        if (receive.memory == nullptr) { return; }
        MPI_CALL(Irecv, receive.memory.get(), elements.count(), elements.type(), MPI_ANY_SOURCE,
                 MPI_ANY_TAG, comm_, &receive.request);
        posted_.push_back(std::move(receive));
    }
}

void CatchAll::withdraw() {
    if (wildcards_ == 0) { return; }
    wildcards_ = 0;
    std::erase_if(posted_, [](Receive& receive) {
        return nodeaware::withdraw(&receive.request) == Withdrawal::done;
    });
}

void CatchAll::advance() {
    std::erase_if(posted_, [&](Receive& receive) {
        int is_over = 0;
        int is_cancelled = 0;
        MPI_Status status;
        MPI_CALL(Test, &receive.request, &is_over, &status);
        if (is_over == 0) { return false; }
        MPI_CALL(Test_cancelled, &status, &is_cancelled);
        if (is_cancelled == 0) { caught_[{status.MPI_SOURCE, status.MPI_TAG}] = receive.memory; }
        return true;
    });
}

std::optional<wire::Bytes> CatchAll::take(int source, int payload_tag) {
    const auto found = caught_.find({source, payload_tag});
    if (found == caught_.end()) { return std::nullopt; }
    wire::Bytes bytes = std::move(found->second);
    caught_.erase(found);
    return bytes;
}

} // namespace nodeaware
