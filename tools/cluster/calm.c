// libcalm.so: an LD_PRELOAD library that lets many MPI ranks share few cores.
//
// MPI libraries wait by polling. That is right when every rank owns a core and ruinous when ten
// ranks share one: the rank that has the message to send waits for its turn behind nine that only
// ask whether it has come. This library makes a rank that keeps finding nothing yield the core,
// then sleep. It hooks into the places by which an idle rank shows itself:
//
//   sched_yield           Open MPI with mpi_yield_when_idle, after an empty look at its sockets or,
//                         on one machine, at its shared memory alone
//   epoll_wait(..., 0)    the look itself: libevent in Open MPI, the TCP transport of UCX in MPICH
//   ucp_worker_progress   MPICH over UCX without TCP (one machine), which never yields by itself
//
// A sleeping rank waits on its own epoll descriptor, so a TCP event ends the sleep at once; what
// comes through shared memory is noticed when the sleep ends. Programs that do not poll for MPI
// behave as if the library were not there.
//
//   CALM_OFF=1                     do nothing
//   CALM_SPIN=10                   fruitless polls that only yield, before the first sleep
//   CALM_SLEEP_US=20               first sleep; doubles with each further fruitless poll
//   CALM_SLEEP_MAX_US=200          longest sleep; 0: only yield. With Open MPI longer by default
//                                  where more than eight ranks share a core: what wakes up mostly
//                                  finds nothing, and takes the time of those who work
//   CALM_PROCESS_MAPPING           see calm_pmi.c
#include "calm.h"

#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static struct {
    int (*sched_yield)(void);
    int (*epoll_wait)(int, struct epoll_event*, int, int);
    unsigned (*ucp_worker_progress)(void*);
} real;

static struct {
    bool is_rank; // started by an MPI launcher
    long spin;
    long sleep_us;
    long sleep_max_us;
} settings;

// What this thread knows about its own waiting.
static _Thread_local struct {
    int event_set;        // epoll descriptor of the last poll plus 1; 0: none yet
    long fruitless_polls; // in a row
    long long last_idle;  // when the last fruitless poll ended
    bool found;           // something, since idle() was last called
    bool stayed;          // the last call of idle() did not leave the core
    bool idled;           // set by idle(); lets ucp_worker_progress see that a layer below waited
    int unpolled_yields;  // calls of sched_yield since the last poll
} self;

struct search {
    const char* name;
    void* function;
};

static int search_object(struct dl_phdr_info* object, size_t size, void* data) {
    (void)size;
    struct search* search = data;
    // The program itself has no name here; it is on RTLD_NEXT's path.
    void* library = *object->dlpi_name ? dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!library) return 0;
    void* found = dlsym(library, search->name);
    dlclose(library);
    Dl_info own, where;
    bool is_own = found && dladdr(__extension__(void*) search_object, &own) &&
                  dladdr(found, &where) && where.dli_fbase == own.dli_fbase;
    if (found && !is_own) search->function = found;
    return search->function != NULL;
}

CalmFunction calm_next(const char* name) {
    struct search search = {name, dlsym(RTLD_NEXT, name)};
    // What was loaded by dlopen with local scope (Python's mpi4py) is not on RTLD_NEXT's path.
    if (!search.function) dl_iterate_phdr(search_object, &search);
    return __extension__(CalmFunction) search.function; // POSIX promises what ISO C does not
}

