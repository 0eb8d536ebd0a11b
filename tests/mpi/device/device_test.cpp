// Exchanges between memories of devices, managed ones, and of hosts: only the driver may touch the
// former. What the driver is asked, and how often, is counted; contexts stay as they were.
//
// device_test [fail] [left_to_mpi]: `fail` expects that a call of the driver fails somewhere
// (GPU_STAND_IN_FAIL): then results may be wrong on some rank if some rank is told. `left_to_mpi`:
// that is what becomes of the calls. `aware`: MPI reaches the memory, and what goes straight is not
// copied. `arena`: large messages go by way of the memory that the ranks of a node share. `counts`:
// prints what the driver was asked to copy.

#include "tests/mpi/device/case.hpp"
#include "tests/mpi/device/neighbors.hpp"
#include "tests/mpi/device/several.hpp"
#include "tests/mpi/persistent.hpp"
#ifdef NODEAWARE_MPI_LARGE_COUNTS
#include "tests/mpi/device/large_counts.hpp"
#endif

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

bool is_aware = false;
bool are_counts_wanted = false;

void alltoallv(const Form& form, int most) {
    const Blocks blocks(most);
    const Array source(form.from, blocks.sent.size());
    const Array target(form.to, blocks.expected.size());
    source.write(blocks.sent);
    target.write(blocks.untouched());
    const StandInCounts before = stand_in_counts();
    const StandInCounts in_calls_before = in_calls;
    if (form.is_nonblocking) {
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_SUCCESS;
        call("MPI_Ialltoallv", [&] {
            return code = MPI_Ialltoallv(source.data(), blocks.send_counts.data(),
                                         blocks.send_places.data(), MPI_INT, target.data(),
                                         blocks.receive_counts.data(), blocks.receive_places.data(),
                                         MPI_INT, MPI_COMM_WORLD, &request);
        });
        finish(request, code, "MPI_Wait");
    } else {
        call("MPI_Alltoallv", [&] {
            return MPI_Alltoallv(source.data(), blocks.send_counts.data(),
                                 blocks.send_places.data(), MPI_INT, target.data(),
                                 blocks.receive_counts.data(), blocks.receive_places.data(),
                                 MPI_INT, MPI_COMM_WORLD);
        });
    }
    const StandInCounts after = stand_in_counts();
    const std::uint64_t of_trace = std::getenv("NODEAWARE_TRACE") == nullptr ? 0 : 1;
    // Left to MPI, it is looked at again.
    const std::uint64_t asked = (is_left_to_mpi ? 6 : 2) + of_trace;
    require(after.queries - before.queries <= asked, "more than two questions for plain buffers");
    const bool is_by_host = form.from == Kind::host && form.to == Kind::host;
    const std::uint64_t calls = in_calls.calls - in_calls_before.calls;
    require(!is_by_host || calls == in_calls.queries - in_calls_before.queries,
            "of what is on the host the driver is asked more than where that is");
    const bool is_straight = is_aware && most > 4;
    const std::uint64_t moved = (blocks.sent.size() + blocks.expected.size()) * sizeof(int);
    require(!is_straight || after.bytes - before.bytes < moved / 2, "copied on the way");
    const bool is_of_device = form.from == Kind::device && !may_fail;
    require(!is_of_device || after.synchronous > before.synchronous,
            "copies by the application are not made synchronous");
    const bool is_small = most <= 4 && !may_fail;
    require_clean(before);
    require(!is_small || after.copies - before.copies <= static_cast<std::uint64_t>(ranks) + 1,
            "what is sent is not copied at once");
    require(target.read() == blocks.expected, "alltoallv: wrong bytes");
    require(source.read() == blocks.sent, "alltoallv: what is sent has changed");
}

void alltoallv_in_place(Kind kind) {
    Blocks blocks(4);
    for (int peer = 0; peer < ranks; ++peer) { // both ways as much
        blocks.send_counts[static_cast<std::size_t>(peer)] = (rank + peer) % 4;
    }
    std::vector<int> places, sent, expected;
    for (int peer = 0; peer < ranks; ++peer) {
        places.push_back(static_cast<int>(sent.size()));
        for (int i = 0; i < (rank + peer) % 4; ++i) {
            sent.push_back(value(rank, peer, i));
            expected.push_back(value(peer, rank, i));
        }
    }
    const Array target(kind, sent.size());
    target.write(sent);
    call("MPI_Alltoallv in place", [&] {
        return MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, target.data(),
                             blocks.send_counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
    });
    require(target.read() == expected, "alltoallv in place: wrong bytes");
}

