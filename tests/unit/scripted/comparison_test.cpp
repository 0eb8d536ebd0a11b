// Ranks that compare what their messages take with what they take by MPI do so together: what some
// of them measure while others go on by the library tells nothing of MPI.

#include "tests/unit/scripted/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unistd.h>

namespace scripted {

namespace {

/// Of a round only what rank `source` sends to `destination`.
Round between(size_t source, size_t destination, Round round) {
    for (size_t rank = 0; rank < round.sends.size(); ++rank) {
        std::erase_if(round.sends[rank], [&](const Planned& message) {
            return rank != source || message.destination != static_cast<int>(destination);
        });
        std::erase_if(round.receives[rank], [&](const Awaited& awaited) {
            return rank != destination || awaited.source != static_cast<int>(source);
        });
    }
    return round;
}

struct Counts {
    std::vector<uint64_t> by_mpi; ///< messages that MPI has moved in each round
    std::vector<uint64_t> calls;  ///< of MPI functions by rank 0, to wait mostly
};

/// Rounds, after the first that the library has moved, that MPI has moved: it was gone back to.
int64_t rounds_back(const std::vector<uint64_t>& by_mpi) {
    const auto gathered = std::find(by_mpi.begin(), by_mpi.end(), 0U);
    return std::count_if(gathered, by_mpi.end(), [](uint64_t by) { return by != 0; });
}

/// Two ranks have sent before: they count their periods from elsewhere.
std::string count(Job& job, const Round& round, Counts& counts) {
    const Round before = between(0, 2, round);
    return run(job, [&](Rank& rank) {
        Record ignored;
        for (uint64_t i = 0; i < 20; ++i) { execute(rank, before, ignored, Random(i)); }
        for (size_t i = 0; i < counts.by_mpi.size(); ++i) {
            rank.gather(MPI_COMM_WORLD);
            const uint64_t sent = job.sent_messages[0];
            const uint64_t called = job.process(0).all_calls;
            rank.gather(MPI_COMM_WORLD);
            execute(rank, round, ignored, Random(i));
            rank.gather(MPI_COMM_WORLD);
            counts.by_mpi[i] = job.sent_messages[0] - sent;
            if (rank.number() == 0) { counts.calls[i] = job.process(0).all_calls - called; }
        }
    });
}

} // namespace

TEST(Comparison, IsOfMpiAloneOnAllRanks) {
    set_options({{"STRATEGY", "auto"}});
    constexpr size_t rounds = 320;
    int comparisons = 0;
    int apart = 0;
    for (const uint64_t seed : seeds(14)) {
        Job job(seed, {});
        const Round round = Round::learned(job);
        uint64_t all = 0;
        for (const auto& sends : round.sends) { all += sends.size(); }
        Counts counts{std::vector<uint64_t>(rounds), std::vector<uint64_t>(rounds)};
        ASSERT_EQ(count(job, round, counts), "") << "seed " << seed;
        const std::vector<uint64_t>& by_mpi = counts.by_mpi;

        const auto gathered = std::find(by_mpi.begin(), by_mpi.end(), 0U);
        const auto back = std::find_if(gathered, by_mpi.end(), [](uint64_t by) { return by != 0; });
        constexpr ptrdiff_t enough = 100;
        if (by_mpi.end() - back < enough) { continue; } // not handed over, or it surely gains
        ++comparisons;
        const auto begun = std::find(back, by_mpi.end(), all);
        const auto over = std::find_if(begun, by_mpi.end(), [&](uint64_t by) { return by != all; });
        const bool is_together = begun - back <= 24 && over - begun >= 32;
        apart += is_together ? 0 : 1;
        if (!is_together) { continue; }
        std::vector<uint64_t> calls(counts.calls.begin() + (begun - by_mpi.begin()),
                                    counts.calls.begin() + (over - by_mpi.begin()));
        std::sort(calls.begin(), calls.end());
        EXPECT_LE(calls[calls.size() / 2], 40U) << "seed " << seed; // MPI waits
    }
    EXPECT_GT(comparisons, static_cast<int>(seeds(14).size() / 4));
    // What one node gives back for other reasons looks as if it compared alone: one in six of many.
    EXPECT_LE(apart, std::max(2, comparisons / 3));
}

// What a run has found the next one does not compare: it gathers at once, or leaves all to MPI.
TEST(Comparison, IsNotMadeWhereARunBeforeHasToldWhatIsFaster) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("learned-" + std::to_string(getpid()));
    set_options({{"STRATEGY", "auto"}, {"TUNING", file.string()}, {"LOG", "off"}});
    constexpr size_t rounds = 320;
    int known = 0;
    for (const uint64_t seed : seeds(14)) {
        std::filesystem::remove(file);
        std::vector<int64_t> back;
        for (int i = 0; i < 2 && (i == 0 || std::filesystem::exists(file)); ++i) {
            Job job(seed, {});
            Counts counts{std::vector<uint64_t>(rounds), std::vector<uint64_t>(rounds)};
            ASSERT_EQ(count(job, Round::learned(job), counts), "") << "seed " << seed;
            back.push_back(rounds_back(counts.by_mpi));
        }
        if (back.size() < 2) { continue; } // nothing was found
        known += back[0] > 16 ? 1 : 0;     // else one of the nodes has gathered, and compared
        EXPECT_EQ(back[1], 0) << "seed " << seed;
    }
    EXPECT_GT(known, static_cast<int>(seeds(14).size() / 4));
    std::filesystem::remove(file);
}

