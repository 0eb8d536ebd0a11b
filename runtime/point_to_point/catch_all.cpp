#include "runtime/point_to_point/catch_all.hpp"

#include "runtime/job/address_space.hpp"
#include "runtime/memory/elements.hpp"
#include "runtime/point_to_point/withdraw.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace nodeaware {

namespace {

constexpr size_t more_than_wildcards = 4;
constexpr size_t most = 64;
constexpr uint64_t least_space = uint64_t{16} << 20U;

size_t machine_memory() {
    static const auto bytes = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L)) *
                              static_cast<size_t>(std::max(sysconf(_SC_PAGESIZE), 4096L));
    return bytes;
}

/// As much as the machine has memory, unless the process may not have as much address space: then
/// half of what it may, for all together.
size_t space_for_each(size_t receives, uint64_t largest) {
    const uint64_t limit = address_space::limit();
    if (limit == 0) { return machine_memory(); }
    const uint64_t share = limit / 2 / receives;
    return std::min<uint64_t>(std::max({share, largest, least_space}), machine_memory());
}

/// Address space, or nullptr.
std::shared_ptr<std::byte> make_space(size_t bytes) {
    void* const address = address_space::map(bytes, MAP_PRIVATE | MAP_ANONYMOUS);
    if (address == nullptr) { return nullptr; }
    return {static_cast<std::byte*>(address), [bytes](std::byte* space) { munmap(space, bytes); }};
}

} // namespace

CatchAll::~CatchAll() {
    try {
        withdraw();
    } catch (const MpiError&) {} // nothing can be done about it
    for (Receive& receive : posted_) { mpi.Wait(&receive.request, MPI_STATUS_IGNORE); }
}

void CatchAll::post(size_t wildcards, uint64_t largest) {
    if (wildcards == 0) { return; }
    wildcards_ += wildcards;
    const size_t wanted = std::min(wildcards_ + more_than_wildcards, most);
    while (posted_.size() < wanted) {
        Receive receive{MPI_REQUEST_NULL, nullptr, space_for_each(wanted, largest)};
        receive.memory = make_space(receive.bytes);
        if (receive.memory == nullptr) { // where space has to be backed by memory
            receive.bytes = std::max(largest, least_space);
            receive.memory = make_space(receive.bytes);
        }
        if (receive.memory == nullptr) { return; }
        const Elements elements(receive.bytes);
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
