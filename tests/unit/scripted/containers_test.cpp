// A rank that only looks whether something has come sends containers of others meanwhile, and has
// receives posted for them. If it fails in that once, nothing of theirs is lost. And what is sent
// beside containers.

#include "tests/unit/scripted/allocations.hpp"
#include "tests/unit/scripted/rank.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace scripted {

namespace {

constexpr int looking = 0; ///< the rank that fails
constexpr int opposite = 3;

constexpr int small = 20;  ///< words of a message
constexpr int large = 800; ///< so many that MPI would ask before it sends a container of them

/// Messages of these ranks, from `first` on, to each other.
void exchange(Rank& rank, int first, int round, int length) {
    const auto size = static_cast<size_t>(rank.size());
    std::vector<std::vector<int>> sent(size), received(size);
    std::vector<MPI_Request> requests;
    for (int peer = first; peer < rank.size(); ++peer) {
        if (!rank.is_elsewhere(peer)) { continue; }
        auto& memory = received[static_cast<size_t>(peer)];
        memory.assign(static_cast<size_t>(length), -1);
        EXPECT_EQ(rank.irecv(memory.data(), length, MPI_INT, peer, 7, MPI_COMM_WORLD,
                             &requests.emplace_back()),
                  MPI_SUCCESS);
    }
    for (int peer = first; peer < rank.size(); ++peer) {
        if (!rank.is_elsewhere(peer)) { continue; }
        auto& memory = sent[static_cast<size_t>(peer)];
        memory.assign(static_cast<size_t>(length), round * 100 + rank.number());
        EXPECT_EQ(rank.isend(memory.data(), length, MPI_INT, peer, 7, MPI_COMM_WORLD,
                             &requests.emplace_back()),
                  MPI_SUCCESS);
    }
    EXPECT_EQ(rank.waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
              MPI_SUCCESS);
    for (int peer = first; peer < rank.size(); ++peer) {
        if (!rank.is_elsewhere(peer)) { continue; }
        EXPECT_EQ(received[static_cast<size_t>(peer)],
                  std::vector<int>(static_cast<size_t>(length), round * 100 + peer));
    }
}

/// What fails while the others exchange messages: a call, or memory for the time number `memory`.
struct Trouble {
    std::string function;
    uint64_t call = 0;
    uint64_t memory = 0;
};

/// How often the rank has called functions of MPI meanwhile, and asked for memory.
struct Counts {
    std::map<std::string, uint64_t> before;
    std::map<std::string, uint64_t> after;
    uint64_t memory = 0;
};

std::string outcome(uint64_t seed, const Trouble& trouble, Counts& counts, int length) {
    Settings settings;
    settings.nodes = {0, 0, 0, 1, 1, 1};
    if (length == large) { settings.eager_limit = 17000; }
    if (trouble.call > 0) { settings.failure = {looking, trouble.function, trouble.call}; }
    Job job(seed, settings);
    int busy = job.size() - 1;
    bool is_over = false;
    const auto look = [&](Rank& rank) {
        int word = 0;
        int flag = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        rank.irecv(&word, 1, MPI_INT, opposite, 8, MPI_COMM_WORLD, &request);
        counts.before = job.process(looking).calls;
        if (can_refuse_memory()) { watch_allocations(looking, trouble.memory); }
        while (busy > 0) { rank.test(&request, &flag, MPI_STATUS_IGNORE); } // or fails
        counts.memory = end_watch();
        counts.after = job.process(looking).calls;
        is_over = true;
        while (rank.wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {}
        EXPECT_EQ(word, 5);
    };
    const std::string ended = run(job, [&](Rank& rank) {
        set_errors_return(MPI_COMM_WORLD);
        for (int i = 0; i < 12; ++i) {
            exchange(rank, 0, i, length);
            rank.barrier(MPI_COMM_WORLD);
        }
        if (rank.number() == looking) { return look(rank); }
        for (int i = 0; i < 20; ++i) { exchange(rank, looking + 1, 50 + i, length); }
        --busy;
        if (rank.number() != opposite) { return; }
        const int word = 5;
        rank.compute([&] { return is_over; });
        rank.send(&word, 1, MPI_INT, looking, 8, MPI_COMM_WORLD);
    });
    end_watch();
    return ended.empty() ? ended : job.failed_place() + " has failed: " + ended;
}

/// Sends and receives a word each way, as both ends list it.
struct Pair {
    int from;
    int to;
};

void exchange(Rank& rank, const std::vector<Pair>& pairs, int round) {
    std::vector<int> words(pairs.size(), -1);
    std::vector<MPI_Request> requests;
    for (size_t i = 0; i < pairs.size(); ++i) {
        if (pairs[i].to != rank.number()) { continue; }
        EXPECT_EQ(rank.irecv(&words[i], 1, MPI_INT, pairs[i].from, 7, MPI_COMM_WORLD,
                             &requests.emplace_back()),
                  MPI_SUCCESS);
    }
    for (size_t i = 0; i < pairs.size(); ++i) {
        if (pairs[i].from != rank.number()) { continue; }
        words[i] = round;
        EXPECT_EQ(rank.isend(&words[i], 1, MPI_INT, pairs[i].to, 7, MPI_COMM_WORLD,
                             &requests.emplace_back()),
                  MPI_SUCCESS);
    }
    EXPECT_EQ(rank.waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
              MPI_SUCCESS);
    for (size_t i = 0; i < pairs.size(); ++i) {
        if (pairs[i].to == rank.number()) { EXPECT_EQ(words[i], round); }
    }
}

} // namespace

/// The second node tells the first of cells that are ready again: with what goes to one rank there,
/// for which no cell is needed.
TEST(Containers, NeedNoAnswersWhereMessagesGoBack) {
    set_options({{"STRATEGY", "p2p:gathered"}, {"LOG", "off"}});
    const std::vector<Pair> pairs = {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 0}, {2, 0}};
    constexpr uint64_t rounds = 60;
    std::vector<uint64_t> messages; // some seeds do not put both of them together
    for (const uint64_t seed : seeds(9)) {
        Job job(seed, {});
        uint64_t before = 0;
        uint64_t after = 0;
        const auto sent = [&] {
            return job.process(2).calls["MPI_Isend"] + job.process(3).calls["MPI_Isend"];
        };
        const std::string ended = run(job, [&](Rank& rank) {
            for (int i = 0; i < 40 + static_cast<int>(rounds); ++i) {
                exchange(rank, pairs, i);
                rank.barrier(MPI_COMM_WORLD);
                if (rank.number() != 0) { continue; }
                if (i == 39) { before = sent(); }
                after = sent();
            }
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
        messages.push_back(after - before);
    }
    if (messages.size() == 1) { return; }
    std::sort(messages.begin(), messages.end());
    EXPECT_LT(messages[messages.size() / 2], rounds + rounds / 5);
}

class ContainersOfOthers : public testing::TestWithParam<int> {};

TEST_P(ContainersOfOthers, AreNotLostWhereOneCannotBeSent) {
    set_options({{"STRATEGY", "p2p:gathered"}, {"LOG", "off"}});
    uint64_t failures = seeds(2).size() > 1 ? 0 : 1; // that one may have none
    for (const uint64_t seed : seeds(4)) {
        Counts all;
        ASSERT_EQ(outcome(seed, {}, all, GetParam()), "") << "seed " << seed;
        for (const char* const function : {"MPI_Isend", "MPI_Irecv", "MPI_Improbe"}) {
            const uint64_t first = all.before[function] + 1;
            const uint64_t last = all.after[function];
            const uint64_t step = 1 + (last - std::min(first, last)) / 4;
            for (uint64_t number = first; number <= last; number += step) {
                Counts counts;
                ASSERT_EQ(outcome(seed, {function, number, 0}, counts, GetParam()), "")
                    << "seed " << seed << ", call " << number;
                ++failures;
            }
        }
    }
    EXPECT_GT(failures, 0U);
}

TEST_P(ContainersOfOthers, AreNotLostWithoutMemory) {
    if (!can_refuse_memory()) { GTEST_SKIP() << "a sanitizer has its own memory"; }
    set_options({{"STRATEGY", "p2p:gathered"}, {"LOG", "off"}});
    uint64_t failures = seeds(2).size() > 1 ? 0 : 1; // that one may have none
    for (const uint64_t seed : seeds(4)) {
        Counts all;
        ASSERT_EQ(outcome(seed, {}, all, GetParam()), "") << "seed " << seed;
        const uint64_t step = 1 + all.memory / 15;
        for (uint64_t number = 1; number <= all.memory; number += step) {
            Counts counts;
            ASSERT_EQ(outcome(seed, {"", 0, number}, counts, GetParam()), "")
                << "seed " << seed << ", allocation " << number << " of " << all.memory;
            ++failures;
        }
    }
    EXPECT_GT(failures, 0U);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ContainersOfOthers, testing::Values(small, large));

} // namespace scripted
