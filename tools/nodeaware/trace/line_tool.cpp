#include "tools/nodeaware/trace/line_tool.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

using Clock = std::chrono::steady_clock;
using FileHandle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// As a file: what is written to a pipe may wait for what nobody reads yet.
FileHandle file_of(const std::vector<uint64_t>& addresses) {
    FileHandle file(std::tmpfile(), std::fclose);
    for (size_t i = 0; file && i < addresses.size(); ++i) {
        std::fprintf(file.get(), "0x%llx\n", static_cast<unsigned long long>(addresses[i]));
    }
    const bool is_written = file && std::fflush(file.get()) == 0 && std::ferror(file.get()) == 0 &&
                            std::fseek(file.get(), 0, SEEK_SET) == 0;
    if (!is_written) { file.reset(); }
    return file;
}

/// Debug information is not fetched from anywhere, which may take for ever.
std::vector<char*> surroundings() {
    std::vector<char*> list;
    for (char** setting = environ; *setting != nullptr; ++setting) {
        if (!std::string_view(*setting).starts_with("DEBUGINFOD_URLS=")) {
            list.push_back(*setting);
        }
    }
    list.push_back(nullptr);
    return list;
}

/// A running tool, which is ended with this.
class Process {
  public:
    Process(std::vector<std::string> command, int input) {
        std::array<int, 2> pipe{};
        if (pipe2(pipe.data(), O_CLOEXEC) != 0) { return; }
        output_ = pipe[0];
        posix_spawn_file_actions_t actions;
        if (posix_spawn_file_actions_init(&actions) == 0) {
            spawn(actions, command, input, pipe[1]);
            posix_spawn_file_actions_destroy(&actions);
        }
        close(pipe[1]);
    }
    ~Process() {
        if (output_ >= 0) { close(output_); }
        if (process_ < 0) { return; }
        kill(process_, SIGKILL);
        while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {}
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    bool is_running() const { return process_ >= 0; }

    /// What it says until it ends, or the time is over.
    std::string listen(Clock::time_point until) const {
        constexpr size_t most = size_t{64} << 20;
        std::string said;
        std::array<char, 65536> part;
        while (said.size() < most) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
            pollfd wait{output_, POLLIN, 0};
            const int ready =
                left.count() <= 0 ? 0 : poll(&wait, 1, static_cast<int>(left.count()));
            if (ready < 0 && errno == EINTR) { continue; }
            const ssize_t bytes = ready <= 0 ? 0 : read(output_, part.data(), part.size());
            if (bytes <= 0) { break; }
            said.append(part.data(), static_cast<size_t>(bytes));
        }
        return said;
    }

  private:
    void spawn(posix_spawn_file_actions_t& actions, std::vector<std::string>& command, int input,
               int output) {
        std::vector<char*> arguments;
        arguments.reserve(command.size() + 1);
        for (std::string& argument : command) { arguments.push_back(argument.data()); }
        arguments.push_back(nullptr);
        const bool is_set =
            posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) == 0 &&
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0 &&
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ==
                0;
        if (!is_set) { return; }
        pid_t process = -1;
        if (posix_spawnp(&process, arguments.front(), &actions, nullptr, arguments.data(),
                         surroundings().data()) == 0) {
            process_ = process;
        }
    }

    pid_t process_ = -1;
    int output_ = -1;
};

/// "FILE:LINE", after which there may be more.
SourcePlace place_of(const std::string& function, const std::string& where) {
    SourcePlace place;
    if (function != "??") { place.function = function; }
    const size_t colon = where.rfind(':');
    if (colon == std::string::npos || where.starts_with("??")) { return place; }
    const char* const end = where.data() + where.size();
    std::from_chars(where.data() + colon + 1, end, place.line);
    if (place.line > 0) { place.file = where.substr(0, colon); }
    return place;
}

} // namespace

std::vector<std::vector<SourcePlace>> read_line_tool(const std::string& said, size_t count) {
    std::vector<std::vector<SourcePlace>> all(count);
    std::istringstream lines(said);
    size_t entries = 0;
    for (std::string function; std::getline(lines, function);) {
        if (function.starts_with("0x")) {
            ++entries;
            continue;
        }
        std::string where;
        if (entries == 0 || entries > count || !std::getline(lines, where)) { break; }
        const SourcePlace place = place_of(function, where);
        if (!place.function.empty() || !place.file.empty()) { all[entries - 1].push_back(place); }
    }
    return all;
}

std::vector<std::vector<SourcePlace>> ask_line_tool(const std::string& file,
                                                    const std::vector<uint64_t>& addresses,
                                                    Clock::time_point until) {
    for (const char* tool : {"addr2line", "llvm-addr2line"}) {
        const FileHandle input = file_of(addresses);
        if (!input) { break; }
        const Process process({tool, "-a", "-f", "-C", "-i", "-e", file}, fileno(input.get()));
        if (process.is_running()) {
            return read_line_tool(process.listen(until), addresses.size());
        }
    }
    return std::vector<std::vector<SourcePlace>>(addresses.size());
}

} // namespace nodeaware::tool
