// nbx_test ROUNDS SEED
//
// What programs do that know to whom they send but not what they will receive: synchronous sends,
// receives of whatever comes, and a nonblocking barrier that each rank enters when its sends are
// complete. Every round has other destinations, another tag and one of several communicators; what
// comes is found by MPI_Iprobe, or by a receive from anyone that is posted, and cancelled in the
// end. Every rank knows all that is sent, and so all that it must get.

#include "tests/mpi/harness.hpp"

#include <algorithm>
#include <array>
#include <sched.h>
#include <string>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr int most_numbers = 3000;

struct Message {
    int source;
    int destination;
    std::vector<int> numbers;
};

/// All of a round, each rank's in the order in which it sends them.
std::vector<Message> draw_messages(Random& random, int ranks) {
    std::vector<Message> messages;
    const bool has_large = draw(random, 0, 15) == 0;
    for (int source = 0; source < ranks; ++source) {
        const int count = draw(random, 0, 4);
        int destination = 0;
        for (int i = 0; i < count; ++i) {
            // Some several times in turn.
            if (i == 0 || draw(random, 0, 3) != 0) { destination = draw(random, 0, ranks - 1); }
            const bool is_large = has_large && draw(random, 0, 2) == 0;
            const int numbers = draw(random, 0, is_large ? most_numbers : 8);
            messages.push_back({source, destination, {}});
            for (int k = 0; k < numbers; ++k) {
                messages.back().numbers.push_back(draw(random, 0, 1 << 30));
            }
        }
    }
    return messages;
}

class Round {
  public:
    Round(Harness& harness, MPI_Comm comm, int tag, const std::vector<Message>& messages,
          const std::string& name)
        : harness_(harness), comm_(comm), tag_(tag), messages_(messages), name_(name),
          received_(most_numbers) {
        PMPI_Comm_rank(comm, &rank_);
        PMPI_Comm_size(comm, &ranks_);
        next_.resize(static_cast<size_t>(ranks_));
    }

    void run(bool is_posted) {
        for (const Message& message : messages_) {
            if (message.source != rank_) { continue; }
            sends_.push_back(MPI_REQUEST_NULL);
            MPI_Issend(message.numbers.data(), static_cast<int>(message.numbers.size()), MPI_INT,
                       message.destination, tag_, comm_, &sends_.back());
        }
        if (is_posted) { post(); }
        MPI_Request barrier = MPI_REQUEST_NULL;
        bool is_in_barrier = false;
        for (int is_over = 0; is_over == 0; sched_yield()) {
            is_posted ? test_receive() : probe();
            if (is_in_barrier) {
                MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE);
                continue;
            }
            int are_sent = 0;
            MPI_Testall(static_cast<int>(sends_.size()), sends_.data(), &are_sent,
                        MPI_STATUSES_IGNORE);
            if (are_sent == 0) { continue; }
            MPI_Ibarrier(comm_, &barrier);
            is_in_barrier = true;
        }
        if (is_posted) { withdraw(); }
        const auto missing =
            std::count_if(messages_.begin(), messages_.end(),
                          [&](const Message& message) { return message.destination == rank_; }) -
            taken_;
        harness_.expect(missing == 0, name_ + ": " + std::to_string(missing) + " are missing");
    }

  private:
    void post() {
        MPI_Irecv(received_.data(), most_numbers, MPI_INT, MPI_ANY_SOURCE, tag_, comm_, &receive_);
    }

    void test_receive() {
        int has_come = 0;
        MPI_Status status;
        MPI_Test(&receive_, &has_come, &status);
        if (has_come == 0) { return; }
        check(status);
        post();
    }

    /// It may have met the last message while the barrier was tested.
    void withdraw() {
        int is_cancelled = 0;
        MPI_Status status;
        MPI_Cancel(&receive_);
        MPI_Wait(&receive_, &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        if (is_cancelled == 0) { check(status); }
    }

    void probe() {
        int has_come = 0;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, tag_, comm_, &has_come, &status);
        if (has_come == 0) { return; }
        int count = 0;
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Recv(received_.data(), count, MPI_INT, status.MPI_SOURCE, tag_, comm_, &status);
        check(status);
    }

    /// The next of its source.
    void check(const MPI_Status& status) {
        int count = 0;
        MPI_Get_count(&status, MPI_INT, &count);
        const int source = status.MPI_SOURCE;
        harness_.expect(source >= 0 && source < ranks_ && status.MPI_TAG == tag_,
                        name_ + ": another source or tag");
        if (harness_.failures() > 0) { return; }
        size_t& next = next_[static_cast<size_t>(source)];
        while (next < messages_.size() && !is_from(messages_[next], source)) { ++next; }
        harness_.expect(next < messages_.size(), name_ + ": too many messages");
        if (next == messages_.size()) { return; }
        const std::vector<int>& wanted = messages_[next++].numbers;
        harness_.expect(static_cast<size_t>(count) == wanted.size() &&
                            std::equal(wanted.begin(), wanted.end(), received_.begin()),
                        name_ + ": another message from " + std::to_string(source));
        ++taken_;
    }
    bool is_from(const Message& message, int source) const {
        return message.source == source && message.destination == rank_;
    }

    Harness& harness_;
    MPI_Comm comm_;
    int tag_;
    const std::vector<Message>& messages_;
    const std::string& name_;
    int rank_ = 0;
    int ranks_ = 0;
    std::vector<MPI_Request> sends_;
    MPI_Request receive_ = MPI_REQUEST_NULL;
    std::vector<int> received_;
    std::vector<size_t> next_; ///< of each source, in the list
    int64_t taken_ = 0;
};

std::array<MPI_Comm, 3> make_communicators(int rank) {
    std::array<MPI_Comm, 3> comms = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    return comms;
}

int run(int argc, char** argv) {
    Harness harness(&argc, &argv);
    if (argc != 3) {
        harness.expect(false, "usage: nbx_test ROUNDS SEED");
        return harness.finish();
    }
    const int rounds = std::atoi(argv[1]);
    Random random(static_cast<uint64_t>(std::atoll(argv[2])));
    std::array<MPI_Comm, 3> comms = make_communicators(harness.rank());
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) {
        // Some hundred rounds on one, in which the library may learn.
        const bool stays = round / 200 % 2 == 0;
        const MPI_Comm comm = comms[static_cast<size_t>(stays ? 0 : draw(random, 0, 2))];
        const std::string name = "round " + std::to_string(round);
        const auto messages = draw_messages(random, harness.size());
        const bool is_posted = draw(random, 0, 1) == 1;
        Round(harness, comm, round % 1000, messages, name).run(is_posted);
        int any = harness.failures();
        // A rank that has found an error would leave the others waiting.
        if (round % 50 == 49) {
            MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            if (any > 0) { break; }
        }
    }
    if (harness.rank() == 0) {
        std::printf("%.1f us a round\n", (MPI_Wtime() - begin) / std::max(1, rounds) * 1e6);
    }
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    return harness.finish();
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) { return nodeaware::test::run(argc, argv); }
