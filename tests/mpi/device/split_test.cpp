// What large messages of devices that some ranks of a node have go through on their way into the
// pieces that all of its ranks send: md, the owner copies each byte once; dd, others that use the
// device copy parts from the owner's slab. Ranks that send nothing, that have no context there, or
// no driver, are among those that send the pieces.
//
// split_test md|dd|either [without] [two] [reset] [fail FUNCTION [surely]]: `without`: some ranks
// have no driver; `two`: the ranks of a node use two devices; `reset`: of which some are reset
// meanwhile; `fail`: a call of FUNCTION fails (GPU_STAND_IN_FAIL), of which, if its name has Ipc or
// Mem in it, no rank is to hear; `surely`: before MPI_Finalize.

#include "tests/mpi/device/array.hpp"

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

int rank = 0;
int ranks = 0;
int wrong = 0;
int errors = 0;
std::string way;
bool has_driver = true;
bool are_two = false;
bool may_fail = false;
bool must_fail = false;
bool is_silent = false; ///< the failure

void require(bool is_right, const std::string& what) {
    if (is_right) { return; }
    ++wrong;
    std::printf("rank %d: %s\n", rank, what.c_str());
}

int value(int source, int destination, int i) {
    return source * 1000000 + destination * 10000 + i * 7;
}

int device_of(int of) { return are_two ? of % 2 : 0; }
Kind own_kind() { return device_of(rank) == 0 ? Kind::device : Kind::other_device; }

StandInCounts counts() { return has_driver ? stand_in_counts() : StandInCounts{}; }
void allow_failures(bool are_allowed) {
    if (has_driver) { stand_in_may_fail(are_allowed); }
}

struct Copied {
    unsigned long bytes = 0;
    unsigned long copies = 0;
};

/// Returns what this rank was seen to copy.
Copied exchange(const std::string& name, MPI_Comm comm, Kind from, Kind to,
                const std::function<int(int, int)>& count) {
    int own = 0;
    int size = 0;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &size);
    std::vector<int> sends, receives, send_places, receive_places, sent, expected;
    for (int peer = 0; peer < size; ++peer) {
        sends.push_back(count(own, peer));
        receives.push_back(count(peer, own));
        send_places.push_back(static_cast<int>(sent.size()));
        receive_places.push_back(static_cast<int>(expected.size()));
        for (int i = 0; i < sends.back(); ++i) { sent.push_back(value(own, peer, i)); }
        for (int i = 0; i < receives.back(); ++i) { expected.push_back(value(peer, own, i)); }
    }
    auto source = std::make_unique<Array>(from, sent.size());
    const Array target(to, expected.size());
    source->write(sent);
    target.write(std::vector<int>(expected.size(), -1));
    const StandInCounts before = counts();
    allow_failures(true);
    const int code =
        MPI_Alltoallv(source->data(), sends.data(), send_places.data(), MPI_INT, target.data(),
                      receives.data(), receive_places.data(), MPI_INT, comm);
    allow_failures(false);
    const StandInCounts after = counts();
    source.reset(); // which spoils it
    if (code != MPI_SUCCESS) { ++errors; }
    if (!may_fail || is_silent) { require(code == MPI_SUCCESS, name + ": fails"); }
    if (may_fail && !is_silent) {
        wrong += target.read() == expected ? 0 : 1;
    } else {
        require(target.read() == expected, name + ": wrong bytes");
    }
    require(after.under_way == 0, name + ": copies are under way");
    require(may_fail || after.events == 0, name + ": events are left");
    require(may_fail || after.unpinned == before.unpinned, name + ": not pinned");
    require(may_fail || after.pinned_again == before.pinned_again, name + ": pinned again");
    return {after.bytes - before.bytes, after.copies - before.copies};
}

