// Calls every collective that is recorded and never rerouted, and says what each rank passes to it,
// for trace_test to compare with the trace: lines of rank, function, ranks that messages may go to,
// and RANK:BYTES of all that get something (-1: each one).

#include "tests/mpi/harness.hpp"
#include "tests/mpi/page.hpp"

#include <string>
#include <vector>

namespace {

using nodeaware::test::Harness;
using nodeaware::test::Page;

constexpr int root = 2;

class Program {
  public:
    Program(int* argc, char*** argv)
        : harness_(argc, argv), size_(harness_.size()), rank_(harness_.rank()),
          sent_(static_cast<size_t>(100 * size_)), received_(sent_.size()),
          counts_(static_cast<size_t>(size_)), places_(counts_.size()) {
        for (int i = 0; i < size_; ++i) {
            counts_[static_cast<size_t>(i)] = i; // rank 0 has nothing
            places_[static_cast<size_t>(i)] = 10 * i;
        }
    }

    void rooted() {
        MPI_Bcast(sent_.data(), 3, MPI_INT, root, world_);
        expect("Bcast", is_root() ? to(-1, 12) : "");
        MPI_Reduce(sent_.data(), received_.data(), 2, MPI_INT, MPI_SUM, root, world_);
        expect("Reduce", to(root, 8));
        // Of another size, so that it is told apart from the one before.
        const void* const in_place = is_root() ? MPI_IN_PLACE : sent_.data();
        MPI_Reduce(in_place, received_.data(), 5, MPI_INT, MPI_SUM, root, world_);
        expect("Reduce", to(root, 20));
        MPI_Gather(sent_.data(), 4, MPI_INT, received_.data(), 4, MPI_INT, root, world_);
        expect("Gather", to(root, 16));
        // The root's own count and datatype are not read.
        MPI_Gather(in_place, is_root() ? -1 : 6, is_root() ? MPI_DATATYPE_NULL : MPI_INT,
                   received_.data(), 6, MPI_INT, root, world_);
        expect("Gather", to(root, 24));
        MPI_Gatherv(sent_.data(), rank_, MPI_INT, received_.data(), counts_.data(), places_.data(),
                    MPI_INT, root, world_);
        expect("Gatherv", to(root, 4 * rank_));
        MPI_Scatter(sent_.data(), 7, MPI_INT, received_.data(), 7, MPI_INT, root, world_);
        expect("Scatter", is_root() ? to(-1, 28) : "");
        MPI_Scatterv(sent_.data(), counts_.data(), places_.data(), MPI_INT, received_.data(), rank_,
                     MPI_INT, root, world_);
        expect("Scatterv", is_root() ? each(4) : "");
    }

