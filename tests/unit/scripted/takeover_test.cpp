// What happens around the moment at which the library takes over, and to messages that do not fit.

#include "tests/unit/scripted/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace scripted {

namespace {

/// Rounds that are learned, so that the library takes over; with a barrier each.
void learn(Rank& rank, const Round& round, int count, uint64_t seed) {
    for (int i = 0; i < count; ++i) {
        Record record;
        execute(rank, round, record, Random(seed + static_cast<uint64_t>(i)));
    }
}

/// Messages that MPI has moved for the application while a round was executed between barriers.
uint64_t moved_by_mpi(Rank& rank, const Round& round, uint64_t seed) {
    Job& job = scripted::job();
    rank.gather(MPI_COMM_WORLD);
    const uint64_t before = job.sent_messages[0];
    rank.gather(MPI_COMM_WORLD);
    learn(rank, round, 1, seed);
    rank.gather(MPI_COMM_WORLD);
    const uint64_t after = job.sent_messages[0];
    rank.gather(MPI_COMM_WORLD);
    return after - before;
}

/// A barrier that MPI refuses on this rank, for which nobody else waits.
void refused_barrier(Rank& rank) { EXPECT_EQ(rank.refused_barrier(MPI_COMM_WORLD), MPI_ERR_ARG); }

} // namespace

