#include "runtime/communicators/strays.hpp"

#include "runtime/job/address_space.hpp"
#include "runtime/job/log.hpp"
#include "runtime/mpi/tags.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <sys/mman.h>

namespace nodeaware {

namespace {

/// Where strays come to, all of them in one place: address space, of which no more is taken than
/// comes. (Receives of a datatype that has all bytes come to a few leave memory behind in MPICH
/// where they are cancelled, which it says at the end.)
struct Forgotten {
    void* memory = nullptr;
    size_t bytes = 0;

    Forgotten() {
        constexpr size_t largest = (size_t{1} << 30) + (1 << 16); // a piece with its header
        constexpr size_t smallest = size_t{1} << 20;
        for (bytes = largest; memory == nullptr && bytes >= smallest; bytes /= 4) {
            if (!address_space::take(bytes)) { continue; }
            memory = address_space::map(bytes, MAP_PRIVATE | MAP_ANONYMOUS);
            if (memory != nullptr) { return; }
            address_space::give_back(bytes);
        }
    }
    void give_back_pages() const { madvise(memory, bytes, MADV_DONTNEED); }
};

const Forgotten& forgotten() {
    static const Forgotten forgotten;
    return forgotten;
}

} // namespace

void Strays::receive(uint32_t operation, const std::vector<int>& ranks) {
    constexpr size_t fewest = 4;
    const size_t of_a_rank = std::max(fewest, most_of_a_kind / ranks.size());
    try {
        for (const int rank : ranks) {
            for (size_t i = 0; i < of_a_rank; ++i) {
                begin(operation, rank, tags::of(tags::Kind::direct, operation));
                begin(operation, rank, tags::of(tags::Kind::piece, operation));
                if (i < fewest) {
                    begin(operation, rank, tags::of(tags::Kind::carrier, operation));
                }
            }
        }
    } catch (const MpiError& error) {
        log(LogLevel::info, "{}", error.what());
    } catch (const std::bad_alloc&) { log(LogLevel::info, "no memory to receive strays"); }
}

void Strays::begin(uint32_t operation, int source, int tag) {
    if (forgotten().memory == nullptr) { throw std::bad_alloc(); }
    receives_.push_back({operation, MPI_REQUEST_NULL});
    MPI_Request* const request = &receives_.back().request;
    const int code = mpi.Irecv(forgotten().memory, static_cast<int>(forgotten().bytes), MPI_BYTE,
                               source, tag, comm_, request);
    if (code == MPI_SUCCESS) { return; }
    receives_.pop_back();
    throw MpiError(code, "MPI_Irecv");
}

void Strays::end_before(uint32_t operation) {
    if (receives_.empty()) { return; }
    while (!receives_.empty() && receives_.front().operation < operation) {
        MPI_Request& request = receives_.front().request;
        int is_over = 0;
        // One that brings something just now goes on without a request.
        if (mpi.Cancel(&request) == MPI_SUCCESS &&
            mpi.Test(&request, &is_over, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_over == 0) {
            mpi.Request_free(&request);
        }
        receives_.pop_front();
    }
    if (receives_.empty()) { forgotten().give_back_pages(); }
}

} // namespace nodeaware
