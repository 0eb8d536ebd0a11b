// sparse_test EXCHANGES SEED [METHOD]: random sparse exchanges on several communicators. Every rank
// knows all that is sent, and so all that it must get. METHOD: the log must say that exchanges on
// MPI_COMM_WORLD have gone so.

#include "runtime/core/nodeaware.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* what, unsigned seed) {
    if (holds) { return; }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (failures++ < 5) { std::fprintf(stderr, "rank %d, seed %u: %s\n", rank, seed, what); }
}

/// How pairs of integers lie in memory.
struct Layout {
    MPI_Datatype type = MPI_INT;
    int elements = 2; ///< of a pair
    int stride = 2;   ///< integers from a pair to the next
    int second = 1;   ///< where in it the second integer is
};

std::vector<Layout> make_layouts() {
    MPI_Datatype gaps = MPI_DATATYPE_NULL;
    MPI_Datatype with_end = MPI_DATATYPE_NULL;
    MPI_Datatype dense = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 4 * sizeof(int), &with_end);
    MPI_Type_commit(&with_end);
    MPI_Type_free(&gaps);
    MPI_Type_contiguous(2, MPI_INT, &dense);
    MPI_Type_commit(&dense);
    return {{MPI_INT, 2, 2, 1}, {with_end, 1, 4, 2}, {dense, 1, 2, 1}};
}

struct Message {
    int source;
    int destination;
    int pairs;
    int number; ///< among those of the source
};

struct Pattern {
    bool is_uniform = false;
    int pairs = 0; ///< of every message, if they are
    std::vector<Message> messages;
};

int random_pairs(std::mt19937& random) {
    switch (random() % 8) {
    case 0: return 0;
    case 1: return 50 + static_cast<int>(random() % 400);
    case 2: return random() % 16 == 0 ? 100000 : 5000;
    default: return 1 + static_cast<int>(random() % 6);
    }
}

/// All that ranks send in one exchange, by source.
Pattern make_pattern(unsigned seed, int ranks) {
    std::mt19937 random(seed);
    Pattern pattern;
    pattern.is_uniform = random() % 3 == 0;
    const bool is_small = random() % 2 == 0;
    const auto pairs = [&] {
        return is_small ? static_cast<int>(random() % 4) : random_pairs(random);
    };
    pattern.pairs = pairs();
    const unsigned kind = random() % 6;
    const int hot = static_cast<int>(random() % static_cast<unsigned>(ranks));
    for (int source = 0; source < ranks; ++source) {
        unsigned count = random() % 4;
        if (kind == 0) { count = 0; }
        if (kind == 1) { count = static_cast<unsigned>(ranks) + random() % 5; }
        if (kind == 2 && source % 3 != 0) { count = 0; }
        // The lists of some have room in a block, those of others have not.
        if (kind == 3 && source == hot) { count = random() % 2 == 0 ? 120 : 6000; }
        for (unsigned i = 0; i < count; ++i) {
            const int anyone = static_cast<int>(random() % static_cast<unsigned>(ranks));
            const int destination = kind == 4 ? hot : anyone;
            const int size = kind == 3 && source == hot ? static_cast<int>(random() % 3) : pairs();
            pattern.messages.push_back({source, destination,
                                        pattern.is_uniform ? pattern.pairs : size,
                                        static_cast<int>(i)});
        }
    }
    return pattern;
}

int value_of(unsigned seed, const Message& message, int i) {
    return static_cast<int>((seed * 31U + static_cast<unsigned>(message.source) * 1009U +
                             static_cast<unsigned>(message.number) * 9176U +
                             static_cast<unsigned>(i)) %
                                1000000U +
                            1U);
}

std::vector<Message> select(const Pattern& pattern, int Message::*end, int rank) {
    std::vector<Message> selected;
    std::copy_if(pattern.messages.begin(), pattern.messages.end(), std::back_inserter(selected),
                 [&](const Message& message) { return message.*end == rank; });
    return selected;
}

/// What a rank sends, in memory.
struct Sent {
    std::vector<int> destinations;
    std::vector<int> counts;
    std::vector<int> displacements;
    std::vector<int> buffer;
    int elements = 0;
};

Sent lay_out(const std::vector<Message>& messages, const Layout& layout, unsigned seed,
             bool is_uniform) {
    std::mt19937 random(seed + 1);
    Sent sent;
    std::vector<size_t> order(messages.size());
    for (size_t i = 0; i < order.size(); ++i) { order[i] = i; }
    if (!is_uniform) { std::shuffle(order.begin(), order.end(), random); }
    sent.destinations.resize(messages.size());
    sent.counts.resize(messages.size());
    sent.displacements.resize(messages.size());
    int pairs = 0;
    for (const size_t i : order) {
        const Message& message = messages[i];
        if (!is_uniform) { pairs += static_cast<int>(random() % 3); }
        sent.destinations[i] = message.destination;
        sent.counts[i] = message.pairs * layout.elements;
        sent.displacements[i] = pairs * layout.elements;
        sent.buffer.resize(static_cast<size_t>((pairs + message.pairs) * layout.stride), -1);
        for (int pair = 0; pair < message.pairs; ++pair) {
            int* const at = sent.buffer.data() + (pairs + pair) * layout.stride;
            at[0] = value_of(seed, message, 2 * pair);
            at[layout.second] = value_of(seed, message, 2 * pair + 1);
        }
        pairs += message.pairs;
    }
    sent.elements = pairs * layout.elements;
    return sent;
}

struct Got {
    int messages = -1;
    int size = -1;
    int* sources = nullptr;
    int* counts = nullptr;
    int* displacements = nullptr;
    void* buffer = nullptr;
};

