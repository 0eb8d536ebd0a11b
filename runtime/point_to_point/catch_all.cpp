#include "runtime/point_to_point/catch_all.hpp"

#include "runtime/job/address_space.hpp"
#include "runtime/memory/elements.hpp"
#include "runtime/point_to_point/withdraw.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace nodeaware {

namespace {

constexpr uint64_t least_space = uint64_t{16} << 20U;
/// For all receives: the application may want the rest of what a process can have.
constexpr uint64_t most_space = uint64_t{16} << 40U;
constexpr size_t usual = 128; ///< receives, which have spaces of one size

size_t machine_memory() {
    static const auto bytes = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L)) *
                              static_cast<size_t>(std::max(sysconf(_SC_PAGESIZE), 4096L));
    return bytes;
}

/// As much as the machine has memory, unless the process may not have as much address space: then
/// half of what it may, for all together.
size_t space_for_each(size_t receives, uint64_t largest) {
    const uint64_t limit = address_space::limit();
    if (limit == 0) {
        const uint64_t share = most_space / std::max(receives, usual);
        return std::min<uint64_t>(std::max(share, largest), machine_memory());
    }
    const uint64_t share = limit / 2 / receives;
    return std::min<uint64_t>(std::max({share, largest, least_space}), machine_memory());
}

struct Unmap {
    size_t bytes;
    void operator()(std::byte* space) const { munmap(space, bytes); }
};

/// Address space, or nullptr.
std::shared_ptr<std::byte> make_space(size_t bytes) {
    void* const address = address_space::map(bytes, MAP_PRIVATE | MAP_ANONYMOUS);
    if (address == nullptr) { return nullptr; }
    return {static_cast<std::byte*>(address), Unmap{bytes}};
}

/// Gives back what is behind a message that has come: there may be little.
void trim(const std::shared_ptr<std::byte>& space, const MPI_Status& status) {
    static const auto page = static_cast<size_t>(std::max(sysconf(_SC_PAGESIZE), 4096L));
    MPI_Count count = 0;
    MPI_CALL(Get_elements_x, &status, MPI_BYTE, &count);
    const auto used = static_cast<size_t>(std::max<MPI_Count>(count, 1));
    const size_t kept = (used + page - 1) / page * page;
    size_t& bytes = std::get_deleter<Unmap>(space)->bytes;
    if (kept < bytes && munmap(space.get() + kept, bytes - kept) == 0) { bytes = kept; }
}

} // namespace

CatchAll::~CatchAll() {
    try {
        withdraw();
    } catch (const MpiError&) {} // nothing can be done about it
    for (Receive& receive : posted_) { mpi.Wait(&receive.request, MPI_STATUS_IGNORE); }
}

/// No memory: there is none.
CatchAll::Space CatchAll::take_space(size_t wanted, uint64_t largest) {
    while (!spare_.empty()) {
        Space space = std::move(spare_.back());
        spare_.pop_back();
        if (space.bytes >= wanted) { return space; }
    }
    for (const uint64_t bytes : {uint64_t{wanted}, std::max(largest, least_space)}) {
        // The second where space has to be backed by memory.
        if (auto memory = make_space(bytes)) { return {std::move(memory), bytes}; }
    }
    return {};
}

void CatchAll::post(const std::vector<Pattern>& patterns, uint64_t largest) {
    const size_t receives = std::min(posted_.size() + patterns.size(), most);
    const size_t space = space_for_each(receives, largest);
    for (const Pattern& pattern : patterns) {
        if (posted_.size() >= receives) { return; }
        Receive receive{MPI_REQUEST_NULL, take_space(space, largest)};
        if (receive.space.memory == nullptr) { return; }
        const Elements elements(receive.space.bytes);
        MPI_CALL(Irecv, receive.space.memory.get(), elements.count(), elements.type(),
                 pattern.source, pattern.payload_tag, comm_, &receive.request);
        may_be_unmet_ = true;
        posted_.push_back(std::move(receive));
    }
}

void CatchAll::withdraw() {
    if (!std::exchange(may_be_unmet_, false)) { return; }
    const bool is_kept = address_space::private_limit() == 0;
    std::erase_if(posted_, [&](Receive& receive) {
        if (nodeaware::withdraw(&receive.request) != Withdrawal::done) { return false; }
        if (is_kept) { spare_.push_back(std::move(receive.space)); }
        return true;
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
        if (is_cancelled == 0) {
            trim(receive.space.memory, status);
            caught_[{status.MPI_SOURCE, status.MPI_TAG}] = receive.space.memory;
        }
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
