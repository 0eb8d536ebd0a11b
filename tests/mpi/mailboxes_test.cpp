// mailboxes_test late | absent | slow | gaps | blocked | outside | finalize | testing | loop | ends
//
// Small messages of all ranks to all ranks on other nodes, while those whose memory they land in
// have something else to do.

#include "tests/mpi/harness.hpp"

#include <array>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr int tag = 5;
constexpr int done = 6;
constexpr int told = 7;
constexpr int line_bytes = 1500;

/// All ranks, or some.
using Members = std::function<bool(int)>;

class Program {
  public:
    Program(Harness& harness, bool meets) : harness_(harness) {
        for (int i = 0; i < 24; ++i) { // then messages travel together
            exchange(everybody);
            if (meets) { MPI_Barrier(MPI_COMM_WORLD); }
        }
    }
    static bool everybody(int /*rank*/) { return true; }
    int rank() const { return harness_.rank(); }
    int size() const { return harness_.size(); }

    /// Each of them sends to each other and receives from it.
    void exchange(const Members& members, bool tests = false) {
        ++round_;
        if (!members(rank())) { return; }
        const auto ranks = static_cast<size_t>(size());
        std::vector<std::vector<char>> sent(ranks), received(ranks);
        std::vector<MPI_Request> requests;
        const size_t stride = has_gaps_ ? 2 : 1;
        for (int peer = 0; peer < size(); ++peer) {
            if (peer == rank() || !members(peer)) { continue; }
            received[static_cast<size_t>(peer)].assign(stride * room(peer, rank()), gap);
            MPI_Datatype type = type_of(room(peer, rank()));
            MPI_Irecv(received[static_cast<size_t>(peer)].data(), 1, type, peer, tag,
                      MPI_COMM_WORLD, &requests.emplace_back());
            MPI_Type_free(&type);
        }
        if (meets_) { MPI_Barrier(MPI_COMM_WORLD); }
        for (int peer = 0; peer < size(); ++peer) {
            if (peer == rank() || !members(peer)) { continue; }
            sent[static_cast<size_t>(peer)].assign(length(rank(), peer), value(rank(), peer));
            MPI_Isend(sent[static_cast<size_t>(peer)].data(),
                      static_cast<int>(length(rank(), peer)), MPI_CHAR, peer, tag, MPI_COMM_WORLD,
                      &requests.emplace_back());
        }
        finish(requests, tests);
        for (int peer = 0; peer < size(); ++peer) {
            const auto& bytes = received[static_cast<size_t>(peer)];
            std::vector<char> expected(bytes.size(), gap);
            for (size_t i = 0; i < length(peer, rank()) && !bytes.empty(); ++i) {
                expected[stride * i] = value(peer, rank());
            }
            harness_.expect(bytes == expected,
                            "round " + std::to_string(round_) + ", from " + std::to_string(peer));
        }
    }

    /// Every rank in turn comes late.
    void late() {
        for (int i = 0; i < 40; ++i) {
            if (i % size() == rank()) { usleep(20000); }
            exchange(everybody);
            if (i % 4 == 0) { MPI_Barrier(MPI_COMM_WORLD); }
        }
    }

    /// One rank leaves the others to themselves, and looks after nothing until the end.
    void absent() {
        for (int i = 0; i < 60; ++i) {
            exchange([](int rank) { return rank != 0; });
            if (rank() == 0) { usleep(3000); }
        }
    }

    /// All others go on while the first rank takes what they tell it only now and then, which may
    /// be more than there is room for.
    void slow() {
        constexpr int rounds = 60;
        for (int i = 0; i < rounds; ++i) {
            exchange([](int rank) { return rank != 0; });
            if (rank() != 0) {
                std::vector<char> line(line_bytes, value(rank(), 0));
                MPI_Send(line.data(), line_bytes, MPI_CHAR, 0, told, MPI_COMM_WORLD);
                continue;
            }
            if (i % 20 != 19) { continue; }
            usleep(100000);
            for (int k = i - 19; k <= i; ++k) { take_lines(k - i); }
        }
    }

    /// Receives into every second byte, also of large messages and of small ones where there is
    /// room for large ones; all ranks meet while they wait.
    void gaps() {
        has_gaps_ = true;
        late();
        blocked();
        meets_ = true;
        for (int i = 0; i < 20; ++i) { exchange(everybody); }
    }