void check_values(const Got& got, const Message& message, int begin, const Layout& layout,
                  unsigned seed) {
    bool is_right = true;
    for (int pair = 0; pair < message.pairs; ++pair) {
        const int* const at = static_cast<int*>(got.buffer) + begin + pair * layout.stride;
        is_right = is_right && at[0] == value_of(seed, message, 2 * pair) &&
                   at[layout.second] == value_of(seed, message, 2 * pair + 1);
        if (layout.stride == 4) { is_right = is_right && at[1] == 0 && at[3] == 0; }
    }
    expect(is_right, "what a message carries", seed);
}

void check(const Got& got, const std::vector<Message>& expected, bool is_uniform,
           const Layout& layout, unsigned seed) {
    expect(got.messages == static_cast<int>(expected.size()), "number of messages", seed);
    if (got.messages != static_cast<int>(expected.size())) { return; }
    int pairs = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const Message& message = expected[i];
        expect(got.sources[i] == message.source, "source", seed);
        if (!is_uniform) {
            expect(got.counts[i] == message.pairs * layout.elements, "count", seed);
            expect(got.displacements[i] == pairs * layout.elements, "displacement", seed);
            if (got.counts[i] != message.pairs * layout.elements) { return; }
        }
        check_values(got, message, pairs * layout.stride, layout, seed);
        pairs += message.pairs;
    }
    if (is_uniform) { return; }
    expect(got.size == pairs * layout.elements, "elements", seed);
    expect(got.displacements[got.messages] == got.size, "end", seed);
}

void exchange(unsigned seed, MPI_Comm comm, const Layout& from, const Layout& to) {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const Pattern pattern = make_pattern(seed, ranks);
    const auto mine = select(pattern, &Message::source, rank);
    const Sent sent = lay_out(mine, from, seed, pattern.is_uniform);
    if (seed % 5 == 0) { usleep(static_cast<unsigned>((rank * 7919U + seed) % 3000)); }
    Got got;
    const int messages = static_cast<int>(mine.size());
    const int code =
        pattern.is_uniform
            ? nodeaware_alltoall_sparse(messages, sent.destinations.data(),
                                        pattern.pairs * from.elements, from.type,
                                        sent.buffer.data(), &got.messages, &got.sources,
                                        pattern.pairs * to.elements, to.type, &got.buffer, comm)
            : nodeaware_alltoall_sparse_v(messages, sent.elements, sent.destinations.data(),
                                          sent.counts.data(), sent.displacements.data(), from.type,
                                          sent.buffer.data(), &got.messages, &got.size,
                                          &got.sources, &got.counts, &got.displacements, to.type,
                                          &got.buffer, comm);
    expect(code == MPI_SUCCESS, "result", seed);
    check(got, select(pattern, &Message::destination, rank), pattern.is_uniform, to, seed);
    for (void* const memory : {static_cast<void*>(got.sources), static_cast<void*>(got.counts),
                               static_cast<void*>(got.displacements), got.buffer}) {
        nodeaware_free(memory);
    }
}

/// Messages of the application with wildcards, and an exchange of its own, meanwhile.
void exchange_among_others(unsigned seed, MPI_Comm comm, const Layout& from, const Layout& to) {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    int came = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&came, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    exchange(seed, comm, from, to);
    std::vector<int> out(static_cast<size_t>(ranks), rank);
    std::vector<int> in(static_cast<size_t>(ranks), -1);
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm);
    for (int i = 0; i < ranks; ++i) {
        expect(in[static_cast<size_t>(i)] == i, "MPI_Alltoall", seed);
    }
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % ranks, 1, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(came == (rank + ranks - 1) % ranks, "a message of the application", seed);
}

/// The last line of the log that names the method says that it is this one.
bool log_says(const std::string& method) {
    const char* const path = std::getenv("NODEAWARE_LOG_FILE");
    std::ifstream file(path == nullptr ? "" : path);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::string beginning = "sparse exchanges of " + std::to_string(ranks) + " ranks: ";
    bool says = false;
    for (std::string line; std::getline(file, line);) {
        if (line.find(beginning) == std::string::npos) { continue; }
        says = line.find(beginning + method) != std::string::npos;
    }
    return says;
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc < 3) { return 2; }
    const unsigned exchanges = static_cast<unsigned>(std::atoi(argv[1]));
    const unsigned first = static_cast<unsigned>(std::atoi(argv[2]));
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<MPI_Comm> comms = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL, MPI_COMM_NULL,
                                   MPI_COMM_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[4]);
    std::vector<Layout> layouts = make_layouts();
    for (unsigned seed = first; seed < first + exchanges; ++seed) {
        const MPI_Comm comm = comms[seed % 11 < 5 ? seed % 11 : 0];
        const Layout& from = layouts[seed % 3];
        const Layout& to = layouts[seed / 3 % 3];
        // Alone, MPICH 4.0 takes messages of MPI_Alltoall for those of the application.
        if (seed % 4 == 0 && comm != MPI_COMM_SELF) {
            exchange_among_others(seed, comm, from, to);
        } else {
            exchange(seed, comm, from, to);
        }
    }
    for (size_t i = 2; i < comms.size(); ++i) { MPI_Comm_free(&comms[i]); }
    MPI_Type_free(&layouts[1].type);
    MPI_Type_free(&layouts[2].type);
    if (argc > 3 && rank == 0) { expect(log_says(argv[3]), "another method", first); }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) { std::printf(all == 0 ? "passed\n" : "%d failures\n", all); }
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
