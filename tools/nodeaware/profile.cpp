#include "tools/nodeaware/profile.hpp"

#include "runtime/job/options.hpp"
#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/trace/analysis.hpp"
#include "tuning/costs_of.hpp"
#include "tuning/table_file.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

volatile pid_t running = 0;

void hand_on(int number) {
    const int error = errno;
    if (running > 0) { kill(running, number); }
    errno = error;
}

/// What becomes of signals while this process waits. A terminal sends its own to both.
class Signals {
  public:
    Signals() {
        struct sigaction action = {};
        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < numbers.size(); ++i) {
            const bool is_of_terminal = numbers[i] == SIGINT || numbers[i] == SIGQUIT;
            action.sa_handler = is_of_terminal ? SIG_IGN : hand_on;
            sigaction(numbers[i], &action, &before_[i]);
        }
    }
    void restore() const {
        for (size_t i = 0; i < numbers.size(); ++i) { sigaction(numbers[i], &before_[i], nullptr); }
    }

  private:
    static constexpr std::array numbers = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    std::array<struct sigaction, numbers.size()> before_{};
};

[[noreturn]] void become(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) { words.push_back(const_cast<char*>(word.c_str())); }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::fprintf(stderr, "nodeaware: %s: %s\n", words[0], std::strerror(errno));
    _exit(2);
}

std::vector<std::string> verdict_of(const Trace& trace) {
    Parameters parameters = Options().parameters;
    parameters.costs = tuning::costs_of(tuning::find_table_or_default(trace.model).table);
    return verdict(trace, analyze(trace, trace.nodes), forecast_of(trace, trace.nodes, parameters));
}

} // namespace

int run_and_wait(const std::vector<std::string>& command) {
    const Signals signals;
    const pid_t child = fork();
    if (child < 0) { throw LaunchError(std::string("fork: ") + std::strerror(errno)); }
    if (child == 0) {
        signals.restore();
        become(command);
    }
    running = child;
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) { throw LaunchError(std::string("waitpid: ") + std::strerror(errno)); }
    }
    running = 0;
    signals.restore();
    return status;
}

/// Each is a file of its own, which has taken the place of the one before.
std::string manifest_in(const std::filesystem::path& folder) {
    struct stat is = {};
    if (stat((folder / "manifest.json").c_str(), &is) != 0) { return ""; }
    return std::to_string(is.st_ino) + " " + std::to_string(is.st_mtim.tv_sec) + "." +
           std::to_string(is.st_mtim.tv_nsec);
}

void say_what_was_recorded(const std::filesystem::path& folder, const std::string& before) {
    const std::string now = manifest_in(folder);
    if (now.empty() || now == before) {
        std::fprintf(stderr, "nodeaware: nothing was recorded in %s\n", folder.c_str());
        return;
    }
    try {
        const Trace trace = read_trace(folder, Timeline::sample);
        if (!trace.ranks.empty()) {
            for (const std::string& line : verdict_of(trace)) {
                std::fprintf(stderr, "nodeaware: %s\n", line.c_str());
            }
        }
    } catch (const std::exception& error) { std::fprintf(stderr, "nodeaware: %s\n", error.what()); }
    std::fprintf(stderr, "nodeaware: more of it: nodeaware analyze %s\n", folder.c_str());
}

void end_like(int status) {
    if (WIFSIGNALED(status)) {
        std::fflush(nullptr);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        _exit(128 + WTERMSIG(status)); // where it is blocked
    }
    std::exit(WEXITSTATUS(status));
}

} // namespace nodeaware::tool
