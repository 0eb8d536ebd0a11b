#include "tools/nodeaware/doctor/trial.hpp"

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
    bool read_some(std::string& text) {
        std::array<char, 1 << 16> block{};
        const ssize_t length = read(ends_[0], block.data(), block.size());
        if (length > 0) { text.append(block.data(), static_cast<size_t>(length)); }
        return length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN));
    }

  private:
    void close_end(size_t end) {
        if (ends_[end] >= 0) { close(ends_[end]); }
        ends_[end] = -1;
    }
    std::array<int, 2> ends_{-1, -1};
};

/// In the child. `trouble`: where the error goes if there is no such program.
[[noreturn]] void become(char* const* words, int output, int errors, int trouble) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); // whoever interrupts this command ends the job
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
    explicit Child(const std::vector<std::string>& command) {
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
        const ssize_t length = read(trouble.reading(), &error, sizeof error);
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

    /// Takes what it writes, for a while at most. False once it can write no more.
    bool listen(Trial& trial) {
        std::array<pollfd, 2> both = {pollfd{is_open_[0] ? output_.reading() : -1, POLLIN, 0},
                                      pollfd{is_open_[1] ? errors_.reading() : -1, POLLIN, 0}};
        constexpr int milliseconds = 50;
        if (poll(both.data(), both.size(), milliseconds) <= 0) { return true; }
        if (both[0].revents != 0) { is_open_[0] = output_.read_some(trial.output); }
        if (both[1].revents != 0) { is_open_[1] = errors_.read_some(trial.errors); }
        return is_open_[0] || is_open_[1];
    }
    /// Whether it has, waiting for it if `options` say so.
    bool has_ended(int options) {
        if (is_over_) { return true; }
        int status = 0;
        pid_t ended = 0;
        do { ended = waitpid(process_, &status, options); } while (ended < 0 && errno == EINTR);
        if (ended == 0) { return false; }
        is_over_ = true;
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return true;
    }
    /// Politely at first: launchers end what they have started elsewhere.
    void end() {
        kill(-process_, SIGTERM);
        constexpr double grace = 5;
        for (const auto begin = Clock::now();
             !has_ended(WNOHANG) && seconds_since(begin) < grace;) {
            usleep(20'000);
        }
        kill(-process_, SIGKILL);
        has_ended(0);
    }
    int status() const { return status_; }

  private:
    Pipe output_;
    Pipe errors_;
    pid_t process_ = -1;
    std::array<bool, 2> is_open_{true, true};
    bool is_over_ = false;
    int status_ = 0;
};

} // namespace

Trial try_out(const std::vector<std::string>& command, double most_seconds) {
    Trial trial;
    const auto begin = Clock::now();
    Child child(command);
    bool can_write = true;
    while (!child.has_ended(WNOHANG)) {
        if (can_write) {
            can_write = child.listen(trial);
        } else {
            usleep(20'000);
        }
        if (seconds_since(begin) > most_seconds) {
            trial.is_out_of_time = true;
            child.end();
        }
    }
    trial.seconds = seconds_since(begin);
    // What it has left behind may keep the pipes open.
    constexpr double rest = 2;
    for (const auto end = Clock::now(); can_write && seconds_since(end) < rest;) {
        can_write = child.listen(trial);
    }
    trial.status = child.status();
    return trial;
}

} // namespace nodeaware::tool::doctor