void alltoall(const Form& form, int each, MPI_Comm comm = MPI_COMM_WORLD) {
    const Blocks blocks(each, true);
    const Array source(form.from, blocks.sent.size());
    const Array target(form.to, blocks.expected.size());
    source.write(blocks.sent);
    target.write(blocks.untouched());
    const StandInCounts before = stand_in_counts();
    call("MPI_Alltoall", [&] {
        return MPI_Alltoall(source.data(), each, MPI_INT, target.data(), each, MPI_INT, comm);
    });
    const StandInCounts after = stand_in_counts();
    const bool is_small = each < 1000 && !may_fail;
    require(!is_small || after.copies - before.copies <= 2, "not all is copied at once");
    require_clean(before);
    require(target.read() == blocks.expected, "alltoall: wrong bytes");
}

/// Blocks that are alike and equally far apart are rows of one copy.
void blocks_apart(int each) {
    std::vector<int> counts, places, sent, expected;
    for (int peer = 0; peer < ranks; ++peer) {
        counts.push_back(each);
        places.push_back(static_cast<int>(sent.size()));
        for (int i = 0; i < each; ++i) {
            sent.push_back(value(rank, peer, i));
            expected.push_back(value(peer, rank, i));
        }
        sent.resize(sent.size() + 2, -7);
        expected.resize(expected.size() + 2, -1);
    }
    const Array source(Kind::device, sent.size());
    const Array target(Kind::device, expected.size());
    source.write(sent);
    target.write(std::vector<int>(expected.size(), -1));
    const StandInCounts before = stand_in_counts();
    call("MPI_Alltoallv of blocks apart", [&] {
        return MPI_Alltoallv(source.data(), counts.data(), places.data(), MPI_INT, target.data(),
                             counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
    });
    const StandInCounts after = stand_in_counts();
    const bool is_pinned = std::getenv("GPU_STAND_IN_PINS_NOTHING") == nullptr;
    require(may_fail || is_aware || !is_pinned || after.copies - before.copies <= 2,
            "not one copy of rows");
    require_clean(before);
    require(target.read() == expected, "blocks apart: wrong bytes");
}

/// What the application has given to its default stream comes before all copies of the exchange.
void behind_default_stream(int each) {
    const Blocks blocks(each, true);
    const Array source(Kind::device, blocks.sent.size());
    const Array target(Kind::device, blocks.expected.size());
    const std::vector<int> untouched = blocks.untouched();
    source.begin_write(blocks.sent);
    target.begin_write(untouched);
    call("MPI_Alltoall behind the default stream", [&] {
        return MPI_Alltoall(source.data(), each, MPI_INT, target.data(), each, MPI_INT,
                            MPI_COMM_WORLD);
    });
    require(stand_in_counts().under_way == 0, "the default stream is not followed");
    require(target.read() == blocks.expected, "behind the default stream: wrong bytes");
}

/// Columns of a matrix, with a datatype whose bytes do not lie side by side: nothing between them
/// may be written.
void columns(const Form& form, int rows = 5) {
    const int width = ranks + 1;
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    MPI_Type_vector(rows, 1, width, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &resized);
    MPI_Type_commit(&resized);
    std::vector<int> sent(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width), -5);
    std::vector<int> expected(sent.size(), -6);
    const std::vector<int> untouched = expected;
    for (int peer = 0; peer < ranks; ++peer) {
        for (int row = 0; row < rows; ++row) {
            const int place = row * width + peer;
            const auto at = static_cast<std::size_t>(place);
            sent[at] = value(rank, peer, row);
            expected[at] = value(peer, rank, row);
        }
    }
    const Array source(form.from, sent.size());
    const Array target(form.to, sent.size());
    source.write(sent);
    target.write(untouched);
    const StandInCounts before = stand_in_counts();
    if (form.is_nonblocking) {
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_SUCCESS;
        call("MPI_Ialltoall", [&] {
            return code = MPI_Ialltoall(source.data(), 1, resized, target.data(), 1, resized,
                                        MPI_COMM_WORLD, &request);
        });
        MPI_Type_free(&resized);
        finish(request, code, "MPI_Wait");
    } else {
        std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
        std::vector<int> places(ones.size());
        for (std::size_t i = 0; i < places.size(); ++i) {
            places[i] = static_cast<int>(i * sizeof(int));
        }
        const std::vector<MPI_Datatype> types(ones.size(), resized);
        call("MPI_Alltoallw", [&] {
            return MPI_Alltoallw(source.data(), ones.data(), places.data(), types.data(),
                                 target.data(), ones.data(), places.data(), types.data(),
                                 MPI_COMM_WORLD);
        });
        MPI_Type_free(&resized);
    }
    MPI_Type_free(&column);
    require_clean(before);
    require(target.read() == expected, "columns: wrong bytes");
    require(source.read() == sent, "columns: what is sent has changed");
}

