// Many communicators, made and freed; attributes, error handlers and names of the application's
// communicators; intercommunicators; communicators freed while others go on.

#include "tests/mpi/harness.hpp"

#include <fstream>
#include <vector>

namespace nodeaware::test {

namespace {

/// An exchange with contents that tell who sent what to whom; wrong results are failures.
void exchange(Harness& harness, MPI_Comm comm, int salt, const char* what) {
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    std::vector<int> counts;
    std::vector<int> places;
    std::vector<int> sent;
    for (int peer = 0; peer < size; ++peer) {
        places.push_back(2 * peer);
        counts.push_back((rank + peer) % 3 == 0 ? 0 : 2);
        sent.insert(sent.end(), {salt + 100 * rank + peer, salt - rank});
    }
    std::vector<int> received(static_cast<size_t>(2 * size), -1);
    const int code = MPI_Alltoallv(sent.data(), counts.data(), places.data(), MPI_INT,
                                   received.data(), counts.data(), places.data(), MPI_INT, comm);
    bool right = code == MPI_SUCCESS;
    for (int peer = 0; peer < size; ++peer) {
        const auto at = 2 * static_cast<size_t>(peer);
        const bool empty = counts[static_cast<size_t>(peer)] == 0;
        right = right && received[at] == (empty ? -1 : salt + 100 * peer + rank) &&
                received[at + 1] == (empty ? -1 : salt - peer);
    }
    harness.expect(right, what);
}

int mapped_arenas() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) {
        count += line.find("nodeaware (deleted)") != std::string::npos ? 1 : 0;
    }
    return count;
}

void many(Harness& harness) {
    const int before = mapped_arenas();
    for (int i = 0; i < 150; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        if (i % 3 == 0) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        } else { // other ranks, or another order
            MPI_Comm_split(MPI_COMM_WORLD, (harness.rank() + i) % (i % 3),
                           (harness.rank() * 7) % harness.size(), &comm);
        }
        exchange(harness, comm, i, "one of many communicators");
        exchange(harness, comm, i + 1, "one of many communicators");
        if (i % 10 == 0) {
            MPI_Comm_disconnect(&comm);
        } else {
            MPI_Comm_free(&comm);
        }
        exchange(harness, MPI_COMM_WORLD, i, "the world between others");
    }
    harness.expect(mapped_arenas() == before, "arenas of freed communicators are left");
}

/// Several at the same time, freed in another order than made.
void nested(Harness& harness) {
    std::vector<MPI_Comm> comms(6, MPI_COMM_NULL);
    for (size_t i = 0; i < comms.size(); ++i) {
        const int key = i % 2 == 0 ? harness.rank() : -harness.rank();
        MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comms[i]);
    }
    for (int round = 0; round < 3; ++round) {
        for (MPI_Comm comm : comms) {
            exchange(harness, comm, round, "several communicators in turn");
        }
    }
    for (const size_t i : {3U, 0U, 5U, 1U, 2U, 4U}) {
        MPI_Comm_free(&comms[i]);
        if (i != 4) { exchange(harness, comms[4], static_cast<int>(i), "while others are freed"); }
    }
}

/// MPI uses the handle of a freed communicator again. Ranks of one node had a communicator that the
/// library has nothing to do with, the others one whose messages it learns from; now all have one
/// of the latter kind, and must count alike when to vote.
void handles_used_again(Harness& harness) {
    for (int i = 0; i < 8; ++i) {
        MPI_Comm apart = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, harness.rank() < 2 ? 0 : 1, 0, &apart);
        MPI_Barrier(apart);
        MPI_Comm_free(&apart);
        MPI_Comm all = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -harness.rank(), &all);
        for (int round = 0; round < 8; ++round) { MPI_Barrier(all); }
        exchange(harness, all, i, "a communicator with a handle that was used before");
        MPI_Comm_free(&all);
    }
}

