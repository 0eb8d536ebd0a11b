// The MPI program of the cluster's self-test. It uses plain MPI only.
//
//     probe kind                            name of the MPI that it was built with; needs no mpirun
//     probe layout                          checks MPI_COMM_TYPE_SHARED; prints the node of each
//     rank probe descriptors                     opens a file of a sibling by /proc/PID/fd/N probe
//     count FOLDER local|remote N     every rank sends N messages to a neighbour, see count() probe
//     time PATTERN BYTES              duration of a pattern in microseconds: minimum, median probe
//     hang                            a deadlock
#include <mpi.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { name_length = 64, tag = 1 };

static int rank, ranks;             // in the world
static int local_rank, local_ranks; // in the node
static MPI_Comm node;
static int* node_of_rank;

static void fail(const char* message) {
    fprintf(stderr, "probe: rank %d: %s (%s)\n", rank, message, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int host_number(void) {
    char name[name_length] = "";
    if (gethostname(name, sizeof name - 1) != 0 || name[0] != 'n') fail("no host name like n0");
    return atoi(name + 1);
}

static void look_around(void) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank);
    MPI_Comm_size(node, &local_ranks);
    node_of_rank = calloc((size_t)ranks, sizeof *node_of_rank);
    int mine = host_number();
    MPI_Allgather(&mine, 1, MPI_INT, node_of_rank, 1, MPI_INT, MPI_COMM_WORLD);
}

// ---------------------------------------------------------------- layout, descriptors

// One shared communicator per node: mine has the ranks of my host, no other, in their order.
static void layout(void) {
    int expected = 0, *members = calloc((size_t)ranks, sizeof *members);
    MPI_Allgather(&rank, 1, MPI_INT, members, 1, MPI_INT, node);
    for (int other = 0; other < ranks; other++) {
        if (node_of_rank[other] != node_of_rank[rank]) continue;
        if (expected >= local_ranks || members[expected] != other)
            fail("wrong shared communicator");
        expected++;
    }
    if (expected != local_ranks) fail("the shared communicator is too large");
    free(members);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int other = 0; other < ranks && rank == 0; other++)
        printf("%s%d", other ? "," : "", node_of_rank[other]);
    if (rank == 0) puts("");
}

static void descriptors(void) {
    struct {
        int process, file;
    } mine = {0, memfd_create("probe", 0)}, theirs;
    char self[name_length] = "", path[name_length], text[name_length] = "";
    if (readlink("/proc/self", self, sizeof self - 1) < 0) fail("readlink /proc/self");
    mine.process = atoi(self);
    if (mine.process != getpid()) fail("/proc and getpid() disagree");
    if (mine.file < 0 || dprintf(mine.file, "rank %d", rank) < 0) fail("memfd");
    int next = (local_rank + 1) % local_ranks, last = (local_rank + local_ranks - 1) % local_ranks;
    MPI_Sendrecv(&mine, 2, MPI_INT, next, tag, &theirs, 2, MPI_INT, last, tag, node,
                 MPI_STATUS_IGNORE);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", theirs.process, theirs.file);
    int file = open(path, O_RDWR);
    if (file < 0 || pread(file, text, sizeof text - 1, 0) < 0) fail(path);
    if (strncmp(text, "rank ", 5) != 0) fail("a sibling's file has the wrong content");
    close(file);
    MPI_Barrier(node); // my file must stay open until my sibling has read it
}

// ---------------------------------------------------------------- counting

// The next rank on my node, or the next that is not.
static int neighbour(int want_local) {
    int other = rank;
    do {
        other = (other + 1) % ranks;
    } while (other != rank && (node_of_rank[other] == node_of_rank[rank]) != want_local);
    return other;
}

static void touch(const char* folder, const char* what, int phase) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d.%d", folder, what, phase, rank);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    if (file < 0) fail(path);
    close(file);
}

static void wait_for(const char* folder, const char* what, int phase) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", folder, what, phase);
    while (access(path, F_OK) != 0) usleep(10000);
}