static long number_from_environment(const char* name, long otherwise) {
    const char* text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

// MPICH's ranks find more when they wake up, and gain nothing by longer sleeps.
static long longest_sleep_us(void) {
    long ranks = number_from_environment("OMPI_COMM_WORLD_SIZE", 1);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long time = cores > 0 ? 25 * ranks / cores : 200;
    return time < 200 ? 200 : time > 1000 ? 1000 : time;
}

__attribute__((constructor)) static void initialize(void) {
    if (real.epoll_wait) return; // an earlier constructor already called one of our functions
    real.sched_yield = (int (*)(void))calm_next("sched_yield");
    real.epoll_wait = (int (*)(int, struct epoll_event*, int, int))calm_next("epoll_wait");
    settings.is_rank = (getenv("PMI_RANK") || getenv("OMPI_COMM_WORLD_RANK")) &&
                       !number_from_environment("CALM_OFF", 0);
    settings.spin = number_from_environment("CALM_SPIN", 10);
    settings.sleep_us = number_from_environment("CALM_SLEEP_US", 20);
    if (settings.sleep_us < 1) settings.sleep_us = 1;
    settings.sleep_max_us = number_from_environment("CALM_SLEEP_MAX_US", longest_sleep_us());
    // The default slack of 50 us would more than triple the first sleep.
    if (settings.is_rank) prctl(PR_SET_TIMERSLACK, 1000UL);
}

static long long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long sleep_time_us(void) {
    long time = settings.sleep_us;
    for (long i = settings.spin + 1; i < self.fruitless_polls && time < settings.sleep_max_us; i++)
        time *= 2;
    return time < settings.sleep_max_us ? time : settings.sleep_max_us;
}

// The rank has just polled and found nothing.
static void idle(void) {
    // Open MPI yields after it has found something, too, before it looks what that is.
    // Not twice in a row: what never stops to be found must not keep others from running.
    self.stayed = self.found && !self.stayed;
    self.found = false;
    if (self.stayed) return;
    // A rank that did something in between is not waiting: start again with short waits.
    enum { longest_gap_ns = 20000 };
    if (now_ns() - self.last_idle > longest_gap_ns) self.fruitless_polls = 0;
    self.fruitless_polls++;
    if (self.fruitless_polls <= settings.spin || settings.sleep_max_us <= 0) {
        real.sched_yield();
    } else {
        long time_us = sleep_time_us();
        struct timespec time = {time_us / 1000000, time_us % 1000000 * 1000};
        struct pollfd events = {self.event_set - 1, POLLIN, 0}; // -1 is ignored by ppoll
        ppoll(&events, 1, &time, NULL);
    }
    self.last_idle = now_ns();
    self.idled = true;
}

CALM_EXPORT int epoll_wait(int set, struct epoll_event* events, int capacity, int timeout) {
    initialize();
    int found = real.epoll_wait(set, events, capacity, timeout);
    if (timeout != 0 || !settings.is_rank) return found;
    self.event_set = set + 1;
    self.unpolled_yields = 0;
    if (found != 0) {
        self.found = true;
        self.fruitless_polls = 0;
        return found;
    }
    if (!calm_ucp_worker()) return 0; // Open MPI: sched_yield follows if it has nothing else to do
    idle();
    return real.epoll_wait(set, events, capacity, 0);
}

// Whether a call comes from Open MPI, which yields where it has found nothing: from its
// opal_progress, or, where the compiler has made a jump of that call, from whoever called it.
static bool is_open_mpi(void* caller) {
    enum { places = 16 };
    static _Thread_local struct {
        void* caller;
        bool is;
    } known[places];
    __typeof__(&known[0]) place = &known[(uintptr_t)caller / 4 % places];
    if (place->caller == caller) return place->is;
    Dl_info where;
    const char* name = dladdr(caller, &where) && where.dli_fname ? where.dli_fname : "";
    const char* base = strrchr(name, '/');
    base = base ? base + 1 : name;
    place->caller = caller;
    place->is = !strncmp(base, "libopen-pal.", 12) || !strncmp(base, "libmpi.", 7) ||
                !strncmp(base, "mca_", 4);
    return place->is;
}

CALM_EXPORT int sched_yield(void) {
    initialize();
    // A thread that yields without looking at its sockets waits for something else, for example
    // for another thread of a parallel loop, and must not sleep. Open MPI looks at least every
    // eighth time, if it has any: on one machine, over shared memory, it never does.
    enum { polling = 8 };
    bool has_polled = self.event_set != 0 && self.unpolled_yields < polling;
    if (!settings.is_rank || !(has_polled || is_open_mpi(__builtin_return_address(0))))
        return real.sched_yield();
    self.unpolled_yields++;
    idle();
    return 0;
}

CALM_EXPORT unsigned ucp_worker_progress(void* worker) {
    if (!real.ucp_worker_progress)
        real.ucp_worker_progress = (unsigned (*)(void*))calm_next("ucp_worker_progress");
    self.idled = false;
    unsigned found = real.ucp_worker_progress(worker);
    // With TCP, our epoll_wait has been called below and has waited already.
    if (found == 0 && !self.idled) idle();
    return found;
}
