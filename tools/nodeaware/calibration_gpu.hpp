#pragma once

#include "tools/fit/measurement_files.hpp"
#include "tools/gpu/gpu.hpp"
#include "tools/nodeaware/calibration_job.hpp"
#include "tools/nodeaware/calibration_repeats.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// Copies between host and GPU, and the buffers on both.
class GpuCopies {
  public:
    GpuCopies(CalibrationJob& job, const CalibrationSettings& settings, Gpu& gpu)
        : job_(job), settings_(settings), gpu_(gpu) {}

    /// Makes a GPU and buffers ready on the ranks that need them; why one of them cannot, the same
    /// on all ranks: else some would wait for others that have no GPU.
    std::string prepare(bool needed, int device, size_t bytes);
    /// The same for copies(): of the GPU that the first rank of the first node sees first, by ranks
    /// of that node that see it, too.
    std::string prepare_copies();
    int devices() { return gpu_.devices(); }

    /// To and from pinned memory of each process, with one call for each copy, as the papers do;
    /// and, as the library does, to and from memory that the processes share, also several copies
    /// in a stream, and both ways at once. By processes on the socket of the GPU and on others,
    /// where hwloc knows both.
    std::vector<tuning::Measurements::Copies> copies(Repeats& repeats);
    /// What could not be measured.
    const std::vector<std::string>& notes() const { return notes_; }

    // After prepare(), on ranks that need them.
    DeviceBuffer& out() { return *device_out_; }
    DeviceBuffer& in() { return *device_in_; }
    void release();

  private:
    /// What is copied from where to where, and by whom.
    struct Kind {
        tuning::Direction direction;
        tuning::HostMemory host;
        bool same_socket;
    };

    std::string find_gpu();
    void find_processes();
    void reach_arena(bool needed);
    /// Local numbers of the processes that copy.
    const std::vector<int>& group(const Kind& kind) const {
        return kind.same_socket ? near_ : far_;
    }
    /// Those that these processes can do.
    std::vector<Kind> kinds() const;
    bool takes_part() const;
    size_t copied_bytes() const;
    size_t most_bytes(const Kind& kind) const;
    std::vector<Case> cases(const Kind& kind) const;
    std::vector<tuning::Measurements::Copies> copies_of(const Kind& kind, Repeats& repeats);
    /// Some processes of the first node copy at the same time; all of the node call this. Seconds
    /// from when the first of them begins until the last is done: so a process that is late makes
    /// the time longer, and the least of several is of processes that did copy at the same time.
    double copy_at_once(const Kind& kind, const Case& what);
    void copy(const Kind& kind, const Case& what);
    void copy_by_stream(tuning::Direction direction, const Case& what);

    CalibrationJob& job_;
    const CalibrationSettings& settings_;
    Gpu& gpu_;
    std::string bus_id_; ///< of the GPU of the copies
    int device_ = -1;    ///< its number in this process; -1: it is not seen
    int socket_ = -1;    ///< of that GPU; -1: not known
    std::vector<int> near_;
    std::vector<int> far_;
    std::vector<std::string> notes_;
    bool has_arena_ = false; ///< on all ranks that need it
    std::unique_ptr<DeviceBuffer> device_out_;
    std::unique_ptr<DeviceBuffer> device_in_;
    std::unique_ptr<PinnedBuffer> pinned_;
    std::unique_ptr<ReachableMemory> arena_; ///< the slot of this process
    std::unique_ptr<Stream> other_stream_;
};

} // namespace nodeaware::tool
