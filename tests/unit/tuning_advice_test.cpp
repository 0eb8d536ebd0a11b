#include "tools/fit/protocol_advice.hpp"
#include "tuning/table_file.hpp"

#include <gtest/gtest.h>

namespace nodeaware::tuning {

namespace {

FitResult with_network(const Postal& eager, const Postal& rendezvous, double eager_limit) {
    FitResult result;
    result.table.path(Memory::host,
                      Locality::network) = {{Postal{1e-6, 0}, eager, rendezvous}, 128, eager_limit};
    return result;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

// At 4096 bytes 20.4 us instead of 6.1 us; at 16 times as much both lines are still apart.
TEST(EagerAdvice, NamesAHigherLimitWhereRendezvousIsDear) {
    FitResult result = with_network({2e-6, 1e-9}, {2e-5, 1e-10}, 4096);
    const std::string advice = eager_advice(result);
    EXPECT_TRUE(has(advice, "just over 4096 bytes take 20.4 us")) << advice;
    EXPECT_TRUE(has(advice, "would take 6.1 us if sent eagerly")) << advice;
    // 2e-6 + 1e-9 s < 2e-5 + 1e-10 s up to 20000 bytes
    EXPECT_TRUE(has(advice, "an eager limit of 16384 bytes")) << advice;
    EXPECT_EQ(advice.find('\n'), std::string::npos);
    result = with_network({2e-6, 1e-10}, {2e-5, 1e-10}, 4096);
    EXPECT_TRUE(has(eager_advice(result), "an eager limit of 65536 bytes")); // 16 times, no more
}

TEST(EagerAdvice, NamesTheSettingOfTheMpi) {
    FitResult result = with_network({2e-6, 1e-9}, {2e-5, 1e-10}, 4096);
    EXPECT_TRUE(has(eager_advice(result), "(see its documentation")) << eager_advice(result);
    result.table.fingerprint.mpi = "Open MPI";
    EXPECT_TRUE(has(eager_advice(result), "btl_tcp_eager_limit"));
    result.table.fingerprint.mpi = "MPICH";
    EXPECT_TRUE(has(eager_advice(result), "MPIR_CVAR"));
    EXPECT_FALSE(has(eager_advice(result), "btl_tcp"));
}

TEST(EagerAdvice, IsSilentWhereNothingIsToBeGained) {
    // Half as much again is needed: 6.1 us and 9.1 us, then 9.2 us.
    EXPECT_EQ(eager_advice(with_network({2e-6, 1e-9}, {5e-6, 1e-9}, 4096)), "");
    EXPECT_NE(eager_advice(with_network({2e-6, 1e-9}, {5.1e-6, 1e-9}, 4096)), "");
    // Copying through buffers costs too much for twice the size.
    EXPECT_EQ(eager_advice(with_network({1e-7, 2e-9}, {1.3e-5, 1e-11}, 4096)), "");
    FitResult result = with_network({2e-6, 1e-9}, {2e-5, 1e-10}, 4096);
    result.doubtful = {"paths.host.node.eager"};
    EXPECT_NE(eager_advice(result), "");
    result.doubtful = {"paths.host.network.rendezvous"};
    EXPECT_EQ(eager_advice(result), "");
    result.doubtful.clear();
    result.table.path(Memory::host, Locality::network).by_protocol[1].reset();
    EXPECT_EQ(eager_advice(result), "");
    EXPECT_EQ(eager_advice({}), "");
}

// Of [K] table 1 rendezvous costs less at once; what 6.1 gains there comes from overlap.
TEST(EagerAdvice, OfThePublishedTables) {
    for (const char* name : {"blue-waters", "piz-daint"}) {
        FitResult result;
        result.table = find_table(name);
        EXPECT_EQ(eager_advice(result), "") << name;
    }
}

} // namespace nodeaware::tuning
