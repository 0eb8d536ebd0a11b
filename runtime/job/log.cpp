#include "runtime/job/log.hpp"

#include "tuning/signalless_write.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <unordered_set>

namespace nodeaware {

namespace {

/// The file sinks of spdlog would make folders, and its sink for stderr may end the process: by
/// SIGPIPE where nobody reads any more, by SIGXFSZ beyond `ulimit -f`. What cannot be written is
/// lost; ranks may share the file, so nobody can tell before whether there is room.
class FileSink : public spdlog::sinks::base_sink<std::mutex> {
  public:
    explicit FileSink(int file) : file_(file) {}
    ~FileSink() override {
        if (file_ != STDERR_FILENO) { close(file_); }
    }
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;

  private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        tuning::write_signalless(file_, line.data(), line.size(), tuning::WithoutReader::fails);
    }
    void flush_() override {}

    int file_;
};

struct Log {
    std::shared_ptr<spdlog::logger> logger;
    std::atomic<int> level{static_cast<int>(LogLevel::warn)};

    Log()
        : logger(std::make_shared<spdlog::logger>("nodeaware",
                                                  std::make_shared<FileSink>(STDERR_FILENO))) {
        logger->set_pattern("nodeaware: %v");
        logger->set_level(spdlog::level::trace);
    }

    /// Not one of the first facts that have been told already.
    bool is_news(const std::string& text) {
        constexpr size_t most = 4096;
        const std::lock_guard guard(mutex_);
        return told_.size() >= most || told_.insert(std::hash<std::string>()(text)).second;
    }

  private:
    std::mutex mutex_;
    std::unordered_set<size_t> told_;
};

/// Never destroyed: the application may end the process in ways that run no destructors, or in
/// which ours would run too early.
Log& the_log() {
    static Log* const instance = new Log;
    return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::info: return spdlog::level::info;
    default: return spdlog::level::debug;
    }
}

bool one_file_a_process(std::string_view pattern) {
    return pattern.find("%r") != std::string_view::npos ||
           pattern.find("%p") != std::string_view::npos;
}

/// As the batch system names the job, else the launcher; else of this process.
std::string job_id() {
    for (const char* name :
         {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID", "JOB_ID",
          "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"}) {
        const char* const value = std::getenv(name);
        if (value == nullptr || *value == '\0') { continue; }
        std::string id = value;
        std::replace(id.begin(), id.end(), '/', '_');
        return id;
    }
    return std::to_string(getpid());
}

} // namespace

std::string expand_path(std::string_view pattern, int rank) {
    std::string path;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%' || i + 1 == pattern.size()) {
            path += pattern[i];
            continue;
        }
        switch (pattern[++i]) {
        case 'h': {
            char host[256] = "unknown";
            if (gethostname(host, sizeof host - 1) != 0) { std::strcpy(host, "unknown"); }
            path += host;
            break;
        }
        case 'j': path += job_id(); break;
        case 'p': path += std::to_string(getpid()); break;
        case 'r': path += std::to_string(rank); break;
        case '%': path += '%'; break;
        default: (path += '%') += pattern[i];
        }
    }
    return path;
}

int open_for_lines(const std::string& path, int more_flags) {
    const int file = open(
        path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | more_flags, 0644);
    if (file < 0) { return -1; }
    const int flags = fcntl(file, F_GETFL);
    if (flags >= 0 && fcntl(file, F_SETFL, flags & ~O_NONBLOCK) == 0) { return file; }
    const int error = errno;
    close(file);
    errno = error;
    return -1;
}

std::string open_log(const Options& options, int rank) {
    Log& log = the_log();
    log.level = static_cast<int>(options.log);
    if (options.log_file.empty() && rank != 0 && options.log > LogLevel::warn) {
        log.level = static_cast<int>(LogLevel::warn); // one voice on stderr
    }
    if (options.log_file.empty() || options.log == LogLevel::off) { return ""; }
    if (rank != 0 && !one_file_a_process(options.log_file)) {
        log.level = static_cast<int>(LogLevel::off);
        return "";
    }
    const std::string path = expand_path(options.log_file, rank);
    const int file = open_for_lines(path);
    if (file < 0) { return path + ": " + std::strerror(errno); }
    log.logger->sinks() = {std::make_shared<FileSink>(file)};
    log.logger->set_pattern("%Y-%m-%d %H:%M:%S.%e [" + std::to_string(rank) + "] %l: %v");
    return "";
}

bool log_is_on(LogLevel level) {
    return static_cast<int>(level) <= the_log().level.load(std::memory_order_relaxed);
}

void write_formatted(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
    const std::string text = fmt::vformat(format, arguments);
    if (level != LogLevel::info || the_log().is_news(text)) { write_log(level, text); }
}

void write_log(LogLevel level, std::string_view text) {
    the_log().logger->log(spdlog_level(level), "{}", text);
}

} // namespace nodeaware
