#pragma once

#include "runtime/job/report.hpp"
#include "runtime/job/world.hpp"
#include "runtime/trace/text.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nodeaware::trace {

/// What this rank records, and its file, if the options ask for one. Threads may record at the same
/// time. The file is written anew now and then, always whole, so that there is one of a job that
/// ends in any way.
class Recorder {
  public:
    Recorder(const World& world, std::string job);
    bool has_file() const { return !path_.empty(); }

    Nanoseconds now() const {
        return static_cast<Nanoseconds>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count());
    }
    /// Lets `work` add to the contents at the time `now`. What it throws is lost, as is what it was
    /// to add.
    template <class Work> void record(Nanoseconds now, Work work) {
        try {
            const std::lock_guard guard(mutex_);
            work(contents_);
        } catch (const std::exception&) { return; }
        if (now >= next_write_.load(std::memory_order_relaxed)) { write(); }
    }
    /// What has become of a call of the application.
    void add(const CallRecord& record);

    /// Writes the file. One thread does, others go on.
    void write();
    /// The same where MPI_Finalize is called: whatever other threads do.
    void write_complete();
    /// The same where the process ends in another way, in which other threads, or what a signal has
    /// interrupted, may keep what is needed: not for long. False if it could not be had.
    bool write_at_end();
    /// Lets `work` read the contents, as far as it has to wait for no longer than write_at_end().
    template <class Work> bool look(Work work) {
        const std::unique_lock guard(mutex_, patience);
        if (guard.owns_lock()) { work(std::as_const(contents_)); }
        return guard.owns_lock();
    }
    /// Of the last write; empty: it has gone well.
    const std::string& complaint() const { return complaint_; }
    /// In all calls, and since the beginning.
    double seconds_in_calls();
    double wall_seconds() const { return static_cast<double>(now()) * 1e-9; }
    const std::string& job() const { return header_.job; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds patience{500};

    /// With both locks; gives that of the contents back when they are text.
    void write_with(std::unique_lock<std::timed_mutex> contents, bool is_complete);

    const Clock::time_point begin_ = Clock::now();
    Header header_;
    std::string path_;
    std::timed_mutex mutex_;   ///< of the contents and the ways
    std::timed_mutex writing_; ///< of the file
    Contents contents_;
    std::vector<Way> ways_;
    std::string complaint_;
    std::atomic<Nanoseconds> next_write_ = 0;
    Nanoseconds pause_;
};

/// Of this process; nullptr: nothing is recorded. Never destroyed but by close().
inline Recorder* recorder = nullptr;

/// Instead of a strategy.
inline constexpr std::string_view by_mpi = "native";
/// How the call went that the recorder was last told of in this thread.
inline thread_local std::string_view told_strategy;

/// Adds to what the recorder has, if there is one.
void tell(const CallRecord& record);

/// Makes the recorder if the options ask for a trace and its folder and file can be made; if not,
/// one warning for all ranks. If they only ask for a report with times, it has no file. Collective
/// over MPI_COMM_WORLD. Throws MpiError, and BadSettings after the warning where the settings are
/// strict.
void open(const World& world);
/// Writes what there is. Collective over MPI_COMM_WORLD. Throws MpiError.
void close(const World& world);

} // namespace nodeaware::trace
