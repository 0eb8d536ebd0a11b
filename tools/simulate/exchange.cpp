#include "tools/simulate/exchange.hpp"

#include "runtime/core/nodeaware.h"
#include "runtime/mpi/mpi.hpp"
#include "tools/simulate/virtual_time.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace nodeaware::simulation {

namespace {

using bench::Block;
using bench::Buffers;

void check(int code, const char* function) {
    if (code != MPI_SUCCESS) { throw MpiError(code, function); }
}

class Alltoallv : public Exchange {
  public:
    Alltoallv(Rank& rank, Buffers& buffers, int ranks) : rank_(rank), buffers_(buffers) {
        fill(buffers.sends(), ranks, lists_.sent_counts, lists_.sent_places);
        fill(buffers.receives(), ranks, lists_.received_counts, lists_.received_places);
    }
    void run() override { rank_.alltoallv(buffers_.send_data(), lists_, buffers_.receive_data()); }

  private:
    static void fill(const std::vector<Block>& blocks, int ranks, std::vector<int>& counts,
                     std::vector<int>& places) {
        counts.assign(static_cast<size_t>(ranks), 0);
        places.assign(static_cast<size_t>(ranks), 0);
        for (const Block& block : blocks) {
            counts[static_cast<size_t>(block.peer)] = block.bytes;
            places[static_cast<size_t>(block.peer)] = block.offset;
        }
    }

    Rank& rank_;
    Buffers& buffers_;
    Rank::Lists lists_;
};

/// MPI_Irecv, MPI_Isend, MPI_Waitall.
class Messages : public Exchange {
  public:
    Messages(Rank& rank, Buffers& buffers) : rank_(rank), buffers_(buffers) {}
    void run() override {
        constexpr int tag = 7;
        std::vector<MPI_Request> requests(buffers_.receives().size() + buffers_.sends().size());
        MPI_Request* next = requests.data();
        for (const Block& block : buffers_.receives()) {
            rank_.irecv(buffers_.receive_data() + block.offset, block.bytes, block.peer, tag,
                        next++);
        }
        for (const Block& block : buffers_.sends()) {
            rank_.isend(buffers_.send_data() + block.offset, block.bytes, block.peer, tag, next++);
        }
        rank_.waitall(requests);
    }

