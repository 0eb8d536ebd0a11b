// Each function of the driver fails at each of its calls (of many calls, at some of the later), on
// one rank, in exchanges of all forms: every rank gets the right bytes or some rank is told;
// nothing is left behind; and the next exchange is right.
//
// every_failure_test [left_to_mpi]: that is what becomes of the calls.

#include "tests/mpi/device/case.hpp"
#include "tests/mpi/persistent.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int failing_rank = 1;
constexpr std::array functions = {"cuMemHostRegister_v2", // first: nothing is pinned twice
                                  "cuMemcpyDtoHAsync_v2",
                                  "cuMemcpyHtoDAsync_v2",
                                  "cuMemcpyDtoDAsync_v2",
                                  "cuMemcpy2DAsync_v2",
                                  "cuStreamSynchronize",
                                  "cuEventCreate",
                                  "cuStreamWaitEvent",
                                  "cuEventRecord",
                                  "cuEventQuery",
                                  "cuEventSynchronize",
                                  "cuEventDestroy_v2",
                                  "cuCtxPushCurrent_v2",
                                  "cuThreadExchangeStreamCaptureMode",
                                  "cuDevicePrimaryCtxGetState",
                                  "cuDevicePrimaryCtxRetain",
                                  "cuDeviceGet",
                                  "cuPointerGetAttributes"};

enum class Way { blocking, nonblocking, persistent, in_place };

struct Case {
    const char* name;
    Way way;
    Kind from;
    Kind to;
    int most; ///< ints of one message
};
constexpr int large = 40000; // is copied by itself
constexpr std::array cases = {
    Case{"small", Way::blocking, Kind::device, Kind::pool, 4},
    Case{"large", Way::blocking, Kind::pool, Kind::pool, large},
    Case{"large within a device", Way::blocking, Kind::device, Kind::device, large},
    Case{"in place", Way::in_place, Kind::device, Kind::device, 4},
    Case{"large in place", Way::in_place, Kind::pool, Kind::pool, large},
    Case{"small nonblocking", Way::nonblocking, Kind::pool, Kind::managed, 4},
    Case{"large nonblocking", Way::nonblocking, Kind::device, Kind::pool, large},
    Case{"large persistent", Way::persistent, Kind::device, Kind::pool, large}};

/// What came of one exchange on this rank.
struct Outcome {
    int faults = 0;
    int errors = 0;
    int wrong = 0;
    int left = 0; ///< what should be gone
};

