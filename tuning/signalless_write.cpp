#include "tuning/signalless_write.hpp"

#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

namespace nodeaware::tuning {

ssize_t write_signalless(int descriptor, const char* bytes, size_t size, WithoutReader without) {
    sigset_t ours;
    sigset_t before;
    sigset_t waiting;
    sigemptyset(&ours);
    sigaddset(&ours, SIGXFSZ);
    if (without == WithoutReader::fails) { sigaddset(&ours, SIGPIPE); }
    const bool is_blocked =
        pthread_sigmask(SIG_BLOCK, &ours, &before) == 0 && sigpending(&waiting) == 0;
    const ssize_t written = write(descriptor, bytes, size);
    const int error = errno;
    const int signal = error == EFBIG ? SIGXFSZ : error == EPIPE ? SIGPIPE : 0;
    // What waited before is not of this write.
    if (is_blocked && written < 0 && signal != 0 && sigismember(&ours, signal) == 1 &&
        sigismember(&waiting, signal) == 0) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, signal);
        constexpr timespec at_once = {};
        sigtimedwait(&one, nullptr, &at_once);
    }
    if (is_blocked) { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    errno = error;
    return written;
}

} // namespace nodeaware::tuning
