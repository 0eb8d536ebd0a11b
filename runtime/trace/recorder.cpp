#include "runtime/trace/recorder.hpp"

#include "runtime/trace/file.hpp"
#include "runtime/trace/manifest.hpp"
#include "tuning/text_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <unistd.h>

namespace nodeaware::trace {

namespace {

constexpr Nanoseconds second = 1'000'000'000;
/// Between two writes: from the first to the later ones, and in units of what one takes.
constexpr Nanoseconds least_pause = second;
constexpr Nanoseconds most_pause = 60 * second;
constexpr Nanoseconds pause_for_cost = 20;

std::string host_name() {
    char host[256] = "unknown";
    if (gethostname(host, sizeof host - 1) != 0) { std::strcpy(host, "unknown"); }
    return host;
}

/// Another one in each job, the same on all ranks. Collective over MPI_COMM_WORLD.
std::string name_of_job() {
    std::array<unsigned long long, 2> numbers = {
        static_cast<unsigned long long>(
            std::chrono::system_clock::now().time_since_epoch().count()),
        static_cast<unsigned long long>(getpid())};
    MPI_CALL(Bcast, numbers.data(), static_cast<int>(numbers.size()), MPI_UNSIGNED_LONG_LONG, 0,
             MPI_COMM_WORLD);
    return std::to_string(numbers[0]) + "-" + std::to_string(numbers[1]);
}

std::string complaint_of(const std::string& path, int error) {
    return error == 0 ? "" : "NODEAWARE_TRACE: " + path + ": " + std::strerror(error);
}

/// The same of work that needs memory: who fails alone still has others to tell.
template <class Work> std::string complaint_of_work(Work work) {
    try {
        return work();
    } catch (const std::bad_alloc&) { return "NODEAWARE_TRACE: no memory"; }
}

/// Makes the files. Returns what is wrong, if anything is.
std::string begin(const World& world, const std::string& job, std::unique_ptr<Recorder>& made) {
    made = std::make_unique<Recorder>(world, job);
    const std::string& folder = world.options.trace;
    if (const int error = make_folder(folder); error != 0) { return complaint_of(folder, error); }
    made->write();
    if (!made->complaint().empty() || world.rank != 0) { return made->complaint(); }
    return complaint_of(folder, write_manifest(world, job, {}));
}

/// All ranks know whether there has been a warning: there is only one.
bool has_complained = false;

} // namespace

Recorder::Recorder(const World& world, std::string job)
    : header_{std::move(job), world.rank,
              world.size,     world.node_of[static_cast<size_t>(world.rank)],
              host_name(),    std::chrono::duration<double>(begin_.time_since_epoch()).count()},
      path_(world.options.trace.empty()
                ? ""
                : world.options.trace + "/rank." + std::to_string(world.rank) +
                      std::string(file_ending())),
      contents_(has_file() ? Limits() : Limits::of_sums()), pause_(least_pause) {
    if (!has_file()) { next_write_ = std::numeric_limits<Nanoseconds>::max(); }
}

void Recorder::add(const CallRecord& record) {
    const std::string_view operation = name_of(record.operation);
    const std::string_view strategy = record.strategy == nullptr ? "native" : record.strategy->name;
    const std::string_view reason = text_of(record.reason);
    this->record(0, [&](Contents&) {
        const auto is_alike = [&](const Way& way) {
            return way.operation == operation && way.strategy == strategy && way.reason == reason;
        };
        auto way = std::find_if(ways_.begin(), ways_.end(), is_alike);
        if (way == ways_.end()) {
            way = ways_.insert(way, Way{operation, strategy, reason, 0, 0, 0, {}});
        }
        ++way->calls;
        way->sent_messages += record.sent_messages;
        way->sent_bytes += record.sent_bytes;
        if (!record.device.is_any()) { return; }
        const auto values = record.device.values();
        way->device.resize(values.size());
        for (size_t i = 0; i < values.size(); ++i) { way->device[i] += values[i]; }
    });
}

void Recorder::write() {
    const std::unique_lock writing(writing_, std::try_to_lock);
    if (writing.owns_lock()) { write_with(std::unique_lock(mutex_), false); }
}

void Recorder::write_complete() {
    const std::lock_guard writing(writing_);
    write_with(std::unique_lock(mutex_), true);
}

bool Recorder::write_at_end() {
    const std::unique_lock writing(writing_, patience);
    if (!writing.owns_lock()) { return false; }
    std::unique_lock contents(mutex_, patience);
    if (!contents.owns_lock()) { return false; }
    write_with(std::move(contents), false);
    return true;
}

void Recorder::write_with(std::unique_lock<std::timed_mutex> contents, bool is_complete) {
    const Nanoseconds begin = now();
    int error = ENOMEM;
    try {
        std::string text = trace::text_of(header_, contents_, ways_, begin, is_complete);
        contents.unlock();
        const std::string bytes = packed(std::move(text));
        if (!bytes.empty()) { error = tuning::write_whole(path_, bytes); }
        complaint_ = complaint_of(path_, error);
    } catch (const std::exception&) { complaint_ = "NODEAWARE_TRACE: no memory"; }
    const Nanoseconds end = now();
    next_write_ = end + std::max(pause_, pause_for_cost * (end - begin));
    pause_ = std::min(2 * pause_, most_pause);
}

double Recorder::seconds_in_calls() {
    const std::lock_guard guard(mutex_);
    return static_cast<double>(contents_.all_calls().sum) * 1e-9;
}

void tell(const CallRecord& record) {
    told_strategy = record.strategy == nullptr || record.reason != Reason::none
                        ? by_mpi
                        : record.strategy->name;
    if (recorder != nullptr) { recorder->add(record); }
}

void open(const World& world) {
    if (world.options.trace.empty()) {
        try {
            const bool is_wanted = world.options.report && world.options.report_times;
            if (is_wanted) { recorder = new Recorder(world, ""); }
        } catch (const std::bad_alloc&) { return; } // the others have times
        return;
    }
    const std::string job = name_of_job();
    std::unique_ptr<Recorder> made;
    const std::string complaint = complaint_of_work([&] { return begin(world, job, made); });
    has_complained = world.complain_of_settings(complaint);
    if (complaint.empty()) { recorder = made.release(); }
}

void close(const World& world) {
    if (world.options.trace.empty()) {
        delete std::exchange(recorder, nullptr);
        return;
    }
    std::array<double, 2> mine{};
    std::string complaint;
    if (recorder != nullptr) {
        recorder->write_complete();
        complaint = recorder->complaint();
        mine = {recorder->seconds_in_calls(), recorder->wall_seconds()};
    }
    std::array<double, 2> most{};
    double sum = 0;
    MPI_CALL(Reduce, mine.data(), most.data(), 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_CALL(Reduce, mine.data(), &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (recorder != nullptr && world.rank == 0 && complaint.empty()) {
        const Ended ended{true, most[1], sum, most[0]};
        complaint = complaint_of_work([&] {
            return complaint_of(world.options.trace, write_manifest(world, recorder->job(), ended));
        });
    }
    delete std::exchange(recorder, nullptr);
    if (!has_complained) { world.complain_once(complaint); }
}

} // namespace nodeaware::trace