/// Between two starts the memory is given back, and its addresses come to be another kind's.
void persistent() {
    constexpr int each = 3;
    const Blocks blocks(each, true);
    auto source = std::make_unique<Array>(Kind::device, blocks.sent.size());
    auto target = std::make_unique<Array>(Kind::other_device, blocks.expected.size());
    const int* const from = source->data();
    MPI_Request request = MPI_REQUEST_NULL;
    call("MPI_Alltoall_init", [&] {
        return NODEAWARE_TEST_PERSISTENT(Alltoall)(source->data(), each, MPI_INT, target->data(),
                                                   each, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                                   &request);
    });
    for (int times = 0; times < 3; ++times) {
        source->write(blocks.sent);
        target->write(blocks.untouched());
        call("MPI_Start", [&] { return MPI_Start(&request); });
        call("MPI_Wait", [&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
        require(target->read() == blocks.expected, "persistent: wrong bytes");
        source.reset();
        source =
            std::make_unique<Array>(times == 0 ? Kind::pool : Kind::managed, blocks.sent.size());
        require(source->data() == from, "the test itself: addresses do not come again");
    }
    MPI_Request_free(&request);
}

/// What is pinned of a communicator's memory is so as long as there is that memory.
void on_another_communicator() {
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_set_errhandler(reversed, MPI_ERRORS_RETURN);
    const int own = rank;
    rank = ranks - 1 - rank; // of this communicator
    alltoall({Kind::device, Kind::pool}, 50000, reversed);
    rank = own;
    const StandInCounts before = stand_in_counts();
    call("MPI_Comm_free", [&] { return MPI_Comm_free(&reversed); });
    const StandInCounts after = stand_in_counts();
    require(may_fail || !is_by_arena || after.pinned < before.pinned, "it stays pinned");
    require(after.pinned_and_gone == 0, "what is pinned is gone");
}

/// One rank's call is refused, and the others do not know: the next is right.
void one_errs_alone() {
    const Array source(Kind::device, 8);
    const Array target(Kind::device, 8);
    const std::vector<int> counts(static_cast<std::size_t>(ranks), -1);
    if (rank == 1) {
        const int code =
            MPI_Alltoallv(source.data(), counts.data(), counts.data(), MPI_INT, target.data(),
                          counts.data(), counts.data(), MPI_INT, MPI_COMM_WORLD);
        require(code != MPI_SUCCESS, "a count of -1 is accepted");
    }
    alltoall({Kind::device, Kind::pool}, 2);
}

/// As by cudaDeviceReset: contexts are others, nothing is pinned any more, and the library has
/// nothing of what was.
void after_a_reset() {
    for (int device = 0; device < 2; ++device) {
        const auto number = static_cast<std::size_t>(device);
        cuCtxSetCurrent(nullptr);
        driver_must(cuDevicePrimaryCtxReset_v2(device), "reset");
        driver_must(cuDevicePrimaryCtxRetain(&contexts[number], device), "context");
    }
    for (const int length : {2, 50000}) {
        const Blocks blocks(length, true);
        const Array source(Kind::device, blocks.sent.size());
        const Array target(Kind::other_device, blocks.expected.size());
        source.write(blocks.sent);
        target.write(blocks.untouched());
        call("MPI_Alltoall after a reset", [&] {
            return MPI_Alltoall(source.data(), length, MPI_INT, target.data(), length, MPI_INT,
                                MPI_COMM_WORLD);
        });
        const StandInCounts after = stand_in_counts();
        require(after.under_way == 0 && (may_fail || after.events == 0), "something is left");
        require(target.read() == blocks.expected, "after a reset: wrong bytes");
    }
}

/// Every rank may have another kind.
Kind kind_of(int i) {
    return kinds[static_cast<std::size_t>(i + (i % 2 == 0 ? rank : 0)) % kinds.size()];
}

void run_all(MPI_Comm graph, const std::vector<int>& shifts) {
    constexpr int large = 200000; // goes straight to its receiver
    for (int i = 0; i < 2 * static_cast<int>(kinds.size()); ++i) {
        for (const bool is_nonblocking : {false, true}) {
            const Form form{kind_of(i), kind_of(i / 2 + 1), is_nonblocking};
            alltoallv(form, 4);
            columns(form);
            neighbors(kind_of(i), is_nonblocking, graph, shifts);
            row_of_ranks(form);
        }
        alltoall({kind_of(i), kind_of(i + 3)}, 2);
        alltoallv_in_place(kind_of(i));
        several_at_once(i);
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        large_counts({kind_of(i), kind_of(i + 2)});
#endif
    }
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    alltoall({Kind::device, Kind::managed}, 3, twin);
    MPI_Comm_free(&twin);
    one_errs_alone();
    persistent();
    on_another_communicator();
    freed_in_flight(Kind::device, Kind::pool, 3);
    freed_in_flight(Kind::pool, Kind::managed, large / 4);
    several_to_one();
    alltoallv({Kind::device, Kind::pool}, large);
    columns({Kind::device, Kind::pool, true}, large / 4);
    columns({Kind::managed, Kind::device}, large / 4);
    alltoall({Kind::device, Kind::device}, large / 4); // its own block may stay on the device
    blocks_apart(1);
    blocks_apart(700);
    alltoallv({Kind::other_device, Kind::managed, true}, large);
    // An MPI that takes memory of devices knows nothing of streams.
    if (!is_aware && !may_fail) {
        behind_default_stream(3);
        behind_default_stream(large / 4);
    }
    // The library does not know what is pinned no more, and counts it wrong.
    if (!are_counts_wanted) { after_a_reset(); }
}

} // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        may_fail = may_fail || std::string(argv[i]) == "fail";
        are_counts_wanted = are_counts_wanted || std::string(argv[i]) == "counts";
        is_aware = is_aware || std::string(argv[i]) == "aware";
        is_left_to_mpi = is_left_to_mpi || std::string(argv[i]) == "left_to_mpi";
        is_by_arena = is_by_arena || std::string(argv[i]) == "arena";
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    use_devices();
    const std::vector<int> shifts = {1, 2, ranks - 1};
    MPI_Comm graph = make_graph(shifts);
    run_all(graph, shifts);
    MPI_Comm_free(&graph);
    require(stand_in_allocations() == 0, "allocations are left");
    const int faults = static_cast<int>(stand_in_counts().faults);
    std::array<int, 3> mine = {wrong, errors, faults};
    std::array<int, 3> all{};
    MPI_Allreduce(mine.data(), all.data(), 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const bool is_right = may_fail ? all[2] == 1 && (all[0] == 0 || all[1] > 0)
                                   : all[0] == 0 && all[1] == 0 && all[2] == 0;
    if (!is_right && rank == 0) {
        std::printf("%d wrong, %d errors, %d faults\n", all[0], all[1], all[2]);
    }
    std::array<unsigned long, 4> counts = {in_calls.bytes, in_calls.copies, in_calls.unpinned,
                                           in_calls.launches};
    std::array<unsigned long, 4> sums{};
    MPI_Allreduce(counts.data(), sums.data(), 4, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (are_counts_wanted && rank == 0) {
        std::printf("%lu bytes in %lu copies, %lu of them of memory that is not pinned, %lu "
                    "kernels\n",
                    sums[0], sums[1], sums[2], sums[3]);
    }
    // As by cudaDeviceReset: what the library has pinned is to be let go without a word.
    cuCtxSetCurrent(nullptr);
    for (int device = 0; device < 2; ++device) { cuDevicePrimaryCtxRelease(device); }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
