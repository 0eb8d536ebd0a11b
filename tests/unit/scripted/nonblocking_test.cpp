// Nonblocking exchanges: ranks begin many of them before they wait for any.

#include "tests/unit/scripted/rank.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace scripted {

namespace {

/// An exchange in which `bytes(source, destination)` go from each rank to each, on one rank.
struct Exchange {
    MPI_Comm comm = MPI_COMM_WORLD;
    int number = 0;
    std::vector<int> counts;
    std::vector<int> places;
    std::vector<int> received_counts;
    std::vector<int> received_places;
    std::vector<char> sent;
    std::vector<char> received;
    MPI_Request request = MPI_REQUEST_NULL;
};

char content(int number, int source, int destination, int i) {
    return char(number * 31 + source * 7 + destination * 3 + i);
}

/// How much goes from one rank to another in an exchange: the same for all who ask.
int bytes_of(uint64_t seed, int number, int source, int destination) {
    Random random(seed * 1000003 + static_cast<uint64_t>(number * 64 + source * 8 + destination));
    return random.one_of(std::vector<int>{0, 0, 1, 30, 500, 5000, 20000});
}

Exchange prepare(const Rank& rank, uint64_t seed, int number) {
    Exchange exchange;
    exchange.number = number;
    int sum = 0;
    int received_sum = 0;
    for (int peer = 0; peer < rank.size(); ++peer) {
        exchange.counts.push_back(bytes_of(seed, number, rank.number(), peer));
        exchange.places.push_back(sum);
        sum += exchange.counts.back();
        for (int i = 0; i < exchange.counts.back(); ++i) {
            exchange.sent.push_back(content(number, rank.number(), peer, i));
        }
        exchange.received_counts.push_back(bytes_of(seed, number, peer, rank.number()));
        exchange.received_places.push_back(received_sum);
        received_sum += exchange.received_counts.back();
    }
    exchange.received.resize(static_cast<size_t>(received_sum) + 1);
    exchange.sent.push_back(0);
    return exchange;
}

int begin(Rank& rank, Exchange& exchange) {
    return rank.ialltoallv(exchange.sent.data(), exchange.counts.data(), exchange.places.data(),
                           exchange.received.data(), exchange.received_counts.data(),
                           exchange.received_places.data(), MPI_BYTE, exchange.comm,
                           &exchange.request);
}

bool is_right(const Rank& rank, const Exchange& exchange) {
    for (size_t peer = 0; peer < exchange.received_counts.size(); ++peer) {
        for (int i = 0; i < exchange.received_counts[peer]; ++i) {
            const char expected =
                content(exchange.number, static_cast<int>(peer), rank.number(), i);
            const auto at = static_cast<size_t>(exchange.received_places[peer] + i);
            if (exchange.received[at] != expected) { return false; }
        }
    }
    return true;
}

/// Waits for all in an order of its own; then begins the next ones.
void run_ahead(Rank& rank, uint64_t seed, const std::vector<MPI_Comm>& comms, int ahead,
               Random random) {
    int number = 0;
    for (int round = 0; round < 3; ++round) {
        std::vector<Exchange> exchanges;
        for (int i = 0; i < ahead; ++i) {
            exchanges.push_back(prepare(rank, seed, ++number));
            exchanges.back().comm = comms[static_cast<size_t>(number) % comms.size()];
        }
        for (Exchange& exchange : exchanges) {
            EXPECT_EQ(begin(rank, exchange), MPI_SUCCESS);
            if (random.one_in(8)) { rank.gather(MPI_COMM_SELF); }
        }
        std::vector<size_t> order(exchanges.size());
        std::iota(order.begin(), order.end(), size_t{0});
        random.shuffle(order);
        for (const size_t i : order) {
            EXPECT_EQ(rank.wait(&exchanges[i].request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_TRUE(is_right(rank, exchanges[i])) << "seed " << seed;
        }
    }
}

} // namespace

TEST(Nonblocking, RanksAreAheadOfEachOther) {
    for (const uint64_t seed : seeds(60)) {
        Random random(seed);
        // Large ones find no room; and some have to begin late.
        set_options({{"STRATEGY", "ialltoallv:gathered,p2p:native"},
                     {"ARENA", random.one_of(std::vector<std::string>{"64K", "1M", "64M"})}});
        Settings settings;
        settings.nodes = random.one_of(
            std::vector<std::vector<int>>{{0, 0, 1, 1}, {0, 1, 0, 1, 1}, {0, 0, 0, 1, 2, 2}});
        const int ahead = random.one_of(std::vector<int>{1, 4, 30});
        Job job(seed, settings);
        const std::string ended = run(job, [&](Rank& rank) {
            run_ahead(rank, seed, {MPI_COMM_WORLD}, ahead,
                      Random(seed + 1000 * static_cast<uint64_t>(rank.number())));
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
    }
}

/// There are tags for 64 exchanges; some ranks are ahead of others by more.
TEST(Nonblocking, TagsAreNotUsedTwice) {
    set_options({{"STRATEGY", "ialltoallv:gathered,p2p:native"}});
    for (const uint64_t seed : seeds(10)) {
        Settings settings;
        settings.largest_tag = 32767 + 2 * 3 * 64 * 2;
        Job job(seed, settings);
        const std::string ended = run(job, [&](Rank& rank) {
            run_ahead(rank, seed, {MPI_COMM_WORLD}, 40,
                      Random(seed + 1000 * static_cast<uint64_t>(rank.number())));
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
    }
}

/// A communicator that is freed while exchanges on it are under way, and others beside it.
TEST(Nonblocking, CommunicatorsHaveExchangesOfTheirOwn) {
    set_options({{"STRATEGY", "ialltoallv:gathered,p2p:native"}});
    for (const uint64_t seed : seeds(30)) {
        Job job(seed, {});
        const std::string ended = run(job, [&](Rank& rank) {
            MPI_Comm other = MPI_COMM_NULL;
            rank.dup(MPI_COMM_WORLD, &other);
            EXPECT_EQ(rank.prepare(other), MPI_SUCCESS);
            run_ahead(rank, seed, {MPI_COMM_WORLD, other}, 6,
                      Random(seed + 1000 * static_cast<uint64_t>(rank.number())));
            Exchange last = prepare(rank, seed, 1000);
            last.comm = other;
            EXPECT_EQ(begin(rank, last), MPI_SUCCESS);
            rank.comm_free(&other);
            EXPECT_EQ(rank.wait(&last.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_TRUE(is_right(rank, last)) << "seed " << seed;
        });
        ASSERT_EQ(ended, "") << "seed " << seed;
    }
}

} // namespace scripted
