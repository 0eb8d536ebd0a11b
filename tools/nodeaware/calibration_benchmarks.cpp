#include "tools/nodeaware/calibration_benchmarks.hpp"

#include "tools/nodeaware/calibration_gpu.hpp"
#include "tools/nodeaware/calibration_repeats.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>

namespace nodeaware::tool {

namespace {

using namespace nodeaware::tuning;

/// Shares of the time limit.
constexpr double network_share = 0.35;
constexpr double together_share = 0.35;
constexpr double in_a_row_share = 0.1;
constexpr double node_share = 0.08;
constexpr double device_network_share = 0.1;
constexpr double device_node_share = 0.04;

class Benchmarks {
  public:
    Benchmarks(CalibrationJob& job, const CalibrationSettings& settings, Gpu& gpu, const Keep& keep)
        : job_(job), settings_(settings), keep_(keep), gpu_(job, settings, gpu),
          repeats_(job, settings), out_(settings.max_bytes), in_(settings.max_bytes) {}

    Calibration run() {
        constexpr double barrier_share = node_share;
        repeats_.plan(barrier_share + together_share + in_a_row_share);
        ping_pongs({Memory::host, out_.data(), in_.data()}, network_share, node_share);
        together();
        keep_(found_);
        in_a_row();
        keep_(found_);
        copies();
        flags();
        keep_(found_);
        if (settings_.gpu) {
            gpu_steps();
        } else {
            notes_.emplace_back("--no-gpu: GPUs were not looked for");
        }
        return {std::move(found_), std::move(notes_), gpus_};
    }

  private:
    /// Dense about the sizes at which MPIs change their protocol, some of them less their header.
    std::vector<size_t> dense_sizes() const {
        constexpr size_t around = 256;
        constexpr size_t first_switch = 4096;
        constexpr size_t last_switch = size_t{256} << 10;
        std::set<size_t> sizes;
        for (size_t size = 1; size <= settings_.max_bytes; size *= 2) {
            sizes.insert(size);
            if (size >= 4 && !settings_.quick) { sizes.insert(size + size / 2); }
            if (size < first_switch || size > last_switch) { continue; }
            sizes.insert(size - around);
            if (settings_.quick) { continue; }
            for (const size_t more : {size + around, size / 4 * 5, size / 4 * 7}) {
                sizes.insert(more);
            }
        }
        while (*sizes.rbegin() > settings_.max_bytes) { sizes.erase(std::prev(sizes.end())); }
        return {sizes.begin(), sizes.end()};
    }

    /// Where messages of the ping-pongs lie.
    struct Buffers {
        Memory memory = Memory::host;
        std::byte* out = nullptr;
        std::byte* in = nullptr;
    };

    void ping_pong(const Buffers& buffers, Locality locality, int first, int second, double share) {
        std::vector<Case> cases;
        for (const size_t size : dense_sizes()) { cases.push_back({1, size}); }
        const auto round = [&](const Case& what, int iterations) {
            double begin = seconds_now();
            // Of several iterations one more wakes the partner.
            for (int i = iterations > 1 ? -1 : 0; i < iterations; ++i) {
                if (i == 0) { begin = seconds_now(); }
                if (job_.rank() == first) {
                    job_.send(second, buffers.out, what.bytes);
                    job_.receive(second, buffers.in, what.bytes);
                } else if (job_.rank() == second) {
                    job_.receive(first, buffers.in, what.bytes);
                    job_.send(first, buffers.out, what.bytes);
                }
            }
            return job_.rank() == first ? (seconds_now() - begin) / iterations / 2 : 0;
        };
        const auto times = repeats_.measure(std::string(name_of(buffers.memory)) + " ping-pong, " +
                                                std::string(name_of(locality)),
                                            cases, share, round);
        Measurements::Pair pair{buffers.memory, locality, {}};
        for (size_t i = 0; i < cases.size(); ++i) {
            pair.points.push_back({static_cast<double>(cases[i].bytes), times[i]});
        }
        found_.pairs.push_back(std::move(pair));
        keep_(found_);
    }