int run_exchange(const Case& tried, const Blocks& blocks, const Array& source,
                 const Array& target) {
    MPI_Request request = MPI_REQUEST_NULL;
    const void* const sent = tried.way == Way::in_place ? MPI_IN_PLACE : source.data();
    const auto with = [&](auto function, auto... more) {
        return function(sent, blocks.send_counts.data(), blocks.send_places.data(), MPI_INT,
                        target.data(), blocks.receive_counts.data(), blocks.receive_places.data(),
                        MPI_INT, MPI_COMM_WORLD, more...);
    };
    switch (tried.way) {
    case Way::nonblocking: {
        const int code = with(MPI_Ialltoallv, &request);
        return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    case Way::persistent: {
        int code = with(NODEAWARE_TEST_PERSISTENT(Alltoallv), MPI_INFO_NULL, &request);
        if (code != MPI_SUCCESS) { return code; }
        for (int start = 0; start < 2; ++start) {
            const int started = MPI_Start(&request);
            const int ended = MPI_Wait(&request, MPI_STATUS_IGNORE);
            code = std::max({code, started, ended});
        }
        MPI_Request_free(&request);
        return code;
    }
    default: return with(MPI_Alltoallv);
    }
}

/// The `call`-th call of the function fails on one rank; 0: none.
Outcome attempt(const Case& tried, const char* function, long failing_call) {
    // In place counts are the same both ways: the blocks of all ranks are as large.
    const Blocks blocks(tried.most, tried.way == Way::in_place);
    const Array source(tried.from, blocks.sent.size());
    const Array target(tried.to, blocks.expected.size());
    source.write(blocks.sent);
    target.write(tried.way == Way::in_place ? blocks.sent : blocks.untouched());
    Outcome outcome;
    const int wrong_before = wrong;
    const int errors_before = errors;
    const StandInCounts before = stand_in_counts();
    stand_in_fail(function, rank == failing_rank ? failing_call : 0);
    call(tried.name, [&] { return run_exchange(tried, blocks, source, target); });
    const StandInCounts after = stand_in_counts();
    outcome.errors = errors - errors_before;
    outcome.faults = static_cast<int>(after.faults - before.faults);
    outcome.left = wrong - wrong_before; // contexts
    // An event that cannot be destroyed is the driver's loss.
    const bool is_destroyed = std::strcmp(function, "cuEventDestroy_v2") != 0;
    outcome.left += static_cast<int>(after.under_way);
    if (is_destroyed) { outcome.left += static_cast<int>(after.events - before.events); }
    if (target.read() != blocks.expected || source.read() != blocks.sent) { outcome.wrong = 1; }
    return outcome;
}

Outcome sum_of(const Outcome& mine) {
    std::array<int, 4> own = {mine.faults, mine.errors, mine.wrong, mine.left};
    std::array<int, 4> all{};
    MPI_Allreduce(own.data(), all.data(), 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return {all[0], all[1], all[2], all[3]};
}

/// All calls of the function, and of many some; how many there were, at most.
long try_all(const Case& tried, const char* function, int* failures) {
    constexpr long many = 10;
    for (long failing_call = 1;; failing_call += failing_call < many ? 1 : 4) {
        const Outcome outcome = sum_of(attempt(tried, function, failing_call));
        const bool is_told = outcome.faults > 0 && outcome.errors > 0;
        const bool is_right = outcome.left == 0 && (is_told || outcome.wrong + outcome.errors == 0);
        const Outcome next = outcome.faults > 0 ? sum_of(attempt(tried, function, 0)) : Outcome{};
        const bool is_next_right = next.wrong + next.errors + next.left == 0;
        if (!is_right || !is_next_right) {
            ++*failures;
            if (rank == 0) {
                std::printf("%s, call %ld of %s: %d faults, %d errors, %d wrong, %d left; then %d "
                            "errors, %d wrong, %d left\n",
                            tried.name, failing_call, function, outcome.faults, outcome.errors,
                            outcome.wrong, outcome.left, next.errors, next.wrong, next.left);
            }
        }
        if (outcome.faults == 0) { return failing_call - 1; }
    }
}

/// Codes by which the driver says that it has not begun, has ended, finds no device or no such
/// address, or that a kernel has failed for good: memory of the host stays so.
int try_on_host() {
    int failures = 0;
    for (const int code : {3, 4, 100, 1, 700}) {
        stand_in_fail_with(code);
        for (const Way way : {Way::blocking, Way::nonblocking, Way::persistent}) {
            const Case tried{"on the host", way, Kind::host, Kind::host, 4};
            const Outcome outcome = sum_of(attempt(tried, "cuPointerGetAttributes", 1));
            if (outcome.faults > 0 && outcome.wrong + outcome.errors + outcome.left == 0) {
                continue;
            }
            ++failures;
            if (rank == 0) {
                std::printf("code %d on the host: %d errors\n", code, outcome.errors);
            }
        }
    }
    return failures;
}

} // namespace

int main(int argc, char** argv) {
    is_left_to_mpi = argc > 1 && std::string(argv[1]) == "left_to_mpi";
    may_fail = true;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    use_devices();
    int failures = 0;
    for (const char* const function : functions) {
        long calls = 0;
        for (const Case& tried : cases) { calls += try_all(tried, function, &failures); }
        // Copies that end later are the library's own; and what is pinned once stays so.
        const bool may_be_none = is_left_to_mpi || std::strstr(function, "DtoD") != nullptr ||
                                 std::strcmp(function, "cuEventSynchronize") == 0;
        if (rank == 0 && calls == 0 && !may_be_none) {
            std::printf("%s is never called\n", function);
            ++failures;
        }
    }
    failures += try_on_host();
    MPI_Bcast(&failures, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
