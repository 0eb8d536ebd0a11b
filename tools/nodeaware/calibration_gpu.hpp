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
    /// The same for copies().
    std::string prepare_copies();
    int devices() { return gpu_.devices(); }

    std::vector<tuning::Measurements::Copies> copies(tuning::Direction direction, Repeats& repeats);

    // After prepare(), on ranks that need them.
    DeviceBuffer& out() { return *device_out_; }
    DeviceBuffer& in() { return *device_in_; }
    void release();

  private:
    size_t copied_bytes() const;
    /// Some processes of the first node copy at the same time; all of the node call this. Seconds
    /// from when the first of them begins until the last is done: so a process that is late makes
    /// the time longer, and the least of several is of processes that did copy at the same time.
    double copy_at_once(tuning::Direction direction, const Case& what);

    CalibrationJob& job_;
    const CalibrationSettings& settings_;
    Gpu& gpu_;
    std::unique_ptr<DeviceBuffer> device_out_;
    std::unique_ptr<DeviceBuffer> device_in_;
    std::unique_ptr<PinnedBuffer> pinned_;
};

} // namespace nodeaware::tool
