// Nonblocking exchanges of large messages between memories of devices and of hosts, with an MPI
// that does not know the former. A rank that has begun one may sit in any call of MPI until others
// have waited for theirs.
//
// large_nonblocking_test [fail]: `fail` expects that a call of the driver fails somewhere
// (GPU_STAND_IN_FAIL): then results may be wrong if some rank is told.

#include "tests/mpi/device/case.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int large = 600000; ///< ints: MPI sends them by rendezvous

std::size_t size(int count) { return static_cast<std::size_t>(count); }

std::vector<int> content(int source, int length, int number = 0) {
    std::vector<int> ints(size(length));
    for (std::size_t i = 0; i < ints.size(); ++i) {
        ints[i] = source * 10000000 + number * 1000000 + static_cast<int>(i);
    }
    return ints;
}

struct Shift {
    int sent = 0;
    int expected = 0;
};

/// Every rank sends to the next one.
void shift(const Form& form, const Shift& lengths, bool must_fit = true) {
    const int next = (rank + 1) % ranks;
    const int last = (rank + ranks - 1) % ranks;
    std::vector<int> send_counts(size(ranks)), receive_counts(size(ranks)), places(size(ranks));
    send_counts[size(next)] = lengths.sent;
    receive_counts[size(last)] = lengths.expected;
    const Array source(form.from, size(lengths.sent));
    const Array target(form.to, size(lengths.expected));
    source.write(content(rank, lengths.sent));
    std::vector<int> expected(size(lengths.expected), -1);
    target.write(expected);
    const StandInCounts before = stand_in_counts();
    MPI_Request request = MPI_REQUEST_NULL;
    const auto begin = [&] {
        return MPI_Ialltoallv(source.data(), send_counts.data(), places.data(), MPI_INT,
                              target.data(), receive_counts.data(), places.data(), MPI_INT,
                              MPI_COMM_WORLD, &request);
    };
    if (!must_fit) {
        const int code = begin() == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : 1;
        require(code != MPI_SUCCESS, "more than is expected is no error");
        return;
    }
    call("MPI_Ialltoallv", begin);
    call("MPI_Wait", [&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
    require_clean(before);
    const auto sent = content(last, lengths.sent);
    std::copy_n(sent.begin(), std::min(sent.size(), expected.size()), expected.begin());
    require(target.read() == expected, "wrong bytes");
    require(source.read() == content(rank, lengths.sent), "what is sent has changed");
}

/// The same with every other int, at one end or both.
void shift_with_gaps(const Form& form, bool has_source_gaps, bool has_target_gaps) {
    const int next = (rank + 1) % ranks;
    const int last = (rank + ranks - 1) % ranks;
    MPI_Datatype gaps = MPI_DATATYPE_NULL;
    MPI_Datatype dense = MPI_DATATYPE_NULL;
    MPI_Type_vector(large, 1, 2, MPI_INT, &gaps);
    MPI_Type_contiguous(large, MPI_INT, &dense);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&dense);
    const auto spread = [](const std::vector<int>& ints, bool has_gaps) {
        if (!has_gaps) { return ints; }
        std::vector<int> spread(ints.size() * 2, -3);
        for (std::size_t i = 0; i < ints.size(); ++i) { spread[2 * i] = ints[i]; }
        return spread;
    };
    const auto sent = spread(content(rank, large), has_source_gaps);
    const auto expected = spread(content(last, large), has_target_gaps);
    const Array source(form.from, sent.size());
    const Array target(form.to, expected.size());
    source.write(sent);
    target.write(std::vector<int>(expected.size(), -3));
    std::vector<int> send_counts(size(ranks)), receive_counts(size(ranks)), places(size(ranks));
    send_counts[size(next)] = 1;
    receive_counts[size(last)] = 1;
    const std::vector<MPI_Datatype> send_types(size(ranks), has_source_gaps ? gaps : dense);
    const std::vector<MPI_Datatype> receive_types(size(ranks), has_target_gaps ? gaps : dense);
    MPI_Request request = MPI_REQUEST_NULL;
    call("MPI_Ialltoallw", [&] {
        return MPI_Ialltoallw(source.data(), send_counts.data(), places.data(), send_types.data(),
                              target.data(), receive_counts.data(), places.data(),
                              receive_types.data(), MPI_COMM_WORLD, &request);
    });
    call("MPI_Wait", [&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
    require(target.read() == expected, "with gaps: wrong bytes");
    MPI_Type_free(&gaps);
    MPI_Type_free(&dense);
}

/// Two neighbors that are one rank: what is large keeps its order, which is not the same with every
/// MPI.
void twice_to_one(const Form& form) {
    const std::array<int, 2> next = {(rank + 1) % ranks, (rank + 1) % ranks};
    const std::array<int, 2> last = {(rank + ranks - 1) % ranks, (rank + ranks - 1) % ranks};
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, last.data(), MPI_UNWEIGHTED, 2, next.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    auto sent = content(rank, large, 1);
    const auto more = content(rank, large, 2);
    sent.insert(sent.end(), more.begin(), more.end());
    std::vector<int> expected(sent.size());
    PMPI_Neighbor_alltoall(sent.data(), large, MPI_INT, expected.data(), large, MPI_INT, graph);
    const Array source(form.from, sent.size());
    const Array target(form.to, expected.size());
    source.write(sent);
    MPI_Request request = MPI_REQUEST_NULL;
    call("MPI_Ineighbor_alltoall", [&] {
        return MPI_Ineighbor_alltoall(source.data(), large, MPI_INT, target.data(), large, MPI_INT,
                                      graph, &request);
    });
    call("MPI_Wait", [&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
    require(target.read() == expected, "two messages to one neighbor: wrong bytes");
    MPI_Comm_free(&graph);
}

/// Several under way, the last waited for first, on a communicator that is freed meanwhile.
void many_at_a_time() {
    constexpr int many = 6;
    const int next = (rank + 1) % ranks;
    const int last = (rank + ranks - 1) % ranks;
    std::vector<int> send_counts(size(ranks)), receive_counts(size(ranks)), places(size(ranks));
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<std::unique_ptr<Array>> sources, targets;
    std::vector<MPI_Request> requests(many, MPI_REQUEST_NULL);
    for (int i = 0; i < many; ++i) {
        const int length = large + i;
        sources.push_back(std::make_unique<Array>(kinds[size(i) % kinds.size()], size(length)));
        targets.push_back(
            std::make_unique<Array>(kinds[size(i + rank) % kinds.size()], size(length)));
        sources.back()->write(content(rank, length, i));
        send_counts[size(next)] = length;
        receive_counts[size(last)] = length;
        call("MPI_Ialltoallv of many", [&] {
            return MPI_Ialltoallv(sources.back()->data(), send_counts.data(), places.data(),
                                  MPI_INT, targets.back()->data(), receive_counts.data(),
                                  places.data(), MPI_INT, comm, &requests[size(i)]);
        });
    }
    MPI_Comm_free(&comm);
    for (int i = many - 1; i >= 0; --i) {
        call("MPI_Wait", [&] { return MPI_Wait(&requests[size(i)], MPI_STATUS_IGNORE); });
        require(targets[size(i)]->read() == content(last, large + i, i),
                "several at a time: wrong bytes");
    }
}

/// A call that ends only when all ranks, or two, are in it.
void meet(int how, MPI_Comm comm, bool is_first) {
    const int further = (rank + 2) % ranks;
    int number = 0;
    int sum = 0;
    MPI_Comm made = MPI_COMM_NULL;
    if (how == 0) { MPI_Barrier(comm); }
    if (how == 1) { MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm); }
    if (how == 2 && is_first) { MPI_Ssend(&number, 1, MPI_INT, further, 5, comm); }
    if (how == 2 && !is_first) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, 5, comm, &status);
        MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, 5, comm, MPI_STATUS_IGNORE);
    }
    if (how == 3) {
        MPI_Comm_dup(comm, &made);
        MPI_Comm_free(&made);
    }
    if (how == 4) {
        std::vector<int> from(size(ranks)), to(size(ranks));
        MPI_Alltoall(from.data(), 1, MPI_INT, to.data(), 1, MPI_INT, comm);
    }
}

/// Half of the ranks meet before they wait, the others wait before they meet.
void waited_for_in_turn() {
    if (ranks % 4 != 0) { return; }
    const int next = (rank + 1) % ranks;
    const int last = (rank + ranks - 1) % ranks;
    std::vector<int> send_counts(size(ranks)), receive_counts(size(ranks)), places(size(ranks));
    send_counts[size(next)] = large;
    receive_counts[size(last)] = large;
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    const bool is_first = rank / 2 % 2 == 0;
    for (int how = 0; how < 5; ++how) {
        const Array source(Kind::device, size(large));
        const Array target(Kind::device, size(large));
        source.write(content(rank, large, how));
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ialltoallv(source.data(), send_counts.data(), places.data(), MPI_INT, target.data(),
                       receive_counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD, &request);
        if (is_first) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
        meet(how, other, is_first);
        if (!is_first) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
        require(target.read() == content(last, large, how), "waited for in turn: wrong bytes");
    }
    MPI_Comm_free(&other);
}

void all() {
    const Shift alike{large, large};
    for (const Kind from : kinds) {
        for (const Kind to : kinds) { shift({from, to}, alike); }
    }
    many_at_a_time();
    waited_for_in_turn();
    // By many ranks at a time, and odd lengths.
    for (const int length : {16384, 16385, 262145, 3 * large + 1}) {
        shift({Kind::device, Kind::device}, {length, length});
    }
    for (const Kind to : {Kind::device, Kind::host}) {
        shift({Kind::device, to}, {large / 2, large}); // as MPI takes it
        shift({Kind::host, to}, {large / 2, large});
        shift({Kind::device, to}, {large, large / 2}, false);
        shift({Kind::device, to}, {large, 15000}, false);
        shift({Kind::device, to}, alike); // all is well again
        for (const Kind from : {Kind::device, Kind::host}) {
            shift_with_gaps({from, to}, false, true);
            shift_with_gaps({from, to}, true, false);
            shift_with_gaps({from, to}, true, true);
            twice_to_one({from, to});
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    may_fail = argc > 1 && std::string(argv[1]) == "fail";
    use_devices();
    all();
    const std::array<int, 3> own = {wrong, errors, static_cast<int>(stand_in_counts().faults)};
    std::array<int, 3> sums{};
    MPI_Allreduce(own.data(), sums.data(), 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const auto [all_wrong, all_errors, faults] = sums;
    const bool is_right = may_fail ? faults > 0 && (all_wrong == 0 || all_errors > 0)
                                   : all_wrong == 0 && all_errors == 0;
    if (rank == 0) {
        std::printf("%d wrong, %d errors, %d faults\n", all_wrong, all_errors, faults);
    }
    MPI_Finalize();
    return is_right ? 0 : 1;
}
