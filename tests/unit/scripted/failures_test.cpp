// One call of MPI fails on one rank, any of those that the library makes in a small program; or it
// gets no memory once.

#include "tests/unit/scripted/allocations.hpp"
#include "tests/unit/scripted/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace scripted {

namespace {

/// What the application does when a call returns an error.
struct Stopped {};
constexpr const char* told = "an error is told";

void check(int code) {
    if (code != MPI_SUCCESS) { throw Stopped(); }
}

/// Each rank sends to all others, small and large messages.
void exchange(Rank& rank, int tag, int bytes) {
    const auto size = static_cast<size_t>(rank.size());
    const auto length = static_cast<size_t>(bytes);
    std::vector<std::vector<char>> sent(size, std::vector<char>(length, char(rank.number())));
    std::vector<std::vector<char>> received(size, std::vector<char>(length));
    std::vector<MPI_Request> requests(2 * size, MPI_REQUEST_NULL);
    for (size_t i = 0; i < size; ++i) {
        check(rank.irecv(received[i].data(), bytes, MPI_BYTE, static_cast<int>(i), tag,
                         MPI_COMM_WORLD, &requests[i]));
    }
    for (size_t i = 0; i < size; ++i) {
        check(rank.isend(sent[i].data(), bytes, MPI_BYTE, static_cast<int>(i), tag, MPI_COMM_WORLD,
                         &requests[size + i]));
    }
    check(rank.waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (size_t i = 0; i < size; ++i) {
        EXPECT_EQ(received[i], std::vector<char>(length, char(i))) << job().failed_place();
    }
}

void exchange_all_to_all(Rank& rank, bool is_blocking) {
    const auto size = static_cast<size_t>(rank.size());
    std::vector<int> sent(size, rank.number());
    std::vector<int> received(size, -1);
    const std::vector<int> counts(size, 1);
    std::vector<int> places(size);
    std::iota(places.begin(), places.end(), 0);
    if (is_blocking) {
        check(rank.alltoallv(sent.data(), counts.data(), places.data(), received.data(),
                             counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD));
    } else {
        MPI_Request request = MPI_REQUEST_NULL;
        check(rank.ialltoallv(sent.data(), counts.data(), places.data(), received.data(),
                              counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD, &request));
        check(rank.wait(&request, MPI_STATUS_IGNORE));
    }
    EXPECT_EQ(received, places) << job().failed_place() << ", rank " << rank.number();
}

/// Large messages to receives with wildcards, whose ranks are away in MPI meanwhile; one receive is
/// cancelled.
void gather(Rank& rank) {
    constexpr int bytes = 20000;
    const int size = rank.size();
    const int opposite = (rank.number() + size / 2) % size;
    MPI_Datatype type = make_gapped(bytes);
    std::vector<char> sent(bytes + 8, char(rank.number()));
    std::vector<char> received(bytes + 8);
    std::vector<MPI_Request> requests(3, MPI_REQUEST_NULL);
    check(rank.irecv(received.data(), 1, type, MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &requests[0]));
    check(rank.irecv(received.data(), 1, type, opposite, 31, MPI_COMM_WORLD, &requests[1]));
    check(rank.isend(sent.data(), 1, type, opposite, 30, MPI_COMM_WORLD, &requests[2]));
    free_type(&type);
    check(rank.gather(MPI_COMM_WORLD));
    check(rank.cancel(&requests[1]));
    check(rank.waitall(3, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_EQ(received.back(), char(opposite)) << job().failed_place();
}

/// Messages that are sent and received in other ways, around the ranks.
void shift(Rank& rank) {
    const int size = rank.size();
    const int next = (rank.number() + 1) % size;
    const int last = (rank.number() + size - 1) % size;
    int sent = rank.number();
    int received = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    check(rank.irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &request));
    check(rank.ssend(&sent, 1, MPI_INT, next, 20, MPI_COMM_WORLD));
    check(rank.wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(received, last) << job().failed_place();
    MPI_Message message = MPI_MESSAGE_NULL;
    check(rank.send(&sent, 1, MPI_INT, next, 21, MPI_COMM_WORLD));
    check(rank.mprobe(last, 21, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    check(rank.mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    EXPECT_EQ(received, last) << job().failed_place();
}

void program(Rank& rank) {
    try {
        if (!rank.has_core()) { throw Stopped(); }
        for (int i = 0; i < 9; ++i) {
            exchange(rank, 7, 100);
            check(rank.barrier(MPI_COMM_WORLD));
        }
        for (int i = 0; i < 6; ++i) {
            exchange(rank, 7, 100);
            if (i == 0) { exchange_all_to_all(rank, false); }
            if (i == 1) { shift(rank); }
            if (i == 2) { exchange(rank, 8, 20000); }
            if (i == 3) { gather(rank); }
            check(rank.barrier(MPI_COMM_WORLD));
        }
    } catch (const Stopped&) {
        job().complain(told);
        job().scheduler().may_switch();
    }
}

/// Exchanges of all ranks, blocking and nonblocking.
void exchanges(Rank& rank) {
    try {
        if (!rank.has_core()) { throw Stopped(); }
        for (int i = 0; i < 6; ++i) { exchange_all_to_all(rank, i % 3 == 0); }
    } catch (const Stopped&) {
        job().complain(told);
        job().scheduler().may_switch();
    }
}

/// Messages are under way while all ranks meet in exchanges: what fails of the ones is not told by
/// the others, nor does a rank leave these for it.
void messages_during_exchanges(Rank& rank) {
    const int opposite = (rank.number() + rank.size() / 2) % rank.size();
    constexpr size_t times = 12;
    std::vector<int> received(times, -1);
    bool is_told = false;
    try {
        if (!rank.has_core()) { throw Stopped(); }
        for (int i = 0; i < 9; ++i) {
            exchange(rank, 7, 100);
            check(rank.barrier(MPI_COMM_WORLD));
        }
        for (size_t i = 0; i < times; ++i) {
            std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
            const int number = rank.number();
            check(rank.irecv(&received[i], 1, MPI_INT, opposite, 7, MPI_COMM_WORLD, &requests[0]));
            check(rank.isend(&number, 1, MPI_INT, opposite, 7, MPI_COMM_WORLD, &requests[1]));
            try {
                exchange_all_to_all(rank, true);
            } catch (const Stopped&) {
                ADD_FAILURE() << "an exchange tells of " << job().failed_place();
                throw;
            }
            is_told = rank.waitall(2, requests.data(), MPI_STATUSES_IGNORE) != MPI_SUCCESS;
            if (is_told) { break; }
            EXPECT_EQ(received[i], opposite) << job().failed_place();
        }
    } catch (const Stopped&) { is_told = true; }
    if (is_told) {
        job().complain(told);
        job().scheduler().may_switch();
    }
}

/// Graphs in which each rank has edges to the next one, some times, and to the one behind that.
void graphs(Rank& rank) {
    const int size = rank.size();
    const auto away = [&](int distance) { return (rank.number() + size + distance) % size; };
    try {
        if (!rank.has_core()) { throw Stopped(); }
        bool are_right = true;
        for (const size_t times : {1, 3, 6000}) { // the last ones have no room in a block
            std::vector<int> destinations(times, away(1));
            destinations.push_back(away(2));
            MPI_Comm made = MPI_COMM_NULL;
            check(rank.dist_graph_create(MPI_COMM_WORLD, destinations, &made));
            std::vector<int> wanted(times, away(-1));
            wanted.push_back(away(-2));
            std::sort(wanted.begin(), wanted.end());
            are_right = are_right && job().comm(made)->sources == wanted;
            check(rank.comm_free(&made));
        }
        // They may lack the edges of a rank that has been told of an error, which ends the job.
        check(rank.barrier(MPI_COMM_WORLD));
        EXPECT_TRUE(are_right) << job().failed_place();
    } catch (const Stopped&) {
        job().complain(told);
        job().scheduler().may_switch();
    }
}

/// Sums, of which the first ones are MPI's.
void reductions(Rank& rank) {
    constexpr int left_to_mpi = 30;
    const int size = rank.size();
    try {
        if (!rank.has_core()) { throw Stopped(); }
        for (int i = 0; i < left_to_mpi + 6; ++i) {
            const int count = i % 2 == 0 ? 1 : 50;
            std::vector<int> terms(static_cast<size_t>(count), rank.number() + i);
            std::vector<int> sums(terms.size(), -1);
            check(rank.allreduce(terms.data(), sums.data(), count, MPI_SUM, MPI_COMM_WORLD));
            const std::vector<int> wanted(terms.size(), size * (size - 1) / 2 + i * size);
            EXPECT_EQ(sums, wanted) << job().failed_place();
        }
    } catch (const Stopped&) {
        job().complain(told);
        job().scheduler().may_switch();
    }
}

/// Functions that only fail for arguments that are wrong, which the library's are not; and
/// MPI_Request_get_status, whose error says that the request is complete.
bool can_fail(const std::string& function) {
    static const std::set<std::string> cannot = {
        "MPI_Comm_get_attr",       "MPI_Comm_get_errhandler", "MPI_Comm_set_errhandler",
        "MPI_Comm_group",          "MPI_Group_free",          "MPI_Type_free",
        "MPI_Errhandler_free",     "MPI_Grequest_complete",   "MPI_Request_get_status",
        "MPI_Comm_free",           "MPI_Request_free",        "MPI_Group_translate_ranks",
        "MPI_Status_set_elements", "MPI_Comm_call_errhandler"};
    return cannot.count(function) == 0;
}

/// What becomes of a job in which that call fails: empty, if all is well or an error is told.
std::string outcome(uint64_t seed, const Failure& failure,
                    const std::function<void(Rank&)>& program = scripted::program,
                    Settings settings = {}) {
    settings.failure = failure;
    Job job(seed, settings);
    std::string ended = run(job, program);
    EXPECT_TRUE(job.has_failed());
    if (ended.find(told) != std::string::npos) { return ""; }
    if (ended.empty()) { ended = job.left_over(); }
    return ended.empty() ? ended : job.failed_place() + " has failed: " + ended;
}

/// What becomes of the program if memory is refused to one rank: the time number `refused`, 0:
/// never. `made`: how often it has asked for some.
std::string outcome_without_memory(uint64_t seed, const std::function<void(Rank&)>& program,
                                   uint64_t refused, uint64_t& made) {
    const int victim = static_cast<int>(seed % 4);
    Job job(seed, {});
    const std::string ended = run(job, [&](Rank& rank) {
        if (rank.number() == victim) { watch_allocations(victim, refused); }
        program(rank);
        if (rank.number() == victim) { made = end_watch(); }
    });
    end_watch();
    EXPECT_EQ(job.has_failed(), refused > 0);
    if (ended.find(told) != std::string::npos) { return ""; }
    return ended.empty() ? ended : job.failed_place() + " was refused: " + ended;
}

/// To one rank in turn, one time in so many.
void refuse_memory(const std::function<void(Rank&)>& program, uint64_t step) {
    if (!can_refuse_memory()) { GTEST_SKIP() << "a sanitizer has its own memory"; }
    for (const uint64_t seed : seeds(4)) {
        uint64_t made = 0;
        ASSERT_EQ(outcome_without_memory(seed, program, 0, made), "");
        ASSERT_GT(made, 0);
        const uint64_t all = made;
        for (uint64_t number = 1 + seed % step; number <= all; number += step) {
            EXPECT_EQ(outcome_without_memory(seed, program, number, made), "")
                << "seed " << seed << ", allocation " << number << " of " << all;
        }
    }
}

/// Calls of one rank that fail, of each function some.
void fail_in(const std::function<void(Rank&)>& program, const Settings& settings, uint64_t seed,
             int most = 2) {
    const int rank = static_cast<int>(seed % settings.nodes.size());
    Random random(seed);
    Job job(seed, settings);
    ASSERT_EQ(run(job, program), "");
    const auto all = job.process(rank).calls;
    const auto before = job.process(rank).calls_of_start;
    for (const auto& [function, count] : all) {
        const auto found = before.find(function);
        const uint64_t first = found == before.end() ? 0 : found->second;
        if (first == count || !can_fail(function)) { continue; }
        for (int i = 0; i < most; ++i) {
            const uint64_t number = first + 1 + random.below(count - first);
            ASSERT_EQ(outcome(seed, {rank, function, number}, program, settings), "")
                << "seed " << seed << ", call " << number;
        }
    }
}

} // namespace

TEST(Failures, AreToldAndNobodyWaits) {
    set_options({{"STRATEGY", "p2p:gathered,ialltoallv:gathered"}, {"LOG", "off"}});
    for (const uint64_t seed : seeds(4)) { fail_in(program, {}, seed); }
}

/// What a node passes on for others comes from it, or they learn that it does not.
TEST(Failures, OfRelaysAreToldAndNobodyWaits) {
    set_options({{"STRATEGY", "radix,p2p:native"}, {"RADIX", "2"}, {"LOG", "off"}});
    Settings settings;
    settings.nodes = {0, 1, 2, 3, 0, 4};
    for (const uint64_t seed : seeds(4)) { fail_in(exchanges, settings, seed, 4); }
}

/// Only the library's look for messages calls the function that fails, also while its rank waits in
/// an exchange.
TEST(Failures, OfMessagesAreNotToldByExchanges) {
    set_options({{"STRATEGY", "three_step,p2p:gathered"}, {"LOG", "off"}});
    for (const uint64_t seed : seeds(8)) {
        const int rank = static_cast<int>(seed % 4);
        Job job(seed, {});
        ASSERT_EQ(run(job, messages_during_exchanges), "");
        const uint64_t all = job.process(rank).calls.at("MPI_Improbe");
        for (uint64_t number = all / 2; number < all; number += 1 + all / 40) {
            ASSERT_EQ(outcome(seed, {rank, "MPI_Improbe", number}, messages_during_exchanges), "")
                << "seed " << seed << ", call " << number << " of " << all;
        }
    }
}

TEST(Failures, OfMemoryAreToldAndNobodyWaits) {
    set_options({{"STRATEGY", "three_step,ialltoallv:gathered,p2p:native"}, {"LOG", "off"}});
    refuse_memory(exchanges, 5);
}

TEST(Failures, OfGraphsAreToldAndNobodyWaits) {
    set_options({{"STRATEGY", "dist_graph_create:model,p2p:native"}, {"LOG", "off"}});
    for (const uint64_t seed : seeds(4)) { fail_in(graphs, {}, seed); }
}

TEST(Failures, OfMemoryForGraphsAreToldAndNobodyWaits) {
    set_options({{"STRATEGY", "dist_graph_create:model,p2p:native"}, {"LOG", "off"}});
    refuse_memory(graphs, 7);
}

TEST(Failures, OfReductionsAreToldAndNobodyWaits) {
    set_options({{"STRATEGY", "three_step,p2p:native"}, {"LOG", "off"}});
    Settings settings;
    settings.nodes = {0, 0, 1, 1, 2};
    for (const uint64_t seed : seeds(6)) { fail_in(reductions, settings, seed, 4); }
}

TEST(Failures, OfMemoryForReductionsAreToldAndNobodyWaits) {
    set_options({{"STRATEGY", "three_step,p2p:native"}, {"LOG", "off"}});
    refuse_memory(reductions, 5);
}

/// Other ranks may wait for one whose MPI_Init has failed; but nothing breaks.
TEST(Failures, OfTheStartBreakNothing) {
    set_options({{"STRATEGY", "p2p:gathered,ialltoallv:gathered"}, {"LOG", "off"}});
    for (uint64_t number = 1; number <= 60; ++number) {
        const std::string ended = outcome(number, {1, "", number});
        EXPECT_EQ(ended.find("exception"), std::string::npos) << ended;
    }
}

} // namespace scripted