    /// The partners of the first rank on its node; -1: none.
    struct Partners {
        int socket = -1;
        int node = -1;
    };

    /// One on the same socket where the binding tells, and one on another, or just another.
    Partners partners() const {
        const std::vector<int>& ranks = job_.first_ranks();
        const int own = job_.socket_of(ranks[0]);
        int same = -1;
        int other = -1;
        for (size_t i = ranks.size() - 1; i > 0; --i) {
            const int socket = job_.socket_of(ranks[i]);
            (own >= 0 && socket == own ? same : other) = ranks[i];
        }
        if (other < 0) { return {-1, same}; }
        return {same, other};
    }

    void ping_pongs(const Buffers& buffers, double between_nodes, double on_node) {
        const int first = job_.first_ranks()[0];
        const auto [socket, node] = partners();
        repeats_.plan(between_nodes + (socket >= 0 ? 2 : 1) * on_node);
        ping_pong(buffers, Locality::network, first, job_.second_ranks()[0], between_nodes);
        if (socket >= 0) { ping_pong(buffers, Locality::socket, first, socket, on_node); }
        ping_pong(buffers, Locality::node, first, node, on_node);
    }

    /// All numbers of processes where they are few, else in steps.
    std::vector<int> process_counts() const {
        constexpr int few = 8;
        std::set<int> counts = {job_.pairs()};
        for (int count = 1; count < job_.pairs();
             count += std::max(1, count >= few ? count / 4 : 1)) {
            counts.insert(count);
        }
        return {counts.begin(), counts.end()};
    }

    /// k processes of the first node each exchange a message with a partner on the second. Both
    /// ways at once, as in what strategies do: where a receiver is asked first (rendezvous), its
    /// answer has to wait for what it sends itself. A barrier of the node, through shared memory,
    /// follows; what it costs is measured by itself (k = 0) and taken off.
    void together() {
        const auto round = [&](const Case& what, int iterations) {
            if (!job_.is_on_first() && !job_.is_on_second()) { return 0.0; }
            job_.node_barrier();
            const double begin = seconds_now();
            for (int i = 0; i < iterations; ++i) { together_once(what); }
            const double seconds = (seconds_now() - begin) / iterations;
            return job_.rank() == job_.first_ranks()[0] ? seconds : 0.0;
        };
        std::vector<Case> empty = {{0, 0}};
        const double barrier = repeats_.measure("barrier", empty, node_share, round)[0];
        std::vector<Case> cases;
        constexpr size_t smallest = 64;
        for (size_t size = smallest; size <= settings_.max_bytes; size *= settings_.quick ? 4 : 2) {
            for (const int count : process_counts()) { cases.push_back({count, size}); }
        }
        const auto times = repeats_.measure("exchanges of nodes", cases, together_share, round);
        for (size_t i = 0; i < cases.size(); ++i) {
            const double seconds = times[i] - barrier;
            if (seconds <= 0) { continue; }
            found_.simultaneous.push_back({Memory::host, static_cast<double>(cases[i].count),
                                           static_cast<double>(cases[i].bytes), seconds});
        }
    }

    void together_once(const Case& what) {
        if (job_.local() < what.count) {
            const auto& partners = job_.is_on_first() ? job_.second_ranks() : job_.first_ranks();
            const int partner = partners[static_cast<size_t>(job_.local())];
            job_.exchange(partner, out_.data(), in_.data(), what.bytes);
        }
        job_.node_barrier();
    }