  private:
    Rank& rank_;
    Buffers& buffers_;
};

/// What has come to a rank that did not know what would.
class Arrivals {
  public:
    void receive(const MPI_Status& status, MPI_Comm comm) {
        int bytes = 0;
        check(PMPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
        auto& memory = memory_.emplace_back(static_cast<size_t>(bytes));
        check(PMPI_Recv(memory.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm,
                        MPI_STATUS_IGNORE),
              "MPI_Recv");
        messages_.push_back({status.MPI_SOURCE, bytes, memory.data()});
    }
    void deliver(Buffers& buffers) {
        buffers.take(messages_);
        messages_.clear();
        memory_.clear();
    }

  private:
    std::vector<bench::Arrived> messages_;
    std::vector<std::vector<unsigned char>> memory_;
};

/// By a reduction, from which each rank knows how many messages come, and MPI_Isend, MPI_Iprobe and
/// MPI_Recv.
class NativeSparse : public Exchange {
  public:
    NativeSparse(Buffers& buffers, int ranks)
        : buffers_(buffers), counts_(static_cast<size_t>(ranks)) {
        // SMPI cannot probe on MPI_COMM_WORLD itself.
        check(PMPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
        check(PMPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    }
    ~NativeSparse() override { PMPI_Comm_free(&comm_); }
    NativeSparse(const NativeSparse&) = delete;
    NativeSparse& operator=(const NativeSparse&) = delete;

    void run() override {
        const int tag = 20 + ++calls_ % 2; // a rank may be one call ahead of another
        std::fill(counts_.begin(), counts_.end(), 0);
        for (const Block& block : buffers_.sends()) { ++counts_[static_cast<size_t>(block.peer)]; }
        check(mpi.Allreduce(MPI_IN_PLACE, counts_.data(), static_cast<int>(counts_.size()), MPI_INT,
                            MPI_SUM, comm_),
              "MPI_Allreduce");
        std::vector<MPI_Request> sends;
        for (const Block& block : buffers_.sends()) {
            sends.emplace_back();
            check(mpi.Isend(buffers_.send_data() + block.offset, block.bytes, MPI_BYTE, block.peer,
                            tag, comm_, &sends.back()),
                  "MPI_Isend");
        }
        for (int left = counts_[static_cast<size_t>(rank_)]; left > 0;) {
            const int received = receive_all(tag);
            left -= received;
            if (received == 0) { virtual_time::pause(); }
        }
        check(mpi.Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
    }
    void deliver() override { arrivals_.deliver(buffers_); }

  private:
    /// That have come; returns their number.
    int receive_all(int tag) {
        for (int received = 0;; ++received) {
            MPI_Status status;
            int found = 0;
            check(PMPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &found, &status), "MPI_Iprobe");
            if (found == 0) { return received; }
            arrivals_.receive(status, comm_);
        }
    }

    Buffers& buffers_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    Arrivals arrivals_;
    int calls_ = 0;
    std::vector<int> counts_; ///< messages for each rank
};

/// By the library's function.
class OwnSparse : public Exchange {
  public:
    OwnSparse(Rank& rank, Buffers& buffers)
        : buffers_(buffers), exchange_(reinterpret_cast<decltype(exchange_)>(
                                 rank.own_function("nodeaware_alltoall_sparse_v"))),
          free_(reinterpret_cast<decltype(free_)>(rank.own_function("nodeaware_free"))) {
        if (exchange_ == nullptr || free_ == nullptr) {
            throw std::runtime_error("the core has no nodeaware_alltoall_sparse_v");
        }
        // Never null pointers, though a rank may send nothing.
        for (std::vector<int>* list : {&destinations_, &counts_, &places_}) {
            list->reserve(buffers.sends().size() + 1);
        }
        for (const Block& block : buffers.sends()) {
            destinations_.push_back(block.peer);
            counts_.push_back(block.bytes);
            places_.push_back(block.offset);
            size_ = std::max(size_, block.offset + block.bytes);
        }
    }
    void run() override {
        virtual_time::note_progress();
        check(exchange_(static_cast<int>(destinations_.size()), size_, destinations_.data(),
                        counts_.data(), places_.data(), MPI_BYTE, buffers_.send_data(), &messages_,
                        &bytes_, &sources_, &received_counts_, &received_places_, MPI_BYTE, &data_,
                        MPI_COMM_WORLD),
              "nodeaware_alltoall_sparse_v");
        virtual_time::before_call();
    }
    void deliver() override {
        std::vector<bench::Arrived> arrived;
        arrived.reserve(static_cast<size_t>(messages_));
        for (int i = 0; i < messages_; ++i) {
            arrived.push_back({sources_[i], received_counts_[i],
                               static_cast<const unsigned char*>(data_) + received_places_[i]});
        }
        buffers_.take(arrived);
        for (void* const memory :
             {static_cast<void*>(sources_), static_cast<void*>(received_counts_),
              static_cast<void*>(received_places_), data_}) {
            check(free_(memory), "nodeaware_free");
        }
    }

  private:
    Buffers& buffers_;
    decltype(&nodeaware_alltoall_sparse_v) exchange_;
    decltype(&nodeaware_free) free_;
    std::vector<int> destinations_, counts_, places_;
    int size_ = 0;
    int messages_ = 0;
    int bytes_ = 0;
    int* sources_ = nullptr;
    int* received_counts_ = nullptr;
    int* received_places_ = nullptr;
    void* data_ = nullptr;
};

} // namespace

std::unique_ptr<Exchange> make_exchange(std::string_view operation, Rank& rank, Buffers& buffers,
                                        int ranks) {
    if (operation == "alltoallv") { return std::make_unique<Alltoallv>(rank, buffers, ranks); }
    if (operation == "p2p") { return std::make_unique<Messages>(rank, buffers); }
    if (operation != "sdde") { throw std::logic_error("no such operation"); }
    if (!rank.has_core()) { return std::make_unique<NativeSparse>(buffers, ranks); }
    return std::make_unique<OwnSparse>(rank, buffers);
}

} // namespace nodeaware::simulation