TEST(Takeover, RefusedCallsAreNoMeetings) {
    set_options({{"STRATEGY", "p2p:gathered"}});
    for (const uint64_t seed : seeds(30)) {
        Job job(seed, {});
        const Round round = Round::learned(job);
        const std::string ended = run(job, [&](Rank& rank) {
            Random random(seed * 10 + static_cast<uint64_t>(rank.number()));
            for (int i = 0; i < 30; ++i) {
                learn(rank, round, 1, random.below(1000));
                for (size_t times = random.below(3); times > 0; --times) { refused_barrier(rank); }
            }
            EXPECT_EQ(moved_by_mpi(rank, round, seed), 0U) << "seed " << seed;
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
    }
}

/// Communicators come and go while their connections are handed over.
TEST(Takeover, CommunicatorsAreMadeAndFreed) {
    set_options({{"STRATEGY", "p2p:gathered"}});
    for (const uint64_t seed : seeds(30)) {
        Random random(seed);
        std::vector<int> plan;
        for (int i = 0; i < 40; ++i) { plan.push_back(random.between(0, 5)); }
        Job job(seed, {});
        const Round round = Round::learned(job);
        const std::string ended = run(job, [&](Rank& rank) {
            std::vector<MPI_Comm> comms = {MPI_COMM_WORLD};
            for (const int step : plan) {
                const auto which = static_cast<size_t>(step) % comms.size();
                if (step == 4 && comms.size() < 4) {
                    MPI_Comm made = MPI_COMM_NULL;
                    rank.dup(comms.back(), &made);
                    comms.push_back(made);
                } else if (step == 5 && which > 0) {
                    rank.comm_free(&comms[which]);
                    comms.erase(comms.begin() + static_cast<ptrdiff_t>(which));
                } else {
                    learn(rank, round, 1, seed);
                    EXPECT_EQ(rank.barrier(comms[which]), MPI_SUCCESS);
                }
            }
            for (size_t i = 1; i < comms.size(); ++i) { rank.comm_free(&comms[i]); }
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
    }
}

/// A receive is cancelled while its message may be under way: that comes once, to this receive or
/// to a later one, whoever moves messages then.
TEST(Takeover, CancelledReceivesLoseNothing) {
    set_options({{"STRATEGY", "p2p:gathered"}});
    for (const uint64_t seed : seeds(60)) {
        Random random(seed);
        Job job(seed, {});
        const Round round = Round::learned(job);
        const int sends = random.between(0, 14);
        const int cancels = random.between(0, 14);
        const int receives = random.between(std::max(sends, cancels), 16);
        const std::string ended = run(job, [&](Rank& rank) {
            int word = -1;
            bool has_come = false;
            MPI_Request request = MPI_REQUEST_NULL;
            for (int i = 0; i < 17; ++i) {
                if (rank.number() == 0 && i == sends) {
                    word = 77;
                    rank.isend(&word, 1, MPI_INT, 2, 9, MPI_COMM_WORLD, &request);
                }
                if (rank.number() == 2 && i == cancels) {
                    int is_cancelled = 0;
                    MPI_Status status;
                    rank.irecv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request);
                    rank.cancel(&request);
                    rank.wait(&request, &status);
                    mpi().Test_cancelled(&status, &is_cancelled);
                    has_come = is_cancelled == 0;
                }
                if (rank.number() == 2 && i == receives && !has_come) {
                    rank.recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                }
                learn(rank, round, 1, seed);
            }
            if (rank.number() == 0) { rank.wait(&request, MPI_STATUS_IGNORE); }
            if (rank.number() == 2) { EXPECT_EQ(word, 77) << "seed " << seed; }
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
    }
}

TEST(Takeover, TruncatedMessagesAreErrors) {
    set_options({{"STRATEGY", "p2p:gathered"}});
    for (const uint64_t seed : seeds(40)) {
        const int bytes = Random(seed).one_of(std::vector<int>{100, 200, 5000, 20000});
        Job job(seed, {});
        const Round round = Round::learned(job);
        const std::string ended = run(job, [&](Rank& rank) {
            learn(rank, round, 30, seed);
            set_errors_return(MPI_COMM_WORLD);
            const int opposite = (rank.number() + 2) % 4;
            const auto length = static_cast<size_t>(bytes);
            std::vector<char> sent(length, 'x');
            std::vector<char> received(length + 1, '-');
            std::vector<char> whole(length);
            std::vector<MPI_Request> requests(4, MPI_REQUEST_NULL);
            std::vector<MPI_Status> statuses(4);
            const auto post = [&](size_t i, char* to, int room, int tag) {
                rank.irecv(to, room, MPI_BYTE, opposite, tag, MPI_COMM_WORLD, &requests[i]);
            };
            // The last one: MPICH's MPI_Waitall leaves those behind it pending.
            post(3, received.data(), bytes / 2, 7);
            post(0, whole.data(), bytes, 8);
            for (int i = 0; i < 2; ++i) {
                rank.isend(sent.data(), bytes, MPI_BYTE, opposite, 7 + i, MPI_COMM_WORLD,
                           &requests[static_cast<size_t>(1 + i)]);
            }
            EXPECT_EQ(rank.waitall(4, requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
            EXPECT_EQ(statuses[3].MPI_ERROR, MPI_ERR_TRUNCATE);
            EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
            EXPECT_EQ(std::count(requests.begin(), requests.end(), MPI_REQUEST_NULL), 4);
            EXPECT_EQ(std::count(received.begin(), received.end(), 'x'), bytes / 2);
            EXPECT_EQ(whole, sent);
            // Handles are used again: nothing may be remembered of those.
            EXPECT_EQ(moved_by_mpi(rank, round, seed), 0U);
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
    }
}

/// Many messages to a rank that is busy elsewhere: its memory is not theirs.
TEST(Takeover, AFloodIsHeldBack) {
    set_options({{"STRATEGY", "p2p:gathered"}});
    constexpr int messages = 500;
    constexpr int bytes = 8000;
    for (const uint64_t seed : seeds(3)) {
        Job job(seed, {});
        const Round round = Round::learned(job);
        int sent = 0;
        int received = 0;
        int most = 0;
        const std::string ended = run(job, [&](Rank& rank) {
            learn(rank, round, 30, seed);
            std::vector<char> memory(bytes);
            for (int i = 0; i < messages && rank.number() == 0; ++i) {
                rank.send(memory.data(), bytes, MPI_BYTE, 2, 7, MPI_COMM_WORLD);
                most = std::max(most, ++sent - received);
            }
            for (int i = 0; i < messages && rank.number() == 2; ++i) {
                const uint64_t until = job.scheduler().nanoseconds() + 200000;
                rank.compute(
                    [&] { return job.scheduler().nanoseconds() > until || sent == messages; });
                rank.recv(memory.data(), bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                ++received;
            }
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
        EXPECT_LE(most * bytes, 1200000) << "seed " << seed;
        EXPECT_GT(most, 20) << "seed " << seed;
    }
}

} // namespace scripted