unsigned long sum(unsigned long mine) {
    unsigned long all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

constexpr int large = 150000; ///< ints: more than is copied together
/// Ranks that have messages on a device: the first of a node, as nodes of 3, 1, 3, ... have it.
bool is_owner(int of) { return of % 4 == 0; }

/// One rank of a node has all that leaves it.
void one_has_all(MPI_Comm comm, int length) {
    const auto count = [&](int source, int destination) {
        return is_owner(source) && source != destination ? length + destination : 0;
    };
    const bool mine = is_owner(rank) && has_driver;
    const Copied copied =
        exchange("one has all", comm, mine ? own_kind() : Kind::host, Kind::host, count);
    unsigned long own = 0;
    for (int peer = 0; peer < ranks; ++peer) {
        own += static_cast<unsigned long>(count(rank, peer)) * sizeof(int);
    }
    const unsigned long helped = sum(mine ? 0 : copied.bytes);
    const unsigned long staged_and_copied = sum(copied.bytes);
    const unsigned long all = sum(mine ? own : 0);
    if (may_fail || length < large) { return; }
    if (way == "md") {
        require(helped == 0, "others copy, too");
        require(!mine || copied.bytes == own, "not each byte is copied once");
    }
    if (way == "dd") {
        require(helped > 0, "nobody helps");
        require(staged_and_copied == all + helped, "bytes are copied more than once");
    }
}

/// All have as much, in memory of all kinds.
void all_have_some(MPI_Comm comm, int shift) {
    const auto count = [&](int source, int destination) {
        return (source + destination + shift) % 3 == 0 ? 0 : 40000 + 5000 * (source % 3);
    };
    const std::array some = {own_kind(), Kind::host, own_kind()};
    const auto kind = [&](int i) {
        return has_driver ? some.at(static_cast<std::size_t>(rank + i) % some.size()) : Kind::host;
    };
    exchange("all have some", comm, kind(shift), kind(shift / 3), count);
}

/// Of small and large messages.
void some_are_small(MPI_Comm comm) {
    const auto count = [&](int source, int destination) {
        return (source + destination) % 2 == 0 ? large : 5;
    };
    exchange("some are small", comm, has_driver ? own_kind() : Kind::host,
             has_driver ? own_kind() : Kind::host, count);
}

void nothing(MPI_Comm comm) {
    exchange("nothing", comm, has_driver ? own_kind() : Kind::host, Kind::host,
             [](int, int) { return 0; });
}

void round(MPI_Comm comm) {
    one_has_all(comm, large);
    one_has_all(comm, large);
    one_has_all(comm, 3);
    for (int shift = 0; shift < (may_fail ? 1 : 6); ++shift) { all_have_some(comm, shift); }
    some_are_small(comm);
    nothing(comm);
    one_has_all(comm, large + 1);
}

/// As by cudaDeviceReset: what lies there is no more, and the device is used again.
void reset(int of) {
    if (rank != of || !has_driver) { return; }
    const int device = device_of(rank);
    cuCtxSetCurrent(nullptr);
    driver_must(cuDevicePrimaryCtxReset_v2(device), "reset");
    const auto place = static_cast<std::size_t>(device);
    driver_must(cuDevicePrimaryCtxRetain(&contexts.at(place), device), "context");
}

void fork_one() {
    const pid_t child = fork();
    if (child == 0) { _exit(0); }
    int status = 1;
    waitpid(child, &status, 0);
    require(status == 0, "the test itself: fork");
}

void use_one_device() {
    has_driver = cuInit(0) == 0;
    if (!has_driver) { return; }
    const int device = device_of(rank);
    const auto place = static_cast<std::size_t>(device);
    driver_must(cuDevicePrimaryCtxRetain(&contexts.at(place), device), "context");
}

void require_no_other_context() {
    if (!has_driver) { return; }
    unsigned flags = 0;
    int is_active = 0;
    cuDevicePrimaryCtxGetState(1 - device_of(rank), &flags, &is_active);
    require(is_active == 0, "a context was made");
}

bool is_without(const std::string& program) { return program.ends_with("_without"); }

/// Some ranks are another program, which has no driver.
void become_without(char** argv) {
    const char* place = std::getenv("OMPI_COMM_WORLD_RANK");
    if (place == nullptr) { place = std::getenv("PMI_RANK"); }
    if (place == nullptr || std::atoi(place) % 4 != 1) { return; }
    std::string program = std::string(argv[0]) + "_without";
    argv[0] = program.data();
    execv(program.c_str(), argv);
    std::printf("the test itself: no %s\n", program.c_str());
    std::exit(1);
}

bool is_right_in_all() {
    std::array<int, 3> mine = {wrong, errors, static_cast<int>(counts().faults)};
    std::array<int, 3> all{};
    MPI_Allreduce(mine.data(), all.data(), 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!may_fail) { return all[0] == 0 && all[1] == 0; }
    if (must_fail && all[2] != 1) { return false; }
    return is_silent ? all[0] == 0 && all[1] == 0 : all[0] == 0 || all[1] > 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    bool are_reset = false;
    bool are_some_without = false;
    way = words.at(0);
    for (std::size_t i = 1; i < words.size(); ++i) {
        are_some_without = are_some_without || words[i] == "without";
        are_two = are_two || words[i] == "two";
        are_reset = are_reset || words[i] == "reset";
        must_fail = must_fail || words[i] == "surely";
        if (words[i] != "fail") { continue; }
        may_fail = true;
        const std::string& function = words.at(++i);
        is_silent = function.starts_with("cuIpc") || function.starts_with("cuMemAlloc") ||
                    function.starts_with("cuMemFree");
    }
    if (are_some_without && !is_without(argv[0])) { become_without(argv); }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    use_one_device();
    require(has_driver != is_without(argv[0]), "the test itself: which program is it?");
    round(MPI_COMM_WORLD);
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    if (!may_fail) { round(twin); }
    MPI_Comm_free(&twin);
    MPI_Comm some = MPI_COMM_NULL; // with other neighbours on the node
    MPI_Comm_split(MPI_COMM_WORLD, rank == ranks - 1 ? 1 : 0, -rank, &some);
    MPI_Comm_set_errhandler(some, MPI_ERRORS_RETURN);
    all_have_some(some, 1);
    some_are_small(some);
    if (are_reset) {
        for (const int of : {0, 2, 4, 4}) {
            reset(of);
            fork_one();
            round(MPI_COMM_WORLD);
        }
    }
    some_are_small(some);
    MPI_Comm_free(&some);
    require_no_other_context();
    bool is_right = is_right_in_all();
    allow_failures(true);
    MPI_Finalize();
    allow_failures(false);
    if (has_driver) {
        wrong = 0;
        require(may_fail || stand_in_imports() == 0, "what was opened stays so");
        require(may_fail || stand_in_allocations() == 0, "allocations are left");
        require(stand_in_counts().freed_while_open == 0, "freed while others had it open");
        is_right = is_right && wrong == 0;
    }
    return is_right ? 0 : 1;
}
