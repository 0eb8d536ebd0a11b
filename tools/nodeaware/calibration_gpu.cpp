#include "tools/nodeaware/calibration_gpu.hpp"

#include "runtime/job/machine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

namespace nodeaware::tool {

using namespace nodeaware::tuning;

namespace {

constexpr double gpu_copies_share = 0.025; ///< of the time limit, each kind

/// Processes that copy at the same time to or from one GPU.
constexpr std::array copying_processes = {1, 2, 4};

/// Runs work with the GPU; what it fails with.
template <class Work> std::string complaint_of(Work work) {
    try {
        work();
    } catch (const GpuError& error) { return error.what(); }
    return "";
}

} // namespace

std::string GpuCopies::prepare_copies() {
    if (std::string why = find_gpu(); !why.empty()) { return why; }
    find_processes();
    std::string why = prepare(takes_part(), device_, copied_bytes());
    if (why.empty()) { reach_arena(takes_part()); }
    return why;
}

/// Which GPU it is, and where: the first rank tells all.
std::string GpuCopies::find_gpu() {
    struct Found {
        std::array<char, 32> bus_id{};
        int socket = -1;
    } found;
    const int first = job_.first_ranks()[0];
    std::string why;
    if (job_.rank() == first) {
        why = gpu_.open();
        if (why.empty()) {
            why = complaint_of([&] {
                gpu_.bus_id(0).copy(found.bus_id.data(), found.bus_id.size() - 1);
                found.socket = find_devices({found.bus_id.data()}).front().socket;
            });
        }
    }
    why = job_.first_complaint(why);
    if (!why.empty()) { return why; }
    check(MPI_Bcast(&found, sizeof found, MPI_BYTE, first, job_.comm()), "MPI_Bcast");
    bus_id_ = found.bus_id.data();
    socket_ = found.socket;
    if (socket_ < 0) {
        notes_.emplace_back("GPU: its socket is not known, all processes count as running on it");
    }
    return "";
}

/// Up to four on each side, of those that see this GPU.
void GpuCopies::find_processes() {
    int sees = 0;
    std::string why;
    if (job_.is_on_first()) {
        why = gpu_.open();
        if (why.empty()) {
            why = complaint_of([&] { device_ = gpu_.find(bus_id_); });
            sees = device_ >= 0 ? 1 : 0;
        }
        if (why.empty() && sees == 0) { why = "it sees other GPUs"; }
    }
    const std::string missing = job_.first_complaint(why);
    if (!missing.empty()) { notes_.push_back("GPU: a process does not copy: " + missing); }
    std::vector<int> all(static_cast<size_t>(job_.topology().ranks()));
    check(MPI_Allgather(&sees, 1, MPI_INT, all.data(), 1, MPI_INT, job_.comm()), "MPI_Allgather");
    const std::vector<int>& ranks = job_.first_ranks();
    const bool are_bound = std::any_of(ranks.begin(), ranks.end(),
                                       [this](int rank) { return job_.socket_of(rank) >= 0; });
    for (size_t local = 0; local < ranks.size(); ++local) {
        const int rank = ranks[local];
        if (all[static_cast<size_t>(rank)] == 0) { continue; }
        const int socket = job_.socket_of(rank);
        if (socket < 0 && are_bound && socket_ >= 0) { continue; } // it may run anywhere
        const bool is_near = socket_ < 0 || socket < 0 || socket == socket_;
        auto& side = is_near ? near_ : far_;
        if (std::cmp_less(side.size(), copying_processes.back())) {
            side.push_back(static_cast<int>(local));
        }
    }
}

void GpuCopies::reach_arena(bool needed) {
    std::string why;
    if (needed) {
        why = complaint_of([&] {
            std::byte* const slot = job_.slot(job_.local());
            arena_ = std::make_unique<ReachableMemory>(gpu_, slot, slot_bytes(job_, settings_));
            other_stream_ = std::make_unique<Stream>(gpu_);
        });
    }
    why = job_.first_complaint(why);
    has_arena_ = why.empty();
    if (!has_arena_) { notes_.push_back("GPU: no copies of shared memory: " + why); }
}

bool GpuCopies::takes_part() const {
    const auto has = [this](const std::vector<int>& side) {
        return std::find(side.begin(), side.end(), job_.local()) != side.end();
    };
    return job_.is_on_first() && (has(near_) || has(far_));
}

size_t GpuCopies::copied_bytes() const { return std::max(settings_.max_bytes, size_t{4} << 20); }

size_t GpuCopies::most_bytes(const Kind& kind) const {
    if (kind.host == HostMemory::pinned) { return copied_bytes(); }
    const size_t room = std::min(copied_bytes(), slot_bytes(job_, settings_));
    return kind.direction == Direction::both ? room / 2 : room;
}

std::string GpuCopies::prepare(bool needed, int device, size_t bytes) {
    std::string why;
    if (needed) { why = gpu_.open(); }
    if (needed && why.empty()) {
        why = complaint_of([&] {
            gpu_.use(std::min(device, gpu_.devices() - 1));
            device_out_ = std::make_unique<DeviceBuffer>(gpu_, bytes);
            device_in_ = std::make_unique<DeviceBuffer>(gpu_, bytes);
            pinned_ = std::make_unique<PinnedBuffer>(gpu_, bytes);
            std::memset(pinned_->data(), 1, bytes);
            gpu_.copy_to_device(device_out_->address(), pinned_->data(), bytes);
            gpu_.synchronize();
        });
    }
    return job_.first_complaint(why);
}

std::vector<GpuCopies::Kind> GpuCopies::kinds() const {
    std::vector<Kind> found;
    for (const bool same_socket : {true, false}) {
        for (const HostMemory host : {HostMemory::pinned, HostMemory::arena}) {
            for (const Direction direction :
                 {Direction::host_to_device, Direction::device_to_host, Direction::both}) {
                const Kind kind{direction, host, same_socket};
                const bool is_known =
                    host == HostMemory::arena ? has_arena_ : direction != Direction::both;
                if (is_known && !group(kind).empty()) { found.push_back(kind); }
            }
        }
    }
    return found;
}

std::vector<Measurements::Copies> GpuCopies::copies(Repeats& repeats) {
    const std::vector<Kind> all = kinds();
    repeats.plan(gpu_copies_share * static_cast<double>(all.size()));
    std::vector<Measurements::Copies> found;
    for (const Kind& kind : all) {
        const auto copies = copies_of(kind, repeats);
        found.insert(found.end(), copies.begin(), copies.end());
    }
    return found;
}

/// Sizes ascend. Several in a row only of small ones, by one process: there it matters that they
/// are waited for together.
std::vector<Case> GpuCopies::cases(const Kind& kind) const {
    constexpr size_t smallest = 1024;
    constexpr size_t largest_of_a_row = 32768;
    constexpr size_t step_of_rows = 4;
    const bool has_rows = kind.host == HostMemory::arena && kind.direction != Direction::both;
    std::vector<Case> cases;
    size_t next_row = smallest;
    for (size_t size = smallest; size <= most_bytes(kind); size *= 2) {
        for (const int count : copying_processes) {
            if (count <= static_cast<int>(group(kind).size())) { cases.push_back({count, size}); }
        }
        if (!has_rows || size != next_row || size > largest_of_a_row) { continue; }
        next_row *= step_of_rows;
        for (const int in_a_row : {2, 4, 8}) {
            if (static_cast<size_t>(in_a_row) * size <= most_bytes(kind)) {
                cases.push_back({1, size, in_a_row});
            }
        }
    }
    return cases;
}

std::vector<Measurements::Copies> GpuCopies::copies_of(const Kind& kind, Repeats& repeats) {
    std::vector<Case> cases = this->cases(kind);
    const std::string name = "copies " + std::string(name_of(kind.direction)) + ", " +
                             std::string(name_of(kind.host)) +
                             (kind.same_socket ? "" : ", other socket");
    const auto times =
        repeats.measure(name, cases, gpu_copies_share, [&](const Case& what, int iterations) {
            double best = std::numeric_limits<double>::infinity();
            if (!job_.is_on_first()) { return 0.0; }
            for (int i = 0; i < iterations; ++i) {
                best = std::min(best, copy_at_once(kind, what));
            }
            return job_.local() == 0 ? best : 0;
        });
    std::map<std::pair<int, int>, std::vector<Point>> curves; // by processes, copies in a row
    for (size_t i = 0; i < cases.size(); ++i) {
        curves[{cases[i].count, cases[i].in_a_row}].push_back(
            {static_cast<double>(cases[i].bytes), times[i]});
    }
    std::vector<Measurements::Copies> found;
    for (auto& [which, points] : curves) {
        const auto [processes, in_a_row] = which;
        found.push_back(
            {kind.direction, kind.same_socket, processes, std::move(points), kind.host, in_a_row});
    }
    return found;
}

double GpuCopies::copy_at_once(const Kind& kind, const Case& what) {
    struct Span {
        double begin = 0;
        double end = 0;
    };
    const auto first = group(kind).begin();
    const auto last = first + what.count;
    Span span;
    job_.node_barrier();
    if (std::find(first, last, job_.local()) != last) {
        span.begin = seconds_now();
        copy(kind, what);
        span.end = seconds_now();
        std::memcpy(job_.slot(job_.local()), &span, sizeof span);
    }
    job_.node_barrier();
    Span all = {std::numeric_limits<double>::infinity(), 0};
    for (auto local = first; local != last; ++local) {
        std::memcpy(&span, job_.slot(*local), sizeof span);
        all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
    }
    return all.end - all.begin;
}

void GpuCopies::copy(const Kind& kind, const Case& what) {
    if (kind.host == HostMemory::arena) {
        copy_by_stream(kind.direction, what);
    } else if (kind.direction == Direction::host_to_device) {
        gpu_.copy_to_device(device_in_->address(), pinned_->data(), what.bytes);
    } else {
        gpu_.copy_to_host(pinned_->data(), device_out_->address(), what.bytes);
    }
}

void GpuCopies::copy_by_stream(Direction direction, const Case& what) {
    constexpr size_t longest_by_rows = 32 << 10; // as the library has it
    std::byte* const slot = job_.slot(job_.local());
    void* const stream = Gpu::stream_of_thread();
    const auto begin_to_device = [&](uint64_t to, const std::byte* from, void* in) {
        if (what.count > 1 && what.bytes <= longest_by_rows) {
            gpu_.begin_to_device_by_engine(to, from, what.bytes, in);
        } else {
            gpu_.begin_to_device(to, from, what.bytes, in);
        }
    };
    if (direction == Direction::both) {
        begin_to_device(device_in_->address(), slot + what.bytes, other_stream_->handle());
        gpu_.begin_to_host(slot, device_out_->address(), what.bytes, stream);
        gpu_.wait(other_stream_->handle());
        return gpu_.wait(stream);
    }
    for (size_t i = 0; i < static_cast<size_t>(what.in_a_row); ++i) {
        const size_t offset = i * what.bytes;
        if (direction == Direction::host_to_device) {
            begin_to_device(device_in_->address() + offset, slot + offset, stream);
        } else {
            gpu_.begin_to_host(slot + offset, device_out_->address() + offset, what.bytes, stream);
        }
    }
    gpu_.wait(stream);
}

void GpuCopies::release() {
    other_stream_.reset();
    arena_.reset();
    device_out_.reset();
    device_in_.reset();
    pinned_.reset();
}

} // namespace nodeaware::tool
