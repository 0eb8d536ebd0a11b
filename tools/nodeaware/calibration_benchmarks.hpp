#pragma once

#include "tools/fit/measurement_files.hpp"
#include "tools/gpu/gpu.hpp"
#include "tools/nodeaware/calibration_job.hpp"

#include <functional>

namespace nodeaware::tool {

struct CalibrationSettings {
    size_t max_bytes = 1 << 20; ///< largest message
    int repeats = 20;           ///< of every measurement, at most
    double time_limit = 60;     ///< seconds for all measurements together, about
    bool quick = false;         ///< fewer sizes
    bool gpu = true;            ///< look for one
};

struct Calibration {
    tuning::Measurements measured;
    std::vector<std::string> notes; ///< what could not be measured
    int gpus = 0;                   ///< of a node, as far as its processes see them
};

/// Bytes of the shared memory that each rank needs.
size_t slot_bytes(const CalibrationJob& job, const CalibrationSettings& settings);

/// Told after each benchmark of all that is measured so far.
using Keep = std::function<void(const tuning::Measurements&)>;

/// Runs all benchmarks; collective, the same result on all ranks. Throws MpiError,
/// and GpuError where copies fail on a GPU that worked before.
///
/// Messages are timed as the least of several repeats: what disturbs a message makes it longer, and
/// the parameters are those of an undisturbed machine. Copies and flags are timed as the median:
/// there, that others take the memory or the core at times is part of what is asked for. Repeats
/// alternate: all sizes once, then all again, so that a disturbance of a second hits one repeat of
/// many sizes and not all repeats of one.
///
/// On a slow network (an emulated one has milliseconds per message) the time limit ends the
/// repeats, and sizes that a first pass finds too long are left out.
///
/// GPU: copies by several processes of the first node are to and from its first GPU (see
/// GpuCopies); messages between GPUs are measured where the MPI says that it is device-aware.
Calibration run_benchmarks(CalibrationJob& job, const CalibrationSettings& settings, Gpu& gpu,
                           const Keep& keep);

} // namespace nodeaware::tool
