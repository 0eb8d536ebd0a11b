// Point-to-point messages, before the library has taken them over and after.

#include "tests/unit/scripted/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace scripted {

namespace {

constexpr int learning = 30; ///< rounds until all connections are handed over

std::vector<int> random_nodes(Random& random) {
    return random.one_of(std::vector<std::vector<int>>{
        {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 1, 2}, {0, 1, 1, 2}});
}

/// Messages of a learned round that nothing can be gathered with: those between ranks that are
/// alone on their nodes.
uint64_t alone(const std::vector<int>& nodes) {
    const auto is_alone = [&](int node) {
        return std::count(nodes.begin(), nodes.end(), node) == 1;
    };
    const auto ranks = static_cast<uint64_t>(std::count_if(nodes.begin(), nodes.end(), is_alone));
    return ranks * (ranks - std::min<uint64_t>(ranks, 1));
}

} // namespace

TEST(Messages, RandomProgramsGetWhatMpiPromises) {
    set_options({{"STRATEGY", "p2p:gathered"}, {"BATCH_TIMEOUT", "0.00005"}});
    for (const uint64_t seed : seeds(100)) {
        Random random(seed);
        Settings settings;
        settings.nodes = random_nodes(random);
        settings.eager_limit = random.one_of(std::vector<uint64_t>{4200, 9000, 1000000});
        Job job(seed, settings);
        std::vector<Round> rounds(learning + 1, Round::learned(job));
        for (int i = 0; i < 8; ++i) {
            const bool is_learned = random.one_in(3);
            rounds.push_back(is_learned ? Round::learned(job) : Round::random(random, job));
        }
        std::vector<Record> records(rounds.size());
        uint64_t before = 0;
        uint64_t after = 0; // messages of the application that MPI has moved
        const std::string ended = run(job, [&](Rank& rank) {
            Random own(seed * 100 + static_cast<uint64_t>(rank.number()));
            for (size_t i = 0; i < rounds.size(); ++i) {
                if (i == learning && before == 0) { before = job.sent_messages[0]; }
                execute(rank, rounds[i], records[i], own.fork());
                if (i == learning && after == 0) { after = job.sent_messages[0]; }
            }
        });
        std::string wrong;
        for (const Record& record : records) { wrong += record.verdict(); }
        ASSERT_EQ(ended, "") << "seed " << seed << "\n" << wrong;
        EXPECT_EQ(after - before, alone(settings.nodes))
            << "the library has not taken over, seed " << seed;
        ASSERT_EQ(wrong, "") << "seed " << seed;
    }
}

} // namespace scripted
