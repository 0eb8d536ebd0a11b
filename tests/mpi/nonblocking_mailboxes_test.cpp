// nonblocking_mailboxes_test blocked | shared | freed | ahead
//
// Small messages of nonblocking operations, while ranks do something else than to wait for these.

#include "tests/mpi/harness.hpp"

#include <functional>
#include <memory>
#include <unistd.h>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr int tag = 7;

/// Bytes from one rank to another in an operation.
using Length = std::function<int(int number, int source, int destination)>;

int small(int number, int source, int destination) {
    return (number + source * 31 + destination * 17) % 200;
}

class Operation {
  public:
    Operation(MPI_Comm comm, int number, const Length& length) : number_(number) {
        int size = 0;
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size);
        int sent = 0;
        int received = 0;
        for (int peer = 0; peer < size; ++peer) {
            counts_.push_back(length(number, rank_, peer));
            places_.push_back(sent);
            sent += counts_.back();
            sent_.resize(static_cast<size_t>(sent), content(rank_, peer));
            received_counts_.push_back(length(number, peer, rank_));
            received_places_.push_back(received);
            received += received_counts_.back();
            expected_.resize(static_cast<size_t>(received), content(peer, rank_));
        }
        received_.resize(expected_.size());
        MPI_Ialltoallv(sent_.data(), counts_.data(), places_.data(), MPI_CHAR, received_.data(),
                       received_counts_.data(), received_places_.data(), MPI_CHAR, comm, &request_);
    }
    void wait() { MPI_Wait(&request_, MPI_STATUS_IGNORE); }
    bool is_right() const { return received_ == expected_; }

  private:
    char content(int source, int destination) const {
        return static_cast<char>(number_ * 31 + source * 7 + destination * 3);
    }

    int number_;
    int rank_ = 0;
    std::vector<int> counts_, places_, received_counts_, received_places_;
    std::vector<char> sent_, received_, expected_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Rank 0 sends to the last rank, and does not wait for that. Its mate begins when the last rank
/// has finished.
class Program {
  public:
    explicit Program(Harness& harness)
        : harness_(harness), rank_(harness.rank()), last_(harness.size() - 1), comm_(new_comm()) {
        MPI_Comm_split(MPI_COMM_WORLD, rank_ == 0 || rank_ == last_ ? 0 : 1, rank_, &pair_);
    }

    void blocked();
    void shared();
    void freed();
    void ahead();

  private:
    /// One on which operations are prepared.
    MPI_Comm new_comm() {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < 2; ++i) {
            finish(Operation(comm, i, small));
            MPI_Barrier(comm);
        }
        return comm;
    }
    void finish(Operation operation) {
        operation.wait();
        harness_.expect(operation.is_right(), "a wrong message came");
    }
    /// `elsewhere`: what rank 0 does meanwhile, until the last rank sends it a message; or both, if
    /// they `meet`.
    void operate(
        const std::function<void()>& elsewhere, bool meet = false,
        const std::function<void()>& before_mate = [] {}) {
        const auto one = [&](int /*number*/, int source, int destination) {
            return source == 0 && destination == last_ ? 100 : 0;
        };
        int word = 0;
        if (rank_ == 1) {
            MPI_Recv(&word, 1, MPI_INT, last_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            before_mate();
        }
        Operation operation(comm_, ++number_, one);
        if (rank_ == 0) { elsewhere(); }
        finish(std::move(operation));
        if (rank_ != last_) { return; }
        if (meet) {
            elsewhere();
        } else {
            MPI_Send(&word, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        }
        MPI_Send(&word, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    }

    Harness& harness_;
    int rank_;
    int last_;
    int number_ = 0;
    MPI_Comm comm_;
    MPI_Comm pair_ = MPI_COMM_NULL; ///< ranks 0 and last; the others
};

void Program::blocked() {
    int word = 0;
    const auto begin = [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&word, 1, MPI_INT, last_, tag, MPI_COMM_WORLD, &request);
        return request;
    };
    const auto receive = [&] {
        MPI_Recv(&word, 1, MPI_INT, last_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    };
    const std::vector<std::function<void()>> ways = {
        receive,
        [&] {
            MPI_Probe(last_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            receive();
        },
        [&] {
            int flag = 0;
            while (flag == 0) { MPI_Iprobe(last_, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); }
            receive();
        },
        [&] {
            MPI_Request request = begin();
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        },
        [&] {
            MPI_Request request = begin();
            int flag = 0;
            while (flag == 0) { MPI_Test(&request, &flag, MPI_STATUS_IGNORE); }
        },
        [&] {
            int sent = 0;
            MPI_Sendrecv(&sent, 1, MPI_INT, 0, tag + 1, &word, 1, MPI_INT, last_, tag,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&word, 1, MPI_INT, 0, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        },
    };
    for (int i = 0; i < 5; ++i) {
        for (const auto& way : ways) { operate(way); }
        operate([&] { MPI_Barrier(pair_); }, true);
        operate([&] { MPI_Allreduce(&rank_, &word, 1, MPI_INT, MPI_SUM, pair_); }, true);
        operate([&] { PMPI_Barrier(pair_); }, true);
    }
}

/// Rank 0 learns from memory that the last rank has finished.
void Program::shared() {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Win window = MPI_WIN_NULL;
    void* memory = nullptr;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int sharing = 0;
    MPI_Comm_size(node, &sharing);
    if (sharing <= last_) { harness_.skip("this MPI shares no memory"); }
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &memory, &window);
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window, 0, &bytes, &unit, &memory);
    auto* const flag = static_cast<int*>(memory);
    if (rank_ == 0) { *flag = 0; }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i <= 10; ++i) {
        const auto look = [&] {
            while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != i) { usleep(50); }
            int word = 0;
            MPI_Recv(&word, 1, MPI_INT, last_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        };
        operate(look, false, [&] { __atomic_store_n(flag, i, __ATOMIC_RELEASE); });
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
}

/// Communicators are freed while operations are under way, and ranks are blocked or late then.
void Program::freed() {
    for (int i = 0; i < 12; ++i) {
        MPI_Comm comm = new_comm();
        std::vector<std::unique_ptr<Operation>> operations;
        for (int k = 0; k < 5; ++k) {
            operations.push_back(std::make_unique<Operation>(comm, i + k, small));
        }
        MPI_Comm_free(&comm);
        if (i % harness_.size() == rank_) { usleep(20000); }
        int sum = 0;
        if (i % 3 == 0) { MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm_); }
        for (auto& operation : operations) { finish(std::move(*operation)); }
    }
}

/// Ranks begin many operations while one of them is outside; the last are waited for first.
void Program::ahead() {
    for (int turn = 0; turn < 2; ++turn) {
        if (rank_ == (turn == 0 ? 1 : last_)) { usleep(200000); }
        std::vector<std::unique_ptr<Operation>> operations;
        for (int i = 0; i < 1000; ++i) {
            operations.push_back(std::make_unique<Operation>(comm_, i, small));
        }
        for (size_t i = operations.size(); i > 0; --i) { finish(std::move(*operations[i - 1])); }
        MPI_Barrier(pair_);
    }
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    const std::string what = argc > 1 ? argv[1] : "";
    Program program(harness);
    if (what == "blocked") { program.blocked(); }
    if (what == "shared") { program.shared(); }
    if (what == "freed") { program.freed(); }
    if (what == "ahead") { program.ahead(); }
    return harness.finish();
}
