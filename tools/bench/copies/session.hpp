// What all measurements of copies_bench share: the device, memory like the library's arena, and how
// times become rows.
#pragma once

#include "runtime/device/memory.hpp"
#include "runtime/device/pinned_memory.hpp"
#include "runtime/memory/shared_memory.hpp"
#include "tools/bench/program.hpp"
#include "tools/bench/statistics.hpp"
#include "tools/gpu/gpu.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench::copies {

namespace device = nodeaware::device;
using device::Direction;
using nodeaware::tool::DeviceBuffer;
using nodeaware::tool::Gpu;
using nodeaware::tool::PinnedBuffer;

struct Settings {
    int repeats = 30;
    int warmup = 2;
    std::uint64_t most_in_copy = 64 << 20;
    std::uint64_t listed_within = 64 << 20; // of a device
    std::uint64_t listed_on_host = 16 << 20;
    std::uint64_t most_pinned = 64 << 20;
};

// In lists, segments on a device are so many times their length apart.
constexpr std::uint64_t apart = 4;

// State of a row in which all is well, and of one whose bytes are not.
inline const std::string ok = "ok";
inline const std::string wrong = "WRONG";

struct Session {
    Gpu& gpu;
    Settings settings;
    std::vector<std::byte> pattern; // no two of its parts look alike
};

std::vector<std::byte> make_pattern(std::uint64_t bytes);

// Shared memory that devices are let reach as the library does it with its arena: by parts. Throws
// std::bad_alloc.
class Arena {
  public:
    explicit Arena(std::uint64_t bytes);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    std::byte* data() const { return memory_.data(); }
    std::uint64_t bytes() const { return memory_.size(); }
    // All of it. False: the driver refuses.
    bool pin(device::Copies& copies, const device::Place& place);
    bool unpin() { return pinned_.unpin(); }
    bool is_pinned() const;

    // Calls `copy(offset, bytes)` for the copies that bytes from `begin` on take.
    template <class Copy>
    void for_each_copy(const std::byte* begin, std::uint64_t bytes, Copy copy) const {
        for (std::uint64_t offset = 0; offset < bytes;) {
            const std::uint64_t part = pinned_.in_one_copy(span(begin + offset, bytes - offset));
            copy(offset, part);
            offset += part;
        }
    }

  private:
    static device::Span span(const std::byte* begin, std::uint64_t bytes) {
        return {reinterpret_cast<std::uintptr_t>(begin), bytes};
    }

    nodeaware::SharedMemory memory_;
    device::PinnedMemory pinned_;
};

// What copies and kernels are to write to holds something else before. Waits.
void spoil(const Session& session, std::uint64_t address, std::uint64_t bytes);
void spoil(std::byte* memory, std::uint64_t bytes);
// Of a device.
std::vector<std::byte> read_back(const Session& session, std::uint64_t address,
                                 std::uint64_t bytes);
bool are_alike(const std::byte* one, const std::byte* other, std::uint64_t bytes);

template <class Work> double seconds_of(Work work) {
    const double begin = now();
    work();
    return now() - begin;
}

// Element by element: repeats of two things that were measured in turn.
std::vector<double> ratios_of(const std::vector<double>& some, const std::vector<double>& others);
std::vector<double> scaled(std::vector<double> values, double factor);
// GB/s, in units of 1e9.
std::vector<double> rates_of(double bytes, const std::vector<double>& seconds);

// "-" where there is nothing.
std::string spread_or_none(const std::vector<double>& values, int decimals);
// Summary and repeats; null where there is nothing.
nlohmann::ordered_json to_json(const std::vector<double>& values);
// "64 KiB", or in bytes.
std::string bytes_text(std::uint64_t bytes);

// Each prints its rows as they come and adds them to `json`. False: not all is well. Throw
// GpuError, nodeaware::MpiError, std::bad_alloc.
bool measure_copies(const Session& session, nlohmann::ordered_json& json);
bool measure_lists(const Session& session, nlohmann::ordered_json& json);
bool measure_pieces(const Session& session, nlohmann::ordered_json& json);
bool measure_questions(const Session& session, nlohmann::ordered_json& json);
bool measure_pinning(const Session& session, nlohmann::ordered_json& json);

} // namespace bench::copies
