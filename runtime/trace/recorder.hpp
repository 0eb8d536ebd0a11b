#pragma once

#include "runtime/job/report.hpp"
#include "runtime/job/world.hpp"
#include "runtime/trace/text.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nodeaware::trace {

/// What this rank records, and its file. Threads may record at the same time. The file is written
/// anew now and then, always whole, so that there is one of a job that ends in any way.
class Recorder {
  public:
    Recorder(const World& world, std::string job);

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
    void write(bool is_complete = false);
    /// Of the last write; empty: it has gone well.
    const std::string& complaint() const { return complaint_; }
    /// In all calls, and since the beginning.
    double seconds_in_calls();
    double wall_seconds() const { return static_cast<double>(now()) * 1e-9; }
    const std::string& job() const { return header_.job; }

  private:
    using Clock = std::chrono::steady_clock;

    const Clock::time_point begin_ = Clock::now();
    Header header_;
    std::string path_;
    std::mutex mutex_;   ///< of the contents and the ways
    std::mutex writing_; ///< of the file
    Contents contents_;
    std::vector<Way> ways_;
    std::string complaint_;
    std::atomic<Nanoseconds> next_write_ = 0;
    Nanoseconds pause_;
};

/// Of this process; nullptr: nothing is recorded. Never destroyed but by close().
inline Recorder* recorder = nullptr;

/// Adds to what the recorder has, if there is one.
void tell(const CallRecord& record);

/// Makes the recorder if the options ask for a trace and its folder and file can be made; if not,
/// one warning for all ranks. Collective over MPI_COMM_WORLD. Throws MpiError.
void open(const World& world);
/// Writes what there is. Collective over MPI_COMM_WORLD. Throws MpiError.
void close(const World& world);

} // namespace nodeaware::trace
