#include "tools/nodeaware/calibration_benchmarks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

namespace nodeaware::tool {

namespace {

using namespace nodeaware::tuning;

/// What is measured at once: messages of `bytes` by `count` processes, or `count` in a row.
struct Case {
    int count = 1;
    size_t bytes = 0;
};

/// Does it `iterations` times; seconds of one time on the rank that holds the watch, 0 on others.
using Round = std::function<double(const Case&, int iterations)>;

/// Shares of the time limit.
constexpr double network_share = 0.35;
constexpr double together_share = 0.35;
constexpr double in_a_row_share = 0.1;
constexpr double node_share = 0.08;

constexpr int fewest_repeats = 3;
/// Seconds below which a single time may be that of a wake-up.
constexpr double short_time = 2e-3;
constexpr int iterations_at_first = 16;
/// Times that still fall are measured again, up to so many times as often as was asked for.
constexpr int most_repeats_per_repeat = 10;
/// Times that do not fall any more are right.
constexpr int passes_without_gain = 4;

class Benchmarks {
  public:
    Benchmarks(CalibrationJob& job, const CalibrationSettings& settings)
        : job_(job), settings_(settings), out_(settings.max_bytes), in_(settings.max_bytes) {}

    Measurements run() {
        ping_pong(Locality::network, job_.first_ranks()[0], job_.second_ranks()[0], network_share);
        on_node();
        together();
        in_a_row();
        copies();
        flags();
        return std::move(found_);
    }

  private:
    /// The least times of all cases, whose sizes ascend. Cases that take too long are dropped.
    std::vector<double> measure(const std::string& name, std::vector<Case>& cases, double share,
                                const Round& round) {
        const double begin = seconds_now();
        const double limit = share * settings_.time_limit;
        std::vector<double> best = first_pass(name, cases, limit, round);
        const std::vector<int> iterations = iterations_for(best);
        int without_gain = 0;
        for (int repeat = 1; repeat < most_repeats_per_repeat * settings_.repeats; ++repeat) {
            double gain = 0;
            for (size_t i = 0; i < cases.size(); ++i) {
                show(name, repeat, i, cases.size());
                const double seconds = round(cases[i], iterations[i]);
                if (seconds <= 0) { continue; }
                gain += std::max(0.0, 1 - seconds / best[i]) / static_cast<double>(cases.size());
                best[i] = std::min(best[i], seconds);
            }
            // Only the rank with the watch has gains.
            constexpr double worth_going_on = 0.002;
            without_gain = job_.most(gain) < worth_going_on ? without_gain + 1 : 0;
            const double spent = job_.most(seconds_now() - begin);
            const double pass = spent / (repeat + 1);
            if (spent + pass > limit && repeat + 1 >= fewest_repeats) { break; }
            if (repeat + 1 >= settings_.repeats && without_gain > 0) { break; }
            if (without_gain >= passes_without_gain) { break; }
        }
        check(MPI_Allreduce(MPI_IN_PLACE, best.data(), static_cast<int>(best.size()), MPI_DOUBLE,
                            MPI_MIN, job_.comm()),
              "MPI_Allreduce");
        return best;
    }

    /// Once to open connections and once timed; what is short, once more.
    std::vector<double> first_pass(const std::string& name, std::vector<Case>& cases, double limit,
                                   const Round& round) {
        std::vector<double> best;
        size_t most_bytes = settings_.max_bytes;
        double spent = 0;
        for (size_t i = 0; i < cases.size() && cases[i].bytes <= most_bytes; ++i) {
            show(name, 0, i, cases.size());
            round(cases[i], 1);
            best.push_back(job_.most(round(cases[i], 1)));
            if (best.back() < short_time) {
                best.back() = job_.most(round(cases[i], iterations_at_first));
            }
            constexpr int ways = 2;
            spent += ways * best.back();
            // A few repeats of all sizes so far have to fit into the limit.
            if (spent * fewest_repeats > limit) { most_bytes = cases[i].bytes; }
        }
        cases.resize(best.size());
        return best;
    }

    /// Enough iterations that neither the clock nor the start matters.
    static std::vector<int> iterations_for(const std::vector<double>& seconds) {
        constexpr double sample = 1e-3;
        constexpr double most = 500;
        std::vector<int> iterations;
        iterations.reserve(seconds.size());
        for (const double each : seconds) {
            iterations.push_back(
                static_cast<int>(std::clamp(sample / std::max(each, 1e-9), 1.0, most)));
        }
        return iterations;
    }

