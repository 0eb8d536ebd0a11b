// The scripted MPI itself: what tests of the library rely on.

#include "tests/unit/scripted/rank.hpp"

#include <gtest/gtest.h>

namespace scripted {

TEST(Scripted, FindsADeadlock) {
    Job job(1, {});
    const std::string ended = job.run([&](int rank) {
        int word = 0;
        job.scheduler().set_place("receiving");
        if (rank == 0) { mpi().Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
    });
    EXPECT_NE(ended.find("rank 0: receiving, in MPI_Recv, blocked"), std::string::npos) << ended;
}

TEST(Scripted, FindsRanksThatLookInVain) {
    Job job(1, {});
    const std::string ended = job.run([&](int rank) {
        int flag = 0;
        while (rank == 0 && flag == 0) {
            mpi().Iprobe(1, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    });
    EXPECT_NE(ended.find("nothing happens"), std::string::npos) << ended;
}

TEST(Scripted, FindsWhatIsLeft) {
    Job job(1, {});
    EXPECT_EQ(job.run([&](int rank) {
        int word = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) { mpi().Irecv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request); }
    }),
              "");
    EXPECT_NE(job.left_over().find("rank 0 keeps 1 requests"), std::string::npos);
}

TEST(Scripted, StartsAndEnds) {
    set_options({});
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        Job job(seed, {});
        ASSERT_EQ(run(job, [](Rank& rank) { EXPECT_TRUE(rank.has_core()); }), "") << seed;
    }
}

} // namespace scripted
