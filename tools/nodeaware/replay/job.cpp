#include "tools/nodeaware/replay/job.hpp"

#include "tools/nodeaware/launch.hpp"
#include "tools/nodeaware/preload.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace nodeaware::tool::replay {

namespace {

[[noreturn]] void fail(const std::string& what, int error) {
    throw std::runtime_error(what + ": " + std::strerror(error));
}

/// The MPI that the launcher tells of, else that of this program.
MpiFlavor flavor_of(const std::vector<std::string>& launcher) {
    std::vector<std::string> command = launcher;
    command.emplace_back("nodeaware_replay");
    const auto told = understand(command).flavor;
    return told ? *told : mpi_of("/proc/self/exe").value_or(MpiFlavor::openmpi);
}

std::vector<std::string> command_of(const std::string& strategy, const std::vector<int>& patterns,
                                    const Job& job) {
    if (job.launcher.empty()) {
        throw LaunchError("no launcher behind --, as in: nodeaware replay FOLDER -- mpirun -n 4");
    }
    const MpiFlavor flavor = flavor_of(job.launcher);
    std::vector<std::string> command = job.launcher;
    command.push_back(find_own_program("nodeaware_replay", flavor).string());
    command.insert(command.end(), job.arguments.begin(), job.arguments.end());
    command.emplace_back("--pattern");
    for (const int number : patterns) { command.push_back(std::to_string(number)); }
    Launch launch = understand(command);
    const size_t program = job.launcher.size();
    if (!launch.has_launcher && !launch.flavor) { // whatever starts jobs where this runs
        launch.programs = {{program, program, 0, ""}};
    }
    if (launch.programs.size() != 1 || launch.programs.front().at != program) {
        throw LaunchError("behind -- stands the launcher without a program, as in: nodeaware "
                          "replay FOLDER -- mpirun -n 4");
    }
    std::map<std::string, std::string> settings = job.settings;
    settings["STRATEGY"] = strategy;
    const std::string library = job.preloads ? find_library(flavor).string() : "";
    return with_preload(command, launch, {library, environment_with(settings)});
}

/// A process whose output is read.
class Child {
  public:
    explicit Child(const std::vector<std::string>& command) {
        int ends[2];
        if (pipe(ends) != 0) { fail("pipe", errno); }
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        // Launchers read it, and what is typed is not for the ranks.
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        std::vector<char*> words;
        words.reserve(command.size() + 1);
        for (const std::string& word : command) {
            words.push_back(const_cast<char*>(word.c_str()));
        }
        words.push_back(nullptr);
        const int error =
            posix_spawnp(&process_, words[0], &actions, nullptr, words.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        output_ = fdopen(ends[0], "r");
        if (error != 0) {
            if (output_ != nullptr) { std::fclose(output_); }
            fail(command.front(), error);
        }
        if (output_ == nullptr) { fail("fdopen", errno); }
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        std::free(line_);
        std::fclose(output_);
        if (process_ > 0) { wait(); }
    }

    bool read_line(std::string& line) {
        const ssize_t length = getline(&line_, &room_, output_);
        if (length < 0) { return false; }
        line.assign(line_, static_cast<size_t>(length));
        return true;
    }
    /// Its exit status, or 128 and the signal.
    int wait() {
        int status = 0;
        while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {}
        process_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

  private:
    pid_t process_ = 0;
    FILE* output_ = nullptr;
    char* line_ = nullptr;
    size_t room_ = 0;
};

} // namespace

std::map<int, Measured> run_by(const std::string& strategy, const std::vector<int>& patterns,
                               const Job& job) {
    // For launchers that are told to hand it on.
    setenv("NODEAWARE_STRATEGY", strategy.c_str(), 1);
    for (const auto& [name, value] : job.settings) {
        setenv(("NODEAWARE_" + name).c_str(), value.c_str(), 1);
    }
    Child child(command_of(strategy, patterns, job));
    std::map<int, Measured> results;
    bool has_wrong_data = false;
    for (std::string line; child.read_line(line);) {
        int number = 0;
        Measured measured;
        if (read_result(line, number, measured)) {
            has_wrong_data = has_wrong_data || measured.wrong_bytes > 0;
            results[number] = measured;
        } else {
            std::fputs(line.c_str(), stderr);
        }
    }
    const int status = child.wait();
    const bool is_whole = std::all_of(patterns.begin(), patterns.end(),
                                      [&](int number) { return results.count(number) == 1; });
    if (!is_whole || (status != 0 && !has_wrong_data)) {
        throw std::runtime_error("the job with strategy " + strategy + " failed (exit status " +
                                 std::to_string(status) + ")");
    }
    return results;
}

} // namespace nodeaware::tool::replay