/// As many as MPICH can have, nearly, in orders that differ: the library must leave the application
/// its communicators, and not search for long among its own.
void many_alive(Harness& harness) {
    const int number = is_open_mpi() ? 600 : 1900;
    std::vector<MPI_Comm> comms(static_cast<size_t>(number), MPI_COMM_NULL);
    Random random(7);
    for (int i = 0; i < number; ++i) {
        std::vector<int> keys(static_cast<size_t>(harness.size()));
        for (int& key : keys) { key = draw(random, 0, 1000); }
        MPI_Comm& comm = comms[static_cast<size_t>(i)];
        MPI_Comm_split(MPI_COMM_WORLD, 0, keys[static_cast<size_t>(harness.rank())], &comm);
        exchange(harness, comm, i, "one of very many communicators");
    }
    for (int i = 0; i < number; i += 50) {
        exchange(harness, comms[static_cast<size_t>(i)], i, "one of very many communicators again");
    }
    for (MPI_Comm& comm : comms) { MPI_Comm_free(&comm); }
}

int copies = 0;
int deletions = 0;

int count_copy(MPI_Comm /*comm*/, int /*keyval*/, void* /*extra*/, void* value, void* copy,
               int* flag) {
    ++copies;
    *static_cast<void**>(copy) = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int count_deletion(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    ++deletions;
    return MPI_SUCCESS;
}

void on_error(MPI_Comm* /*comm*/, int* /*code*/, ...) {}

void properties(Harness& harness) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -harness.rank(), &comm);
    int keyval = MPI_KEYVAL_INVALID;
    int value = 42;
    MPI_Comm_create_keyval(count_copy, count_deletion, &keyval, nullptr);
    MPI_Comm_set_attr(comm, keyval, &value);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_name(comm, "mine");

    for (int i = 0; i < 3; ++i) { exchange(harness, comm, i, "a communicator with properties"); }

    harness.expect(copies == 0 && deletions == 0,
                   "the application's attribute functions were called");
    int* found_value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(comm, keyval, &found_value, &found);
    harness.expect(found != 0 && found_value == &value, "the attribute is gone");
    MPI_Errhandler found_handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &found_handler);
    harness.expect(found_handler == handler, "the error handler is another one");
    MPI_Errhandler_free(&found_handler);
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Comm_get_name(comm, name, &length);
    harness.expect(std::string(name) == "mine", "the name is another one");

    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    harness.expect(copies == 1, "the attribute is not copied once");
    exchange(harness, copy, 5, "a duplicate");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    harness.expect(deletions == 2, "the attribute is not deleted with its communicators");
    MPI_Comm_free_keyval(&keyval);
    MPI_Errhandler_free(&handler);
}

void intercommunicator(Harness& harness) {
    if (harness.size() < 2) { return; }
    const int half = harness.size() / 2;
    const bool low = harness.rank() < half;
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, harness.rank(), &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? half : 0, 99, &inter);
    int remote = 0;
    MPI_Comm_remote_size(inter, &remote);
    std::vector<int> sent(static_cast<size_t>(remote), harness.rank());
    std::vector<int> received(static_cast<size_t>(remote), -1);
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, inter);
    for (int i = 0; i < remote; ++i) {
        harness.expect(received[static_cast<size_t>(i)] == (low ? half + i : i),
                       "intercommunicator");
    }
    MPI_Comm merged = MPI_COMM_NULL;
    MPI_Intercomm_merge(inter, low ? 1 : 0, &merged); // the high ranks first
    exchange(harness, merged, 3, "a merged communicator");
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

/// Some ranks begin to make one before an exchange on another, and some after it. Last, for no more
/// are made for exchanges after it (Open MPI).
void begun_before_or_after(Harness& harness) {
    for (int i = 0; i < 4; ++i) {
        MPI_Comm other = MPI_COMM_NULL;
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, (harness.rank() * (i + 2)) % harness.size(), &other);
        const bool is_before = (harness.rank() + i) % 2 == 0;
        if (is_before) { MPI_Comm_idup(MPI_COMM_WORLD, &made, &request); }
        exchange(harness, other, 40 + i, "while another one is made");
        if (!is_before) { MPI_Comm_idup(MPI_COMM_WORLD, &made, &request); }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        exchange(harness, made, 50 + i, "one that was begun");
        MPI_Comm_free(&made);
        MPI_Comm_free(&other);
    }
}

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    exchange(harness, MPI_COMM_WORLD, 1, "the world");
    exchange(harness, MPI_COMM_SELF, 1, "MPI_COMM_SELF");
    properties(harness);
    nested(harness);
    handles_used_again(harness);
    intercommunicator(harness);
    many(harness);
    many_alive(harness);
    begun_before_or_after(harness);
    return harness.finish();
}
