// Ranks that begin many operations before others begin the first, and then block where others wait
// for these operations first: nobody may need them again, and no operation may be taken for
// another.

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <unistd.h>
#include <vector>

namespace nodeaware::test {

namespace {

/// So many operations, each of so many ints to the ranks at these distances.
struct Series {
    const char* name;
    int operations;
    int ints;
    std::vector<int> distances;
};

/// The messages of a series under way.
class Operations {
  public:
    Operations(Harness& harness, const Series& series, MPI_Comm comm)
        : harness_(harness), series_(series), comm_(comm),
          requests_(static_cast<size_t>(series.operations), MPI_REQUEST_NULL),
          sent_(distinct_ * bytes_of_one()), received_(requests_.size() * bytes_of_one(), -1) {
        for (size_t i = 0; i < sent_.size(); ++i) {
            sent_[i] = value(harness.rank(), static_cast<int>(i));
        }
        const auto size = static_cast<size_t>(harness.size());
        for (auto* list : {&send_counts_, &receive_counts_, &send_at_, &receive_at_}) {
            list->assign(size, 0);
        }
        for (size_t k = 0; k < series.distances.size(); ++k) {
            const int at = static_cast<int>(k) * series.ints;
            const auto to = static_cast<size_t>(peer(series.distances[k]));
            const auto from = static_cast<size_t>(peer(-series.distances[k]));
            send_counts_[to] = receive_counts_[from] = series.ints;
            send_at_[to] = receive_at_[from] = at;
        }
    }

    /// Begins operations up to this number.
    void begin(int end) {
        for (; begun_ < end; ++begun_) {
            const auto i = static_cast<size_t>(begun_);
            MPI_Ialltoallv(&sent_[i % distinct_ * bytes_of_one()], send_counts_.data(),
                           send_at_.data(), MPI_INT, &received_[i * bytes_of_one()],
                           receive_counts_.data(), receive_at_.data(), MPI_INT, comm_,
                           &requests_[i]);
        }
    }

    void begin_all() { begin(series_.operations); }

    void wait_and_check() {
        MPI_Waitall(series_.operations, requests_.data(), MPI_STATUSES_IGNORE);
        int wrong = 0;
        for (size_t i = 0; i < received_.size(); ++i) {
            const size_t in_one = i % bytes_of_one();
            const int distance = series_.distances[in_one / static_cast<size_t>(series_.ints)];
            const size_t operation = i / bytes_of_one();
            const auto place = static_cast<int>(operation % distinct_ * bytes_of_one() + in_one);
            wrong += received_[i] == value(peer(-distance), place) ? 0 : 1;
        }
        harness_.expect(wrong == 0, std::string(series_.name) + ": " + std::to_string(wrong) +
                                        " wrong numbers");
    }

  private:
    static int value(int source, int place) { return source * 100000000 + place; }
    int peer(int distance) const {
        return (harness_.rank() + distance + harness_.size()) % harness_.size();
    }
    size_t bytes_of_one() const {
        return series_.distances.size() * static_cast<size_t>(series_.ints);
    }

