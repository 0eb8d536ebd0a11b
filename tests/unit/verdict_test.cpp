#include "tests/unit/made_up_trace.hpp"
#include "tools/nodeaware/trace/analysis.hpp"

#include <gtest/gtest.h>

namespace nodeaware::tool {

namespace {

using test::MadeUpTrace;

constexpr trace::Nanoseconds ms = 1'000'000;

trace::Call call(const char* function, int communicator, trace::Nanoseconds end) {
    return {function, nullptr, communicator, trace::Memory::host, 0, end};
}

TraceForecast forecast_of(const Trace& trace, const std::vector<int>& nodes) {
    Parameters parameters;
    parameters.message_cap = 60000;
    parameters.direct_bytes = 65536;
    parameters.arena_bytes = 64 << 20;
    return forecast_of(trace, nodes, parameters);
}

} // namespace

TEST(Forecast, TimesOfCommunicatorsSideBySideAreTheMeanOfTheRanks) {
    MadeUpTrace both({0, 0, 1, 1});
    MadeUpTrace one({0, 0, 1, 1});
    for (int rank = 0; rank < 4; ++rank) {
        for (MadeUpTrace* made_up : {&both, &one}) {
            trace::Contents& contents = made_up->rank(static_cast<size_t>(rank));
            const int half = contents.add_communicator({rank / 2, 2, false, {{rank % 2, 2, 2}}});
            if (made_up == &one && rank % 2 == 1) { continue; }
            const int peer = 1 - rank / 2;
            contents.add_exchange(call("MPI_Alltoallv", half, 10 * ms), 1, {{peer, 1000}});
            contents.add_send(call("MPI_Send", half, 0), peer, 1000);
        }
    }
    both.write();
    one.write();
    const Trace trace = read_trace(both.folder());
    ASSERT_EQ(trace.complaints, std::vector<std::string>());
    const TraceForecast of_both = forecast_of(trace, trace.nodes);
    const TraceForecast of_one = forecast_of(read_trace(one.folder()), trace.nodes);
    EXPECT_EQ(of_both.calls, 1U);
    EXPECT_EQ(of_one.calls, 1U); // half a call is one
    EXPECT_NEAR(of_both.measured, 0.01, 1e-9);
    EXPECT_NEAR(of_one.measured, 0.005, 1e-9);
    EXPECT_GT(of_one.native, 0);
    EXPECT_DOUBLE_EQ(of_both.native, 2 * of_one.native);
    EXPECT_GT(of_one.messages.native, 0);
    EXPECT_DOUBLE_EQ(of_both.messages.native, 2 * of_one.messages.native);
    for (size_t i = 0; i < of_both.strategies.size(); ++i) {
        EXPECT_DOUBLE_EQ(of_both.strategies[i].seconds, 2 * of_one.strategies[i].seconds);
    }
}

} // namespace nodeaware::tool
