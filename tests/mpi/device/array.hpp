#pragma once

#include "tests/device/stand_in.hpp"

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

/// Of both devices.
inline std::array<void*, 2> contexts{};

inline void driver_must(int code, const char* what) {
    if (code == 0) { return; }
    std::printf("the test itself: %s: %d\n", what, code);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/// As a program does that uses both.
inline void use_devices() {
    driver_must(cuInit(0), "cuInit");
    for (int device = 0; device < 2; ++device) {
        driver_must(cuDevicePrimaryCtxRetain(&contexts[static_cast<std::size_t>(device)], device),
                    "context");
    }
}

enum class Kind { host, device, other_device, managed, pool };
inline constexpr std::array kinds = {Kind::host, Kind::device, Kind::other_device, Kind::managed,
                                     Kind::pool};

/// Some ints here or there, not at the beginning of their allocation.
class Array {
  public:
    Array(Kind kind, std::size_t length) : kind_(kind), length_(length) {
        const std::size_t bytes = (length + beside) * sizeof(int);
        if (kind == Kind::host) {
            host_.resize(length + beside);
            memory_ = reinterpret_cast<std::uint64_t>(host_.data());
            return;
        }
        use();
        if (kind == Kind::managed) {
            driver_must(cuMemAllocManaged(&memory_, bytes, 1), "managed");
        } else if (kind == Kind::pool) {
            driver_must(stand_in_allocate_from_pool(&memory_, bytes, 1), "pool");
        } else {
            driver_must(cuMemAlloc_v2(&memory_, bytes), "allocate");
        }
    }
    ~Array() {
        if (kind_ != Kind::host) { driver_must(cuMemFree_v2(memory_), "free"); }
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    int* data() const { return reinterpret_cast<int*>(memory_) + beside / 2; }
    std::vector<int> read() const {
        std::vector<int> content(length_);
        const auto from = reinterpret_cast<std::uint64_t>(data());
        if (kind_ == Kind::host) {
            std::memcpy(content.data(), data(), length_ * sizeof(int));
        } else if (length_ > 0) {
            use();
            driver_must(cuMemcpyDtoH_v2(content.data(), from, length_ * sizeof(int)), "read");
        }
        return content;
    }
    void write(const std::vector<int>& content) const {
        const std::size_t bytes = content.size() * sizeof(int);
        if (kind_ == Kind::host) {
            std::memcpy(data(), content.data(), bytes);
        } else if (bytes > 0) {
            use();
            const auto to = reinterpret_cast<std::uint64_t>(data());
            driver_must(cuMemcpyHtoD_v2(to, content.data(), bytes), "write");
        }
    }

    /// In the default stream, and nobody waits: `content` has to stay.
    void begin_write(const std::vector<int>& content) const {
        use();
        const auto to = reinterpret_cast<std::uint64_t>(data());
        const std::size_t bytes = content.size() * sizeof(int);
        driver_must(cuMemcpyHtoDAsync_v2(to, content.data(), bytes, nullptr), "begin to write");
    }

  private:
    static constexpr std::size_t beside = 6;

    void use() const {
        const bool is_second = kind_ == Kind::other_device || kind_ == Kind::pool;
        cuCtxSetCurrent(contexts[is_second ? 1 : 0]);
    }

    Kind kind_;
    std::size_t length_;
    std::uint64_t memory_ = 0;
    std::vector<int> host_;
};