    Harness& harness_;
    const Series& series_;
    MPI_Comm comm_;
    /// Operations that send different things.
    const size_t distinct_ =
        std::clamp<size_t>(1000000 / bytes_of_one(), 4, static_cast<size_t>(series_.operations));
    std::vector<MPI_Request> requests_;
    std::vector<int> sent_;
    std::vector<int> received_;
    std::vector<int> send_counts_;
    std::vector<int> receive_counts_;
    std::vector<int> send_at_;
    std::vector<int> receive_at_;
    int begun_ = 0;
};

/// Every other rank begins all before the next one begins the first, and blocks until the others
/// have completed all: in a barrier of another communicator, or for a message.
void run_ahead(Harness& harness, const Series& series, MPI_Comm other, int round) {
    Operations operations(harness, series, MPI_COMM_WORLD);
    const int size = harness.size();
    const int next = (harness.rank() + 1) % size;
    const int previous = (harness.rank() + size - 1) % size;
    const bool is_ahead = (harness.rank() + round) % 2 == 0;
    const bool by_message = round / 2 % 2 == 1;
    if (is_ahead) {
        operations.begin_all();
        MPI_Send(nullptr, 0, MPI_INT, next, 0, other);
        if (by_message) {
            MPI_Recv(nullptr, 0, MPI_INT, next, 0, other, MPI_STATUS_IGNORE);
        } else {
            MPI_Barrier(other);
        }
        operations.wait_and_check();
    } else {
        MPI_Recv(nullptr, 0, MPI_INT, previous, 0, other, MPI_STATUS_IGNORE);
        operations.begin_all();
        operations.wait_and_check();
        if (by_message) {
            MPI_Send(nullptr, 0, MPI_INT, previous, 0, other);
        } else {
            MPI_Barrier(other);
        }
    }
}

/// The first operations are sent by one rank, which then leaves MPI alone for a while, the others
/// by another one; on the other node nobody receives yet.
void run_overtaken(Harness& harness, const Series& series, MPI_Comm other) {
    Operations operations(harness, series, MPI_COMM_WORLD);
    const int slow = 0;
    const int fast = 1;
    if (harness.rank() == slow) {
        usleep(30000);
        operations.begin_all();
        MPI_Send(nullptr, 0, MPI_INT, fast, 0, other);
        usleep(300000);
    } else if (harness.rank() == fast) {
        operations.begin(series.operations / 2);
        MPI_Recv(nullptr, 0, MPI_INT, slow, 0, other, MPI_STATUS_IGNORE);
    } else if (harness.rank() >= harness.size() / 2) {
        usleep(150000);
    }
    operations.begin_all();
    operations.wait_and_check();
}

/// Blocking exchanges between the first two thirds of the ranks, of which the first send to the
/// last third, too, once there have been as many as have tags of their own. The last are slow to
/// begin.
void run_blocking(Harness& harness) {
    constexpr int operations = 8184;
    const int third = harness.size() / 3;
    const int part = harness.rank() / third;
    const std::vector<int> at(static_cast<size_t>(harness.size()));
    const auto counts_of = [&](int from, int distance) {
        std::vector<int> counts(at.size());
        if (part == from) { counts[static_cast<size_t>(harness.rank() + distance * third)] = 1; }
        return counts;
    };
    if (harness.rank() == harness.size() - 1) { sleep(5); }
    int wrong = 0;
    const auto exchange = [&](int number, int from, int to) {
        const std::vector<int> sends = counts_of(from, to - from);
        const std::vector<int> receives = counts_of(to, from - to);
        int received = -1;
        MPI_Alltoallv(&number, sends.data(), at.data(), MPI_INT, &received, receives.data(),
                      at.data(), MPI_INT, MPI_COMM_WORLD);
        wrong += received == (part == to ? number : -1) ? 0 : 1;
    };
    for (int i = 0; i < operations; ++i) { exchange(i, i % 2, 1 - i % 2); }
    for (int i = 0; i < 16; ++i) { exchange(i, 0, 2); }
    harness.expect(wrong == 0, "blocking: " + std::to_string(wrong) + " wrong numbers");
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    const std::vector<int> all = {0, 1, 2, 3, 4, 5};
    const Series small{"small", 200, 1, {0, 1, 2, 3, 4, 5}};
    const Series gathered{"gathered", 60, 1000, {2, 3, 4}};
    const Series direct{"direct", 40, 1 << 18, {1, 3}};
    const Series many{"many", 3000, 1, {1, 3}};
    const std::string only = argc > 1 ? argv[1] : "";
    if (only == "blocking") {
        run_blocking(harness);
        MPI_Comm_free(&other);
        return harness.finish();
    }
    for (int round = 0; round < 4; ++round) {
        run_ahead(harness, small, other, round);
        run_ahead(harness, gathered, other, round);
    }
    if (only != "gathered") {
        run_ahead(harness, direct, other, 0);
        run_ahead(harness, direct, other, 3);
        run_ahead(harness, many, other, 1);
        run_ahead(harness, many, other, 2);
        run_overtaken(harness, {"overtaken", 128, 1, {3}}, other);
        run_overtaken(harness, {"overtaken", 128, 1000, {3}}, other);
    }
    MPI_Comm_free(&other);
    return harness.finish();
}
