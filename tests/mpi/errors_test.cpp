// Counts that do not match: MPI_Alltoallv must return an error at the rank whose receive is too
// small, write nothing beyond what that rank asked for, and not hang; what follows must work. Where
// a rank gets less than it expects, plain MPI is content; the library may call it an error.

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr char canary = 0x5a;

char content(int source, int destination, int i) {
    return static_cast<char>(source * 31 + destination * 7 + i);
}

class Errors {
  public:
    explicit Errors(Harness& harness) : harness_(harness), size_(harness.size()) {}

    /// Rank `source` sends `sent` bytes to rank `destination`, which expects `expected`; all others
    /// exchange `others`.
    void mismatch(int source, int destination, int sent, int expected, int others) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        prepare(others);
        if (harness_.rank() == source) { send_counts_[static_cast<size_t>(destination)] = sent; }
        if (harness_.rank() == destination) {
            receive_counts_[static_cast<size_t>(source)] = expected;
        }
        const int code = exchange(comm);
        const std::string what =
            "sent " + std::to_string(sent) + ", expected " + std::to_string(expected) + " bytes: ";
        if (code != MPI_SUCCESS) {
            int error_class = MPI_SUCCESS;
            MPI_Error_class(code, &error_class);
            harness_.expect(error_class == MPI_ERR_TRUNCATE,
                            what + "error class " + std::to_string(error_class));
        }
        if (harness_.rank() == destination) {
            harness_.expect(sent <= expected || code != MPI_SUCCESS,
                            what + "no error at the destination");
        }
        check_canaries(what);
        MPI_Barrier(comm); // who has left waits in MPI for those that still send
        MPI_Comm_free(&comm);
        correct_exchange(MPI_COMM_WORLD, what + "next exchange");
    }

    void correct_exchange(MPI_Comm comm, const std::string& what) {
        prepare(100);
        harness_.expect(exchange(comm) == MPI_SUCCESS, what + " failed");
        check_canaries(what);
        for (int source = 0; source < size_; ++source) {
            const char* block = received_.data() + offsets_[static_cast<size_t>(source)];
            for (int i = 0; i < 100; ++i) {
                if (block[i] == content(source, harness_.rank(), i)) { continue; }
                harness_.expect(false, what + ": wrong data");
                return;
            }
        }
    }

  private:
    void prepare(int bytes) {
        send_counts_.assign(static_cast<size_t>(size_), bytes);
        receive_counts_ = send_counts_;
    }

    int exchange(MPI_Comm comm) {
        std::vector<int> send_offsets;
        std::vector<char> sent;
        offsets_.clear();
        int next = 64;
        for (int peer = 0; peer < size_; ++peer) {
            send_offsets.push_back(static_cast<int>(sent.size()));
            for (int i = 0; i < send_counts_[static_cast<size_t>(peer)]; ++i) {
                sent.push_back(content(harness_.rank(), peer, i));
            }
            offsets_.push_back(next);
            next += receive_counts_[static_cast<size_t>(peer)] + 64;
        }
        received_.assign(static_cast<size_t>(next), canary);
        return MPI_Alltoallv(sent.data(), send_counts_.data(), send_offsets.data(), MPI_CHAR,
                             received_.data(), receive_counts_.data(), offsets_.data(), MPI_CHAR,
                             comm);
    }

    void check_canaries(const std::string& what) {
        int at = 0;
        for (int peer = 0; peer <= size_; ++peer) {
            const int end = peer < size_ ? offsets_[static_cast<size_t>(peer)]
                                         : static_cast<int>(received_.size());
            const bool intact = std::all_of(received_.begin() + at, received_.begin() + end,
                                            [](char c) { return c == canary; });
            harness_.expect(intact, what + "written beside a block");
            if (peer < size_) { at = end + receive_counts_[static_cast<size_t>(peer)]; }
        }
    }

    Harness& harness_;
    int size_;
    std::vector<int> send_counts_;
    std::vector<int> receive_counts_;
    std::vector<int> offsets_;
    std::vector<char> received_;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    Errors errors(harness);
    const int last = harness.size() - 1;
    errors.correct_exchange(MPI_COMM_WORLD, "first exchange");
    errors.mismatch(0, last, 100, 99, 100);
    errors.mismatch(last, 0, 100, 99, 0);
    errors.mismatch(0, 1, 100, 50, 10); // on one node, where there is more than one rank on it
    errors.mismatch(1, last, 50, 100, 100);
    errors.mismatch(0, last, 200000, 1000,
                    500); // large for one, small for the other: different paths
    errors.mismatch(0, last, 200000, 1000, 0);
    errors.mismatch(0, last, 1000, 200000, 500);
    errors.mismatch(last, 0, 300000, 150000, 0);
    errors.mismatch(0, last, 60000, 8000, 20000); // different numbers of pieces
    return harness.finish();
}
