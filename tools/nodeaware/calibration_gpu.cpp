#include "tools/nodeaware/calibration_gpu.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace nodeaware::tool {

using namespace nodeaware::tuning;

namespace {

constexpr double gpu_copies_share = 0.06; ///< of the time limit, each direction

/// Processes that copy at the same time to or from one GPU.
constexpr std::array copying_processes = {1, 2, 4};

} // namespace

std::string GpuCopies::prepare_copies() {
    const bool copies = job_.is_on_first() && job_.local() < copying_processes.back();
    return prepare(copies, 0, copied_bytes());
}

size_t GpuCopies::copied_bytes() const { return std::max(settings_.max_bytes, size_t{4} << 20); }

std::string GpuCopies::prepare(bool needed, int device, size_t bytes) {
    std::string why;
    if (needed) { why = gpu_.open(); }
    if (needed && why.empty()) {
        try {
            gpu_.use(std::min(device, gpu_.devices() - 1));
            device_out_ = std::make_unique<DeviceBuffer>(gpu_, bytes);
            device_in_ = std::make_unique<DeviceBuffer>(gpu_, bytes);
            pinned_ = std::make_unique<PinnedBuffer>(gpu_, bytes);
            std::memset(pinned_->data(), 1, bytes);
            gpu_.copy_to_device(device_out_->address(), pinned_->data(), bytes);
            gpu_.synchronize();
        } catch (const GpuError& error) { why = error.what(); }
    }
    return job_.first_complaint(why);
}

std::vector<Measurements::Copies> GpuCopies::copies(Direction direction, Repeats& repeats) {
    std::vector<Case> cases;
    constexpr size_t smallest = 1024;
    for (size_t size = smallest; size <= copied_bytes(); size *= 2) {
        for (const int count : copying_processes) {
            if (count <= static_cast<int>(job_.first_ranks().size())) {
                cases.push_back({count, size});
            }
        }
    }
    const auto times = repeats.measure("copies " + std::string(name_of(direction)), cases,
                                       gpu_copies_share, [&](const Case& what, int iterations) {
                                           double best = std::numeric_limits<double>::infinity();
                                           if (!job_.is_on_first()) { return 0.0; }
                                           for (int i = 0; i < iterations; ++i) {
                                               best = std::min(best, copy_at_once(direction, what));
                                           }
                                           return job_.local() == 0 ? best : 0;
                                       });
    std::vector<Measurements::Copies> found;
    for (const int count : copying_processes) {
        Measurements::Copies copies{direction, true, count, {}};
        for (size_t i = 0; i < cases.size(); ++i) {
            if (cases[i].count != count) { continue; }
            copies.points.push_back({static_cast<double>(cases[i].bytes), times[i]});
        }
        if (!copies.points.empty()) { found.push_back(std::move(copies)); }
    }
    return found;
}

double GpuCopies::copy_at_once(Direction direction, const Case& what) {
    struct Span {
        double begin = 0;
        double end = 0;
    };
    Span span;
    job_.node_barrier();
    if (job_.local() < what.count) {
        span.begin = seconds_now();
        if (direction == Direction::host_to_device) {
            gpu_.copy_to_device(device_out_->address(), pinned_->data(), what.bytes);
        } else {
            gpu_.copy_to_host(pinned_->data(), device_out_->address(), what.bytes);
        }
        span.end = seconds_now();
        std::memcpy(job_.slot(job_.local()), &span, sizeof span);
    }
    job_.node_barrier();
    Span all = {std::numeric_limits<double>::infinity(), 0};
    for (int local = 0; local < what.count; ++local) {
        std::memcpy(&span, job_.slot(local), sizeof span);
        all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
    }
    return all.end - all.begin;
}

void GpuCopies::release() {
    device_out_.reset();
    device_in_.reset();
    pinned_.reset();
}

} // namespace nodeaware::tool