    /// Half of the ranks wait in a collective call of MPI meanwhile.
    void blocked() {
        for (int i = 0; i < 60; ++i) {
            exchange([i](int rank) { return rank % 2 == i % 2; });
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }

    /// One rank of each node is outside of MPI until all others have finished.
    void outside() {
        std::array<char, 64> name = {"/tmp/nodeaware_test_XXXXXX"};
        if (rank() == 0) {
            close(mkstemp(name.data()));
            unlink(name.data());
        }
        PMPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
        if (!stays(rank())) {
            struct stat found = {};
            while (stat(name.data(), &found) != 0) { usleep(1000); }
        }
        for (int i = 0; i < 3; ++i) { exchange(stays); }
        if (stays(rank())) {
            meet(stays);
            if (rank() == 1) { close(creat(name.data(), 0600)); }
        }
        PMPI_Barrier(MPI_COMM_WORLD);
        if (rank() == 1) { unlink(name.data()); }
    }

    /// One rank of each node has finished for good.
    void finalize() {
        for (int i = 0; i < 30 && stays(rank()); ++i) { exchange(stays); }
    }

    /// No rank ever calls a collective function.
    void loop() {
        for (int i = 0; i < 60; ++i) { exchange(everybody); }
    }

    /// Ranks finish at different times: what the library has to say to others meanwhile is not to
    /// be left in MPI, which says so (MPICH over UCX).
    void ends() {
        loop();
        constexpr unsigned apart = 130000; // microseconds
        usleep(apart * static_cast<unsigned>((rank() * 5) % size()));
    }

    /// Requests are tested until they are complete.
    void testing() {
        for (int i = 0; i < 40; ++i) {
            exchange(everybody, true);
            if (i % 4 == 0) { MPI_Barrier(MPI_COMM_WORLD); }
        }
    }

  private:
    /// All but one rank of each node, another one on each.
    static bool stays(int rank) { return rank % 3 != rank / 3 % 3; }

    /// Those of the round that was so many rounds ago (negative).
    void take_lines(int rounds) const {
        for (int peer = 1; peer < size(); ++peer) {
            std::vector<char> line(line_bytes);
            MPI_Recv(line.data(), line_bytes, MPI_CHAR, peer, told, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            const auto expected = static_cast<char>(value(peer, 0) + rounds);
            harness_.expect(line == std::vector<char>(line_bytes, expected),
                            "line of " + std::to_string(peer) + " of round " +
                                std::to_string(round_ + rounds));
        }
    }

    static void finish(std::vector<MPI_Request>& requests, bool tests) {
        const int count = static_cast<int>(requests.size());
        if (!tests) {
            MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
            return;
        }
        int flag = 0;
        while (flag == 0) { MPI_Testall(count, requests.data(), &flag, MPI_STATUSES_IGNORE); }
    }

    /// The first of them knows that all have come, then all know it, by messages alone.
    void meet(const Members& members) const {
        int first = 0;
        while (!members(first)) { ++first; }
        int token = 0;
        if (rank() != first) {
            MPI_Send(&token, 1, MPI_INT, first, done, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, first, done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            return;
        }
        for (int peer = first + 1; peer < size(); ++peer) {
            if (!members(peer)) { continue; }
            MPI_Recv(&token, 1, MPI_INT, peer, done, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int peer = first + 1; peer < size(); ++peer) {
            if (!members(peer)) { continue; }
            MPI_Send(&token, 1, MPI_INT, peer, done, MPI_COMM_WORLD);
        }
    }

    size_t length(int source, int destination) const {
        const size_t length = 20 + static_cast<size_t>(source * 31 + destination * 17) % 180;
        return has_gaps_ && (source + destination) % 5 == 0 ? 1000 * length : length;
    }
    size_t room(int source, int destination) const {
        const size_t least = length(source, destination);
        return has_gaps_ && (source + destination) % 5 == 1 ? 1000 * least : least;
    }
    MPI_Datatype type_of(size_t length) const {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_vector(static_cast<int>(length), 1, has_gaps_ ? 2 : 1, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        return type;
    }
    char value(int source, int destination) const {
        return static_cast<char>(source * 29 + destination * 7 + round_);
    }

    static constexpr char gap = 0;

    Harness& harness_;
    bool has_gaps_ = false;
    bool meets_ = false;
    int round_ = 0;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    const std::string what = argc > 1 ? argv[1] : "";
    Program program(harness, what != "loop");
    if (what == "late") { program.late(); }
    if (what == "absent") { program.absent(); }
    if (what == "slow") { program.slow(); }
    if (what == "gaps") { program.gaps(); }
    if (what == "blocked") { program.blocked(); }
    if (what == "outside") { program.outside(); }
    if (what == "testing") { program.testing(); }
    if (what == "loop") { program.loop(); }
    if (what == "ends") { program.ends(); }
    if (what == "finalize") { program.finalize(); }
    if (what == "finalize" || what == "ends") {
        // No call in which all ranks meet before.
        const int failures = harness.failures();
        MPI_Finalize();
        return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return harness.finish();
}