    /// Several messages in a row from one process.
    void in_a_row() {
        std::vector<Case> cases;
        for (const size_t size : {size_t{8}, size_t{2048}, size_t{32768}}) {
            for (const int count : {1, 2, 4, 8, 16}) {
                if (size <= settings_.max_bytes) { cases.push_back({count, size}); }
            }
        }
        const int first = job_.first_ranks()[0];
        const int second = job_.second_ranks()[0];
        const auto round = [&](const Case& what, int iterations) {
            const double begin = seconds_now();
            for (int i = 0; i < iterations; ++i) {
                if (job_.rank() == first) {
                    send_row(second, what);
                    receive_row(second, what);
                } else if (job_.rank() == second) {
                    receive_row(first, what);
                    send_row(first, what);
                }
            }
            return job_.rank() == first ? (seconds_now() - begin) / iterations / 2 : 0;
        };
        const auto times = repeats_.measure("messages in a row", cases, in_a_row_share, round);
        for (size_t i = 0; i < cases.size(); ++i) {
            found_.in_a_row.push_back({static_cast<double>(cases[i].count),
                                       static_cast<double>(cases[i].bytes), times[i]});
        }
    }

    void send_row(int peer, const Case& what) {
        std::vector<MPI_Request> requests(static_cast<size_t>(what.count));
        for (MPI_Request& request : requests) {
            check(MPI_Isend(out_.data(), static_cast<int>(what.bytes), MPI_BYTE, peer,
                            CalibrationJob::tag, job_.comm(), &request),
                  "MPI_Isend");
        }
        check(MPI_Waitall(what.count, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    }

    void receive_row(int peer, const Case& what) {
        rows_.resize(what.bytes * static_cast<size_t>(what.count));
        std::vector<MPI_Request> requests(static_cast<size_t>(what.count));
        for (size_t i = 0; i < requests.size(); ++i) {
            check(MPI_Irecv(rows_.data() + i * what.bytes, static_cast<int>(what.bytes), MPI_BYTE,
                            peer, CalibrationJob::tag, job_.comm(), &requests[i]),
                  "MPI_Irecv");
        }
        check(MPI_Waitall(what.count, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    }

    /// All ranks copy at the same time, in turn into their part of the shared memory and out of
    /// that of a neighbour. A rank copies as long as the others do: by the clock, not by number.
    void copies() {
        constexpr size_t smallest = 1024;
        // With more ranks than cores each has to get the core several times.
        const double duration = job_.is_oversubscribed() ? 0.06 : 0.01;
        std::memset(job_.slot(job_.local()), 1, slot_bytes(job_, settings_));
        std::vector<std::byte> own(slot_bytes(job_, settings_), std::byte{1});
        const int repeats = settings_.quick ? 3 : 5;
        std::vector<std::vector<double>> times;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            size_t i = 0;
            for (size_t size = smallest; size <= own.size(); size *= 2, ++i) {
                repeats_.show("copies", repeat, i,
                              1 + static_cast<size_t>(std::log2(own.size() / smallest)));
                job_.most(0);
                const double rate =
                    job_.sum(copy_rate(own, size, duration)) / job_.topology().ranks();
                if (repeat == 0) { times.emplace_back(); }
                times[i].push_back(static_cast<double>(size) / rate);
            }
        }
        double size = smallest;
        for (auto& of_size : times) {
            const auto middle = of_size.begin() + repeats / 2;
            std::nth_element(of_size.begin(), middle, of_size.end());
            found_.shared_copies.push_back({size, *middle});
            size *= 2;
        }
    }

    /// Bytes per second of this rank.
    double copy_rate(std::vector<std::byte>& own, size_t size, double duration) {
        constexpr size_t bytes_between_looks = 1 << 18;
        const int ranks = job_.topology().ranks_on(job_.topology().node_of(job_.rank()));
        const std::byte* neighbour = job_.slot((job_.local() + 1) % ranks);
        const size_t batch = std::max(size_t{2}, bytes_between_looks / size);
        const double begin = seconds_now();
        double now = begin;
        double copied = 0;
        while (now < begin + duration) {
            for (size_t i = 0; i < batch; i += 2) {
                std::memcpy(job_.slot(job_.local()), own.data(), size);
                std::memcpy(own.data(), neighbour, size);
                copied += 2 * static_cast<double>(size);
            }
            now = seconds_now();
        }
        return copied / (now - begin);
    }

    /// Two ranks of a node wake each other in turn, as the library does.
    void flags() {
        const int samples = settings_.quick ? 7 : 21;
        constexpr int round_trips = 100;
        const int partner = static_cast<int>(job_.first_ranks().size()) - 1;
        uint32_t rung = 0;
        for (int sample = 0; sample < samples; ++sample) {
            repeats_.show("flags", sample, 0, 1);
            const double begin = seconds_now();
            if (job_.is_on_first() && (job_.local() == 0 || job_.local() == partner)) {
                const int own = job_.local() == 0 ? 0 : 1;
                for (int i = 0; i < round_trips; ++i) {
                    ++rung;
                    if (own == 0) { job_.arena().signal(0, 0); }
                    job_.waiter().until([&] { return job_.arena().counter(0, 1 - own) >= rung; });
                    if (own == 1) { job_.arena().signal(0, 1); }
                }
            }
            const bool watch = job_.rank() == job_.first_ranks()[0];
            const double seconds = (seconds_now() - begin) / round_trips / 2;
            found_.flag_latencies.push_back(job_.most(watch ? seconds : 0));
        }
    }

    /// All that a GPU is needed for; what cannot be done is noted.
    void gpu_steps() {
        if (const std::string why = gpu_.prepare_copies(); !why.empty()) {
            notes_.push_back("no GPU: " + why);
            return;
        }
        gpus_ = static_cast<int>(job_.most(gpu_.devices()));
        found_.copies = gpu_.copies(repeats_);
        keep_(found_);
        notes_.insert(notes_.end(), gpu_.notes().begin(), gpu_.notes().end());
        device_ping_pongs();
        gpu_.release();
    }

    /// Between memories of GPUs: of the same one on two nodes, of two on one node where it has two.
    void device_ping_pongs() {
        if (job_.most(mpi_takes_devices() ? 0 : 1) > 0) {
            notes_.emplace_back("this MPI is not device-aware: no device ping-pong");
            return;
        }
        const auto [socket, node] = partners();
        const int rank = job_.rank();
        const int device = rank == node ? std::numeric_limits<int>::max() : rank == socket ? 1 : 0;
        const bool needed = rank == job_.first_ranks()[0] || rank == job_.second_ranks()[0] ||
                            rank == socket || rank == node;
        const std::string why = gpu_.prepare(needed, device, settings_.max_bytes);
        if (!why.empty()) {
            notes_.push_back("no device ping-pong: " + why);
            return;
        }
        ping_pongs({Memory::device, needed ? gpu_.out().data() : nullptr,
                    needed ? gpu_.in().data() : nullptr},
                   device_network_share, device_node_share);
    }

    CalibrationJob& job_;
    const CalibrationSettings& settings_;
    const Keep& keep_;
    GpuCopies gpu_;
    Repeats repeats_;
    std::vector<std::string> notes_;
    int gpus_ = 0;
    std::vector<std::byte> out_;
    std::vector<std::byte> in_;
    std::vector<std::byte> rows_;
    Measurements found_;
};

} // namespace

size_t slot_bytes(const CalibrationJob& job, const CalibrationSettings& settings) {
    constexpr size_t most_of_node = size_t{256} << 20;
    constexpr size_t least = 1 << 16;
    const size_t share = most_of_node / static_cast<size_t>(job.topology().most_ranks_on_a_node());
    return std::max(least, std::min(share, std::max(settings.max_bytes, size_t{1} << 22)));
}

Calibration run_benchmarks(CalibrationJob& job, const CalibrationSettings& settings, Gpu& gpu,
                           const Keep& keep) {
    return Benchmarks(job, settings, gpu, keep).run();
}

} // namespace nodeaware::tool
