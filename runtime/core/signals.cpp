#include "runtime/core/signals.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <semaphore.h>
#include <thread>
#include <unistd.h>

namespace nodeaware::signals {

namespace {

constexpr std::array numbers = {SIGHUP, SIGINT, SIGQUIT, SIGILL,  SIGABRT,
                                SIGBUS, SIGFPE, SIGSEGV, SIGTERM, SIGXCPU};

/// Handlers look at it at any time, so it is never destroyed.
struct Watch {
    pid_t process = getpid(); ///< its children have the handlers, and not the thread
    void (*work)(int what) = nullptr;
    sem_t wanted{};
    std::atomic<int> what{0}; ///< 0: the thread is to end
    std::atomic<bool> is_busy{false};
    std::atomic<bool> is_done{false};
    std::thread thread;
    std::array<struct sigaction, numbers.size()> before{};
    std::array<bool, numbers.size()> is_watched{};
};
Watch* watch = nullptr;

size_t place_of(int number) {
    size_t place = 0;
    while (numbers[place] != number) { ++place; }
    return place;
}

/// A default comes when the handler has returned.
void pass_on(int number, siginfo_t* info, void* context) {
    const struct sigaction& before = watch->before[place_of(number)];
    const bool is_default = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL;
    if (is_default || (before.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
        struct sigaction action = {};
        sigemptyset(&action.sa_mask);
        action.sa_handler = SIG_DFL;
        sigaction(number, &action, nullptr);
    }
    if (is_default) {
        raise(number);
    } else if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else {
        before.sa_handler(number);
    }
}

/// Only what POSIX allows in handlers.
void handle(int number, siginfo_t* info, void* context) {
    const int error = errno;
    have_done(number);
    errno = error;
    pass_on(number, info, context);
}

void serve() {
    while (true) {
        while (sem_wait(&watch->wanted) != 0) {}
        const int what = watch->what.exchange(0);
        if (what == 0) { return; }
        watch->work(what);
        watch->is_done = true;
    }
}

/// The program's signals are not for it.
bool start_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) { return false; }
    try {
        watch->thread = std::thread(serve);
    } catch (const std::exception&) {} // no thread, no work
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return watch->thread.joinable();
}

void install(size_t place) {
    struct sigaction& before = watch->before[place];
    if (sigaction(numbers[place], nullptr, &before) != 0) { return; }
    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN) { return; }
    struct sigaction action = before;
    action.sa_sigaction = handle;
    action.sa_flags = (before.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO | SA_ONSTACK;
    watch->is_watched[place] = sigaction(numbers[place], &action, nullptr) == 0;
}

} // namespace

void open(void (*work)(int what), bool catches) {
    watch = new Watch;
    watch->work = work;
    if (sem_init(&watch->wanted, 0, 0) != 0 || !start_thread() || !catches) { return; }
    for (size_t i = 0; i < numbers.size(); ++i) { install(i); }
}

bool have_done(int what) {
    if (watch == nullptr || !watch->thread.joinable() || getpid() != watch->process) {
        return false;
    }
    if (watch->is_busy.exchange(true)) { return true; }
    constexpr timespec pause = {0, 1'000'000};
    constexpr int most_pauses = 3000;
    watch->is_done = false;
    watch->what = what;
    sem_post(&watch->wanted);
    for (int i = 0; i < most_pauses && !watch->is_done; ++i) { nanosleep(&pause, nullptr); }
    watch->is_busy = false;
    return true;
}

void close() {
    if (watch == nullptr || !watch->thread.joinable()) { return; }
    for (size_t i = 0; i < numbers.size(); ++i) {
        struct sigaction now = {};
        const bool is_ours = watch->is_watched[i] && sigaction(numbers[i], nullptr, &now) == 0 &&
                             (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle;
        if (is_ours) { sigaction(numbers[i], &watch->before[i], nullptr); }
    }
    sem_post(&watch->wanted);
    watch->thread.join();
}

} // namespace nodeaware::signals
