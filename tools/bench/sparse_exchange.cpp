#include "sparse_exchange.hpp"

#include "program.hpp"
#include "runtime/core/nodeaware.h"

#include <algorithm>
#include <dlfcn.h>
#include <sched.h>

namespace bench {
namespace {

struct Functions {
    decltype(&nodeaware_alltoall_sparse_v) exchange = nullptr;
    decltype(&nodeaware_free) free = nullptr;
};

// The part of the library for one MPI, which the preloaded one opens for itself only.
void* opened_library() {
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
    return dlopen("libnodeaware-abi.so", RTLD_LAZY | RTLD_NOLOAD);
#elif defined(OPEN_MPI)
    return dlopen("libnodeaware-openmpi.so", RTLD_LAZY | RTLD_NOLOAD);
#else
    return dlopen("libnodeaware-mpich.so", RTLD_LAZY | RTLD_NOLOAD);
#endif
}

Functions functions_in(void* library) {
    return {reinterpret_cast<decltype(Functions::exchange)>(
                dlsym(library, "nodeaware_alltoall_sparse_v")),
            reinterpret_cast<decltype(Functions::free)>(dlsym(library, "nodeaware_free"))};
}

Functions find_functions() {
    const Functions linked = functions_in(RTLD_DEFAULT);
    if (linked.exchange != nullptr && linked.free != nullptr) return linked;
    void* const library = opened_library(); // and stays so
    return library == nullptr ? Functions{} : functions_in(library);
}

const Functions& functions() {
    static const Functions found = find_functions();
    return found;
}

// A round in which nothing has come: another rank of the core may have to send it first.
void pause_after(int rounds) {
    constexpr int yields = 2000;
    constexpr double nap = 20e-6;
    if (rounds < yields) {
        sched_yield();
    } else {
        sleep_until(now() + nap);
    }
}

} // namespace

bool has_sparse_functions(MPI_Comm comm) {
    const int mine = functions().exchange != nullptr && functions().free != nullptr ? 1 : 0;
    int all = 0;
    check(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    return all != 0;
}

SparseExchange::SparseExchange(const Form& form, MPI_Comm comm, Buffers& buffers)
    : is_native_(&form == &native_form), comm_(comm), buffers_(&buffers) {
    // Never null pointers, though a rank may send nothing.
    for (std::vector<int>* list : {&destinations_, &counts_, &displacements_})
        list->reserve(buffers.sends().size() + 1);
    requests_.reserve(buffers.sends().size() + 1);
    for (const Block& block : buffers.sends()) {
        destinations_.push_back(block.peer);
        counts_.push_back(block.bytes);
        displacements_.push_back(block.offset);
        send_size_ = std::max(send_size_, block.offset + block.bytes);
    }
}

void SparseExchange::run() {
    if (is_native_) {
        run_natively();
    } else {
        run_by_library();
    }
}

// Synchronous sends tell that what was sent has been received, a barrier that this holds on all
// ranks. A rank may begin the next call while another still probes, but not the one after that.
void SparseExchange::run_natively() {
    const int tag = ++calls_ % 2;
    requests_.assign(destinations_.size(), MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < destinations_.size(); ++i) {
        check(PMPI_Issend(buffers_->send_data() + displacements_[i], counts_[i], MPI_BYTE,
                          destinations_[i], tag, comm_, &requests_[i]),
              "Issend");
    }
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool has_begun_barrier = false;
    for (int rounds = 0;; ++rounds) {
        while (receive_one(tag)) rounds = 0;
        int over = 0;
        if (has_begun_barrier) {
            check(PMPI_Test(&barrier, &over, MPI_STATUS_IGNORE), "Test");
            if (over != 0) break;
        } else {
            check(PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &over,
                               MPI_STATUSES_IGNORE),
                  "Testall");
            if (over != 0) {
                check(PMPI_Ibarrier(comm_, &barrier), "Ibarrier");
                has_begun_barrier = true;
            }
        }
        pause_after(rounds);
    }
}

bool SparseExchange::receive_one(int tag) {
    MPI_Status status;
    int found = 0;
    check(PMPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &found, &status), "Iprobe");
    if (found == 0) return false;
    int bytes = 0;
    check(PMPI_Get_count(&status, MPI_BYTE, &bytes), "Get_count");
    auto& memory = arrivals_.memory.emplace_back(static_cast<std::size_t>(bytes));
    check(
        PMPI_Recv(memory.data(), bytes, MPI_BYTE, status.MPI_SOURCE, tag, comm_, MPI_STATUS_IGNORE),
        "Recv");
    arrivals_.messages.push_back({status.MPI_SOURCE, bytes, memory.data()});
    return true;
}

void SparseExchange::run_by_library() {
    check(functions().exchange(static_cast<int>(destinations_.size()), send_size_,
                               destinations_.data(), counts_.data(), displacements_.data(),
                               MPI_BYTE, buffers_->send_data(), &given_.messages, &given_.bytes,
                               &given_.sources, &given_.counts, &given_.displacements, MPI_BYTE,
                               &given_.data, comm_),
          "nodeaware_alltoall_sparse_v");
}

void SparseExchange::deliver() {
    for (int i = 0; i < given_.messages; ++i) {
        arrivals_.messages.push_back(
            {given_.sources[i], given_.counts[i],
             static_cast<const unsigned char*>(given_.data) + given_.displacements[i]});
    }
    buffers_->take(arrivals_.messages);
    arrivals_ = {};
    if (is_native_) return;
    for (void* memory : {static_cast<void*>(given_.sources), static_cast<void*>(given_.counts),
                         static_cast<void*>(given_.displacements), given_.data})
        check(functions().free(memory), "nodeaware_free");
    given_ = {};
}

} // namespace bench