// The caller reads the counters of the network while all ranks are silent: before it makes
// go.PHASE in the folder, and when done.PHASE.RANK is there for every rank. Phase 0 has one message
// each, which opens the connections; phase 1 has the messages that count.
static void count(const char* folder, int want_local, int messages) {
    int to = neighbour(want_local);
    // On uneven nodes several ranks may send to this one.
    int *targets = calloc((size_t)ranks, sizeof *targets), senders = 0;
    MPI_Allgather(&to, 1, MPI_INT, targets, 1, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++) senders += targets[from] == rank && from != rank;
    for (int phase = 0; phase < 2; phase++) {
        wait_for(folder, "go", phase);
        for (int i = 0; i < (phase == 0 ? 1 : messages); i++) {
            char out = 1, in;
            MPI_Request send = MPI_REQUEST_NULL;
            if (to != rank) MPI_Isend(&out, 1, MPI_CHAR, to, tag, MPI_COMM_WORLD, &send);
            for (int k = 0; k < senders; k++)
                MPI_Recv(&in, 1, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
        }
        touch(folder, "done", phase);
    }
    wait_for(folder, "go", 2);
    free(targets);
}

// ---------------------------------------------------------------- timing

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void sleep_until(double time) {
    for (double rest; (rest = time - now_us()) > 0;) usleep((useconds_t)rest + 1);
}

// A pattern begins at `start` and returns its duration on this rank, 0 if that does not count.

// Rank 0 and the first rank of the next node: half a round trip.
static double ping_pong(char* buffer, int bytes, double start) {
    int partner = 0;
    while (partner < ranks - 1 && node_of_rank[partner] == node_of_rank[0]) partner++;
    if (rank == 0) {
        MPI_Send(buffer, bytes, MPI_CHAR, partner, tag, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_CHAR, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == partner) {
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
    }
    return rank == 0 ? (now_us() - start) / 2 : 0;
}

// Every rank sends one message to rank 0.
static double fan_in(char* buffer, int bytes, double start) {
    if (rank > 0) {
        MPI_Send(buffer, bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
        return 0;
    }
    for (int other = 1; other < ranks; other++)
        MPI_Recv(buffer, bytes, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return now_us() - start;
}

static int first_rank_on(int wanted) {
    int other = 0;
    while (other < ranks - 1 && node_of_rank[other] != wanted) other++;
    return other;
}

// Every node sends one message to each of the other nodes, and receives as many: local rank k deals
// with the node k+1 further on. What a node-aware exchange sends.
static double exchange(char* buffer, int bytes, double start) {
    int nodes = node_of_rank[ranks - 1] + 1, distance = local_rank + 1;
    if (distance >= nodes) return 0;
    int to = first_rank_on((node_of_rank[rank] + distance) % nodes) + local_rank;
    int from = first_rank_on((node_of_rank[rank] + nodes - distance) % nodes) + local_rank;
    MPI_Sendrecv(buffer, bytes, MPI_CHAR, to, tag, buffer + bytes, bytes, MPI_CHAR, from, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return now_us() - start;
}

static int ascending(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

typedef double Pattern(char* buffer, int bytes, double start);

// All nodes share this machine's clock, so all ranks start at one time, when the traffic that told
// them is over. They are silent at the end until the slowest is done.
static void measure(Pattern* pattern, int bytes) {
    enum { warm_ups = 1, repeats = 5, before_us = 200000, after_us = 150000 };
    double times[warm_ups + repeats];
    char* buffer = calloc(2, (size_t)bytes);
    for (int i = 0; i < warm_ups + repeats; i++) {
        double start = now_us() + before_us;
        MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        sleep_until(start);
        double mine = pattern(buffer, bytes, start);
        sleep_until(start + after_us);
        MPI_Allreduce(&mine, &times[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    qsort(times + warm_ups, repeats, sizeof *times, ascending);
    if (rank == 0) printf("%.0f %.0f\n", times[warm_ups], times[warm_ups + repeats / 2]);
    free(buffer);
}

static void time_pattern(const char* name, int bytes) {
    static const struct {
        const char* name;
        Pattern* run;
    } patterns[] = {{"ping_pong", ping_pong}, {"fan_in", fan_in}, {"exchange", exchange}};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (strcmp(name, patterns[i].name) == 0) {
            measure(patterns[i].run, bytes);
            return;
        }
    }
    fail("unknown pattern");
}

// ---------------------------------------------------------------- main

static void wait_for_nothing(void) {
    int nothing;
    MPI_Recv(&nothing, 1, MPI_INT, (rank + 1) % ranks, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const char* kind(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(version, &length);
    return strstr(version, "Open MPI") != NULL ? "openmpi" : "mpich";
}

int main(int argc, char** argv) {
    const char* command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "kind") == 0) return puts(kind()) < 0;
    MPI_Init(&argc, &argv);
    look_around();
    if (strcmp(command, "layout") == 0) {
        layout();
    } else if (strcmp(command, "descriptors") == 0) {
        descriptors();
    } else if (strcmp(command, "count") == 0 && argc == 5) {
        count(argv[2], strcmp(argv[3], "local") == 0, atoi(argv[4]));
    } else if (strcmp(command, "time") == 0 && argc == 4) {
        time_pattern(argv[2], atoi(argv[3]));
    } else if (strcmp(command, "hang") == 0) {
        wait_for_nothing();
    } else {
        fail("unknown command");
    }
    MPI_Finalize();
    return 0;
}