    void show(const std::string& name, int repeat, size_t done, size_t all) {
        if (job_.rank() != 0) { return; }
        job_.progress().show("calibrate: " + name + ", pass " + std::to_string(repeat + 1) + ", " +
                             std::to_string(100 * done / all) + " %");
    }

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

    void ping_pong(Locality locality, int first, int second, double share) {
        std::vector<Case> cases;
        for (const size_t size : dense_sizes()) { cases.push_back({1, size}); }
        const auto round = [&](const Case& what, int iterations) {
            double begin = seconds_now();
            // Of several iterations one more wakes the partner.
            for (int i = iterations > 1 ? -1 : 0; i < iterations; ++i) {
                if (i == 0) { begin = seconds_now(); }
                if (job_.rank() == first) {
                    job_.send(second, out_.data(), what.bytes);
                    job_.receive(second, in_.data(), what.bytes);
                } else if (job_.rank() == second) {
                    job_.receive(first, in_.data(), what.bytes);
                    job_.send(first, out_.data(), what.bytes);
                }
            }
            return job_.rank() == first ? (seconds_now() - begin) / iterations / 2 : 0;
        };
        const auto times =
            measure("ping-pong, " + std::string(name_of(locality)), cases, share, round);
        Measurements::Pair pair{Memory::host, locality, {}};
        for (size_t i = 0; i < cases.size(); ++i) {
            pair.points.push_back({static_cast<double>(cases[i].bytes), times[i]});
        }
        found_.pairs.push_back(std::move(pair));
    }

    /// A partner on the same socket where the binding tells, and one on another, or just another.
    void on_node() {
        const std::vector<int>& ranks = job_.first_ranks();
        const int own = job_.socket_of(ranks[0]);
        int same = -1;
        int other = -1;
        for (size_t i = ranks.size() - 1; i > 0; --i) {
            const int socket = job_.socket_of(ranks[i]);
            (own >= 0 && socket == own ? same : other) = ranks[i];
        }
        if (other >= 0 && same >= 0) { ping_pong(Locality::socket, ranks[0], same, node_share); }
        ping_pong(Locality::node, ranks[0], other >= 0 ? other : same, node_share);
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

    /// k processes of the first node each send a message; when all have arrived on the second, each
    /// partner sends one back. A barrier of the node, through shared memory, stands at both ends;
    /// what it costs is measured by itself (k = 0) and taken off.
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
        const double barrier = measure("barrier", empty, node_share, round)[0];
        std::vector<Case> cases;
        constexpr size_t smallest = 64;
        for (size_t size = smallest; size <= settings_.max_bytes; size *= settings_.quick ? 4 : 2) {
            for (const int count : process_counts()) { cases.push_back({count, size}); }
        }
        const auto times = measure("node-pong", cases, together_share, round);
        for (size_t i = 0; i < cases.size(); ++i) {
            const double seconds = times[i] / 2 - barrier;
            if (seconds <= 0) { continue; }
            found_.simultaneous.push_back({Memory::host, static_cast<double>(cases[i].count),
                                           static_cast<double>(cases[i].bytes), seconds});
        }
    }

    void together_once(const Case& what) {
        const bool sends = job_.local() < what.count;
        const auto local = static_cast<size_t>(job_.local());
        if (job_.is_on_first()) {
            if (sends) {
                job_.send(job_.second_ranks()[local], out_.data(), what.bytes);
                job_.receive(job_.second_ranks()[local], in_.data(), what.bytes);
            }
            job_.node_barrier();
        } else {
            if (sends) { job_.receive(job_.first_ranks()[local], in_.data(), what.bytes); }
            job_.node_barrier();
            if (sends) { job_.send(job_.first_ranks()[local], out_.data(), what.bytes); }
        }
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
        const auto times = measure("messages in a row", cases, in_a_row_share, round);
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
                show("copies", repeat, i,
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
            show("flags", sample, 0, 1);
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

    CalibrationJob& job_;
    const CalibrationSettings& settings_;
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

Measurements run_benchmarks(CalibrationJob& job, const CalibrationSettings& settings) {
    return Benchmarks(job, settings).run();
}

} // namespace nodeaware::tool