// Where receives with wildcards are posted all the time, nearly all that senders propose is
// declined: of proposals and answers there are few, beside what the program sends.
TEST(Comparison, AsksSeldomWhereMostIsDeclined) {
    set_options({{"STRATEGY", "auto"}});
    constexpr int rounds = 300;
    for (const uint64_t seed : seeds(14)) {
        Job job(seed, {});
        uint64_t before = 0;
        const auto of_library = [&job] {
            uint64_t messages = 0;
            for (const auto& [context, count] : job.sent_messages) {
                messages += context == 0 ? 0 : count;
            }
            return messages;
        };
        // Ranks 0 and 1 send to 2 and 3, and these to them, two small messages each time.
        const std::string ended = run(job, [&](Rank& rank) {
            rank.gather(MPI_COMM_WORLD);
            if (rank.number() == 0) { before = of_library(); }
            rank.gather(MPI_COMM_WORLD);
            const int other = rank.number() < 2 ? 2 : 0;
            const std::vector<double> sent = {1, 2, 3, 4};
            std::array<std::vector<double>, 2> received{std::vector<double>(4), {0, 0, 0, 0}};
            std::array<MPI_Request, 2> posted{}; // one of them always is
            int begun = 0;
            const auto post = [&] {
                if (begun == 4 * rounds) { return; }
                const size_t place = static_cast<size_t>(begun++ % 2);
                EXPECT_EQ(rank.irecv(received[place].data(), 4, MPI_DOUBLE, MPI_ANY_SOURCE,
                                     MPI_ANY_TAG, MPI_COMM_WORLD, &posted[place]),
                          MPI_SUCCESS);
            };
            post();
            post();
            for (int i = 0; i < rounds; ++i) {
                std::vector<MPI_Request> sends(4, MPI_REQUEST_NULL);
                for (int j = 0; j < 4; ++j) {
                    rank.isend(sent.data(), 4, MPI_DOUBLE, other + j / 2, j, MPI_COMM_WORLD,
                               &sends[static_cast<size_t>(j)]);
                }
                for (size_t j = 0; j < 4; ++j) {
                    MPI_Status status;
                    EXPECT_EQ(rank.wait(&posted[j % 2], &status), MPI_SUCCESS);
                    EXPECT_EQ(received[j % 2], sent);
                    post();
                }
                rank.waitall(4, sends.data(), MPI_STATUSES_IGNORE);
            }
            rank.gather(MPI_COMM_WORLD);
            if (rank.number() == 0) { before = of_library() - before; }
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
        // A thousandth, and what gathering takes.
        constexpr uint64_t most = 4 * (rounds * 4 / 1000 + 8);
        EXPECT_LE(before, most) << "seed " << seed;
    }
}

/// A few of them, of which each is taken before the next call, are no reason to leave the others to
/// MPI.
TEST(Comparison, AsksWhereFewReceivesHaveWildcards) {
    set_options({{"STRATEGY", "auto"}});
    constexpr int rounds = 40;
    int late = 0; // in about one of twenty orders it takes longer
    for (const uint64_t seed : seeds(6)) {
        Job job(seed, {});
        uint64_t by_mpi = 0;
        const std::string ended = run(job, [&](Rank& rank) {
            const int other = rank.number() < 2 ? 2 : 0;
            const int mate = rank.number() ^ 1;
            const std::vector<double> sent = {1, 2, 3, 4};
            std::array<std::vector<double>, 4> received;
            received.fill(std::vector<double>(4));
            for (int i = 0; i < rounds; ++i) {
                if (i == rounds - 1) {
                    rank.gather(MPI_COMM_WORLD);
                    if (rank.number() == 0) { by_mpi = job.sent_messages[0]; }
                    rank.gather(MPI_COMM_WORLD);
                }
                std::vector<MPI_Request> requests(8, MPI_REQUEST_NULL);
                for (int j = 0; j < 4; ++j) {
                    const auto at = static_cast<size_t>(j);
                    rank.irecv(received[at].data(), 4, MPI_DOUBLE, other + j / 2, j % 2,
                               MPI_COMM_WORLD, &requests[at]);
                    rank.isend(sent.data(), 4, MPI_DOUBLE, other + j / 2, j % 2, MPI_COMM_WORLD,
                               &requests[4 + at]);
                }
                rank.waitall(8, requests.data(), MPI_STATUSES_IGNORE);
                EXPECT_EQ(received[3], sent);
                rank.send(sent.data(), 4, MPI_DOUBLE, mate, 2, MPI_COMM_WORLD);
                EXPECT_EQ(rank.recv(received[0].data(), 4, MPI_DOUBLE, MPI_ANY_SOURCE, 2,
                                    MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                          MPI_SUCCESS);
            }
            rank.gather(MPI_COMM_WORLD);
            if (rank.number() == 0) { by_mpi = job.sent_messages[0] - by_mpi; }
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
        if (by_mpi > 12) { ++late; } // 4 within nodes, and the gathers
    }
    EXPECT_LE(late, 1);
}

} // namespace scripted