    void of_all() {
        MPI_Barrier(world_);
        MPI_Allreduce(sent_.data(), received_.data(), 2, MPI_DOUBLE_INT, MPI_MAXLOC, world_);
        expect("Allreduce", to(-1, 24));
        MPI_Allgather(sent_.data(), 2, MPI_INT, received_.data(), 2, MPI_INT, world_);
        expect("Allgather", to(-1, 8));
        MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, received_.data(), 9, MPI_INT, world_);
        expect("Allgather", to(-1, 36));
        MPI_Allgatherv(sent_.data(), rank_, MPI_INT, received_.data(), counts_.data(),
                       places_.data(), MPI_INT, world_);
        MPI_Allgatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, received_.data(), counts_.data(),
                       places_.data(), MPI_INT, world_);
        expect("Allgatherv", to(-1, 4 * rank_), 2); // the same
        MPI_Scan(sent_.data(), received_.data(), 1, MPI_INT, MPI_SUM, world_);
        expect("Scan", behind(4));
        MPI_Exscan(sent_.data(), received_.data(), 2, MPI_INT, MPI_SUM, world_);
        expect("Exscan", behind(8));
        MPI_Reduce_scatter(sent_.data(), received_.data(), counts_.data(), MPI_INT, MPI_SUM,
                           world_);
        expect("Reduce_scatter", each(4));
        MPI_Reduce_scatter_block(sent_.data(), received_.data(), 3, MPI_INT, MPI_SUM, world_);
        expect("Reduce_scatter_block", to(-1, 12));
    }

    void begun() {
        std::vector<MPI_Request> requests(4, MPI_REQUEST_NULL);
        MPI_Ibarrier(world_, &requests[0]);
        MPI_Ibcast(sent_.data(), 3, MPI_INT, root, world_, &requests[1]);
        expect("Ibcast", is_root() ? to(-1, 12) : "");
        MPI_Igatherv(sent_.data(), rank_, MPI_INT, received_.data(), counts_.data(), places_.data(),
                     MPI_INT, root, world_, &requests[2]);
        expect("Igatherv", to(root, 4 * rank_));
        int all = 0;
        MPI_Iallreduce(&rank_, &all, 1, MPI_INT, MPI_SUM, world_, &requests[3]);
        expect("Iallreduce", to(-1, 4));
        MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iscatterv(sent_.data(), counts_.data(), places_.data(), MPI_INT, received_.data(),
                      rank_, MPI_INT, root, world_, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect("Iscatterv", is_root() ? each(4) : "");
    }

    /// The ranks of the first half pass to those of the other, and get from them.
    void between_groups() {
        const int firsts = 2; // and four others
        const bool is_first = rank_ < firsts;
        MPI_Comm half = MPI_COMM_NULL;
        MPI_Comm both = MPI_COMM_NULL;
        MPI_Comm_split(world_, is_first ? 0 : 1, 0, &half);
        MPI_Intercomm_create(half, 0, world_, is_first ? firsts : 0, 1, &both);
        const int others = is_first ? size_ - firsts : firsts;
        const int here = rank_ == 0 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Bcast(sent_.data(), 5, MPI_INT, is_first ? here : 0, both);
        expect("Bcast", rank_ == 0 ? to(-1, 20) : "", 1, others);
        MPI_Gather(sent_.data(), 3, MPI_INT, received_.data(), 3, MPI_INT, is_first ? here : 0,
                   both);
        expect("Gather", is_first ? "" : to(0, 12), 1, others);
        MPI_Allreduce(sent_.data(), received_.data(), 3, MPI_INT, MPI_SUM, both);
        expect("Allreduce", to(-1, 12), 1, others);
        // As many counts as this group has ranks, in all as many as the other group has.
        const int here_size = size_ - others;
        const Page counts(static_cast<size_t>(here_size));
        for (int i = 0; i < here_size; ++i) { counts.first()[i] = 12 / here_size; }
        MPI_Reduce_scatter(sent_.data(), received_.data(), counts.first(), MPI_INT, MPI_SUM, both);
        MPI_Reduce_scatter_block(sent_.data(), received_.data(), 12 / here_size, MPI_INT, MPI_SUM,
                                 both); // how the others share is not told
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }

    int finish() { return harness_.finish(); }

  private:
    bool is_root() const { return rank_ == root; }
    static std::string to(int rank, int bytes) {
        return bytes > 0 ? " " + std::to_string(rank) + ":" + std::to_string(bytes) : "";
    }
    std::string each(int bytes) const {
        std::string list;
        for (int i = 0; i < size_; ++i) { list += to(i, bytes * counts_[static_cast<size_t>(i)]); }
        return list;
    }
    std::string behind(int bytes) const {
        std::string list;
        for (int i = rank_ + 1; i < size_; ++i) { list += to(i, bytes); }
        return list;
    }
    void expect(const char* function, const std::string& list, int calls = 1,
                int others = 0) const {
        if (list.empty()) { return; }
        std::printf("passed %d MPI_%s %d of %d%s\n", rank_, function, calls,
                    others > 0 ? others : size_, list.c_str());
    }

    Harness harness_;
    const MPI_Comm world_ = MPI_COMM_WORLD;
    const int size_;
    const int rank_;
    std::vector<int> sent_;
    std::vector<int> received_;
    std::vector<int> counts_;
    std::vector<int> places_;
};

} // namespace

int main(int argc, char** argv) {
    Program program(&argc, &argv);
    program.rooted();
    program.of_all();
    program.begun();
    program.between_groups();
    return program.finish();
}
