#include "tools/nodeaware/doctor/trial.hpp"

#include "tools/nodeaware/doctor/output.hpp"
#include "tools/nodeaware/launch.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nodeaware::tool::doctor {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void fail(const std::string& what, int error) {
    throw LaunchError(what + ": " + std::strerror(error));
}

class Pipe {
  public:
    Pipe() {
        if (pipe2(ends_.data(), O_CLOEXEC) != 0) { fail("pipe", errno); }
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int reading() const { return ends_[0]; }
    int writing() const { return ends_[1]; }
    void close_writing() { close_end(1); }
    /// What is there now, up to a block; false once nothing more can come.
    template <class Kept> bool read_some(Kept& kept) {
        std::array<char, 1 << 16> block{};
        const ssize_t length = read(ends_[0], block.data(), block.size());
        if (length > 0) { kept.add({block.data(), static_cast<size_t>(length)}); }
        return length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN));
    }

  private:
    void close_end(size_t end) {
        if (ends_[end] >= 0) { close(ends_[end]); }
        ends_[end] = -1;
    }
    std::array<int, 2> ends_{-1, -1};
};

volatile sig_atomic_t caught_signal = 0;

/// While it lives, what would end this process is noted.
class Signals {
  public:
    Signals() {
        caught_signal = 0;
        struct sigaction note {};
        note.sa_handler = [](int number) { caught_signal = number; };
        sigemptyset(&note.sa_mask);
        for (size_t i = 0; i < numbers.size(); ++i) {
            if (sigaction(numbers[i], nullptr, &before_[i]) != 0) { fail("sigaction", errno); }
            const bool is_ignored = before_[i].sa_handler == SIG_IGN; // by nohup
            if (!is_ignored && sigaction(numbers[i], &note, nullptr) != 0) {
                fail("sigaction", errno);
            }
        }
    }
    /// What was noted has its effect.
    ~Signals() {
        for (size_t i = 0; i < numbers.size(); ++i) { sigaction(numbers[i], &before_[i], nullptr); }
        if (caught_signal == 0) { return; }
        std::signal(caught_signal, SIG_DFL); // libraries of MPI have handlers that go on
        raise(caught_signal);
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

  private:
    static constexpr std::array numbers = {SIGINT, SIGTERM, SIGHUP};
    std::array<struct sigaction, numbers.size()> before_{};
};

/// In the child. `trouble`: where the error goes if there is no such program.
[[noreturn]] void become(char* const* words, int output, int errors, int trouble) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); // whoever kills this command ends the launcher
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
        dup2(errors, STDERR_FILENO) >= 0) {
        execvp(words[0], words);
    }
    const int error = errno;
    const ssize_t written = write(trouble, &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
}

/// A command in a process group of its own.
class Child {
  public:
    Child(const std::vector<std::string>& command, const std::string& mark) : said_(mark) {
        std::vector<char*> words;
        words.reserve(command.size() + 1);
        for (const std::string& word : command) {
            words.push_back(const_cast<char*>(word.c_str()));
        }
        words.push_back(nullptr);
        Pipe trouble;
        process_ = fork();
        if (process_ < 0) { fail("fork", errno); }
        if (process_ == 0) {
            become(words.data(), output_.writing(), errors_.writing(), trouble.writing());
        }
        setpgid(process_, process_); // here, too: either may come first
        output_.close_writing();
        errors_.close_writing();
        trouble.close_writing();
        int error = 0;
        ssize_t length = 0;
        do {
            length = read(trouble.reading(), &error, sizeof error);
        } while (length < 0 && errno == EINTR);
        if (length == sizeof error) {
            has_ended(0);
            fail(command.front(), error);
        }
    }
    ~Child() {
        if (!is_over_) { end(); }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Takes what it writes, for a while at most.
    void listen() {
        std::array<pollfd, 2> both = {pollfd{is_open_[0] ? output_.reading() : -1, POLLIN, 0},
                                      pollfd{is_open_[1] ? errors_.reading() : -1, POLLIN, 0}};
        constexpr int milliseconds = 50;
        if (poll(both.data(), both.size(), milliseconds) <= 0) { return; }
        if (both[0].revents != 0) { is_open_[0] = output_.read_some(said_); }
        if (both[1].revents != 0) { is_open_[1] = errors_.read_some(complained_); }
    }
    bool can_write() const { return is_open_[0] || is_open_[1]; }
    /// Whether it has, waiting for it if `options` say so.
    bool has_ended(int options) {
        if (is_over_) { return true; }
        int status = 0;
        pid_t ended = 0;
        do {
            ended = waitpid(process_, &status, options | WUNTRACED);
            const bool is_stopped = ended > 0 && WIFSTOPPED(status);
            if (is_stopped) { stopped_by_ = WSTOPSIG(status); }
            if (is_stopped && (options & WNOHANG) != 0) { return false; }
        } while ((ended < 0 && errno == EINTR) || (ended > 0 && WIFSTOPPED(status)));
        if (ended == 0) { return false; }
        is_over_ = true;
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return true;
    }
    /// Politely at first: launchers end what they have started elsewhere, and remove their files.
    void end() {
        kill(-process_, SIGTERM);
        kill(-process_, SIGCONT); // what is stopped does not hear it
        constexpr double grace = 5;
        for (const auto begin = Clock::now(); is_any_left() && seconds_since(begin) < grace;) {
            listen();
        }
        kill(-process_, SIGKILL);
        has_ended(0);
    }
    int status() const { return status_; }
    bool wants_terminal() const { return stopped_by_ == SIGTTIN || stopped_by_ == SIGTTOU; }
    std::string output() const { return said_.text(); }
    std::string errors() const { return complained_.text(); }

  private:
    /// In its process group; what has ended there is not.
    bool is_any_left() {
        if (has_ended(WNOHANG)) {
            while (waitpid(-process_, nullptr, WNOHANG) > 0) {} // orphans that try_out() takes
        }
        return kill(-process_, 0) == 0;
    }

    Pipe output_;
    Pipe errors_;
    MarkedLines said_;
    Ends complained_;
    pid_t process_ = -1;
    std::array<bool, 2> is_open_{true, true};
    bool is_over_ = false;
    int status_ = 0;
    int stopped_by_ = 0;
};

} // namespace

Trial try_out(const std::vector<std::string>& command, const std::string& mark,
              double most_seconds) {
    // Orphans of the job can be waited for, whatever process 1 does about them.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const Signals signals;
    Trial trial;
    const auto begin = Clock::now();
    Child child(command, mark);
    while (!child.has_ended(WNOHANG)) {
        child.listen();
        trial.is_out_of_time = seconds_since(begin) > most_seconds;
        trial.wants_terminal = child.wants_terminal();
        if (trial.is_out_of_time || trial.wants_terminal || caught_signal != 0) { child.end(); }
    }
    trial.seconds = seconds_since(begin);
    // What it has left behind may keep the pipes open.
    constexpr double rest = 2;
    for (const auto end = Clock::now();
         child.can_write() && caught_signal == 0 && seconds_since(end) < rest;) {
        child.listen();
    }
    if (caught_signal != 0) { child.end(); }
    trial.status = child.status();
    trial.output = child.output();
    trial.errors = child.errors();
    return trial;
}

} // namespace nodeaware::tool::doctor
