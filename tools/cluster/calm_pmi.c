// libcalm.so: two repairs for MPICH 4.0, both made where a rank reads from its process manager.
//
// 1. MPI_Finalize can hang on an oversubscribed machine: ranks that are already in the final
//    barrier of the process manager do not progress UCX, while others still wait for them to
//    answer a disconnect (pmodels/mpich pull request 6596). Here a rank that waits for its process
//    manager during MPI_Finalize keeps progressing UCX.
//
// 2. Hydra describes the placement of ranks by its list of hosts. If ranks are dealt to the hosts
//    in an irregular order then each host is listed several times, and each time counts as another
//    node. CALM_PROCESS_MAPPING holds the true description and replaces Hydra's.
#include "calm.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    ssize_t (*read)(int, void*, size_t);
    unsigned (*progress)(void*);
} real;

static int manager = -1; // socket to the process manager
static const char* process_mapping;
static size_t process_mapping_length;
static void* ucp_worker;
static bool finalizing;

__attribute__((constructor)) static void initialize(void) {
    if (real.read) return; // an earlier constructor already called read
    const char* socket = getenv("PMI_FD");
    if (socket) manager = atoi(socket);
    process_mapping = getenv("CALM_PROCESS_MAPPING");
    if (process_mapping) process_mapping_length = strlen(process_mapping);
    real.read = (ssize_t(*)(int, void*, size_t))calm_next("read");
}

void* calm_ucp_worker(void) { return ucp_worker; }

CALM_EXPORT int ucp_worker_create(void* context, const void* parameters, void** worker) {
    int (*next)(void*, const void*, void**) =
        (int (*)(void*, const void*, void**))calm_next("ucp_worker_create");
    int status = next(context, parameters, worker);
    if (status == 0) ucp_worker = *worker;
    return status;
}

CALM_EXPORT void ucp_worker_destroy(void* worker) {
    void (*next)(void*) = (void (*)(void*))calm_next("ucp_worker_destroy");
    if (worker == ucp_worker) ucp_worker = NULL;
    next(worker);
}

// `name` is MPI_Finalize or PMPI_Finalize. Without MPI in the process this is an error of MPI's
// kind.
static int finalize(const char* name) {
    int (*next)(void) = (int (*)(void))calm_next(name);
    finalizing = true;
    return next ? next() : 1;
}

CALM_EXPORT int MPI_Finalize(void) { return finalize("MPI_Finalize"); }

CALM_EXPORT int PMPI_Finalize(void) { return finalize("PMPI_Finalize"); }

static void progress_until_readable(int file) {
    struct pollfd answer = {file, POLLIN, 0};
    enum { eager_looks = 20 };
    for (int looks = 0; poll(&answer, 1, looks < eager_looks ? 0 : 1) == 0; looks++)
        real.progress(ucp_worker);
}

// Replaces the value in "... value=(vector,...)\n". Leaves the text alone if it does not fit.
static ssize_t replace_process_mapping(char* text, size_t length, size_t capacity) {
    static const char key[] = "value=(vector,";
    char* found = memmem(text, length, key, sizeof key - 1);
    if (!found) return (ssize_t)length;
    char* value = found + strlen("value=");
    char* end = memchr(value, '\n', length - (size_t)(value - text));
    size_t rest = end ? length - (size_t)(end - text) : 0;
    size_t new_length = (size_t)(value - text) + process_mapping_length + rest;
    if (!end || new_length > capacity) return (ssize_t)length;
    memmove(value + process_mapping_length, end, rest);
    memcpy(value, process_mapping, process_mapping_length);
    return (ssize_t)new_length;
}

CALM_EXPORT ssize_t read(int file, void* buffer, size_t capacity) {
    initialize();
    if (file != manager || file < 0) return real.read(file, buffer, capacity);
    if (finalizing && ucp_worker) {
        if (!real.progress) real.progress = (unsigned (*)(void*))calm_next("ucp_worker_progress");
        progress_until_readable(file);
    }
    ssize_t length = real.read(file, buffer, capacity);
    if (length > 0 && process_mapping)
        return replace_process_mapping(buffer, (size_t)length, capacity);
    return length;
}
