// Copies of the stand-in that take time (GPU_STAND_IN): not before it is over are they, and those
// of one direction follow each other, of streams and of processes, while the others go on. Only
// that they go on is a matter of time: a busy machine has several tries.
//
// stand_in_test: sets GPU_STAND_IN itself.

#include "tests/device/stand_in.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern "C" {
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags);
int cuMemHostUnregister(void* memory);
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamDestroy_v2(void* stream);
int cuStreamSynchronize(void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuEventCreate(void** event, unsigned flags);
int cuEventRecord(void* event, void* stream);
int cuEventQuery(void* event);
int cuEventDestroy_v2(void* event);
}

namespace {

constexpr const char* times = "0.01 0 0.2 0";
constexpr double in = 0.01; ///< seconds of a copy to the device
constexpr double out = 0.2;
constexpr int not_ready = 600;

int failures = 0;
void require(bool is_right, const char* what) {
    if (is_right) { return; }
    std::printf("FAILED: %s\n", what);
    ++failures;
}
void check(int code) { require(code == 0, "a call of the driver"); }

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

class Device {
  public:
    Device() {
        check(cuInit(0));
        check(cuDevicePrimaryCtxRetain(&context_, 0));
        check(cuCtxSetCurrent(context_));
        check(cuMemAlloc_v2(&address, bytes));
        check(cuMemHostRegister_v2(host.data(), bytes, 0));
        for (void*& stream : streams) { check(cuStreamCreate(&stream, 1)); }
        check(cuEventCreate(&event, 0));
    }
    ~Device() {
        check(cuEventDestroy_v2(event));
        for (void* const stream : streams) { check(cuStreamDestroy_v2(stream)); }
        check(cuMemHostUnregister(host.data()));
        check(cuMemFree_v2(address));
        const StandInCounts left = stand_in_counts();
        require(left.streams + left.events + left.under_way == 0, "something is left");
        check(cuDevicePrimaryCtxRelease(0));
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    void begin_out(std::size_t stream) {
        check(cuMemcpyDtoHAsync_v2(host.data(), address, half, streams[stream]));
    }
    void begin_in(std::size_t stream) {
        check(cuMemcpyHtoDAsync_v2(address + half, host.data() + half, half, streams[stream]));
    }

    static constexpr std::size_t half = 1000;
    static constexpr std::size_t bytes = 2 * half;
    std::uint64_t address = 0;
    std::vector<char> host = std::vector<char>(bytes, 'h');
    std::array<void*, 2> streams{};
    void* event = nullptr;

  private:
    void* context_ = nullptr;
};

void test_end() {
    Device device;
    const double begin = now();
    device.begin_out(0);
    check(cuEventRecord(device.event, device.streams[0]));
    const int code = cuEventQuery(device.event);
    require(code == not_ready || now() - begin >= out, "ready before the end");
    require(device.host[0] == '\xab' || now() - begin >= out, "the bytes are there before");
    check(cuStreamSynchronize(device.streams[0]));
    require(now() - begin >= out, "synchronized before the end");
    require(device.host[0] == '\xcd' && cuEventQuery(device.event) == 0, "not there at the end");
}

void test_both_ways() {
    bool do_overlap = false;
    for (int attempt = 0; attempt < 20 && !do_overlap; ++attempt) {
        Device device;
        device.begin_out(0);
        check(cuEventRecord(device.event, device.streams[0]));
        device.begin_in(1);
        check(cuStreamSynchronize(device.streams[1]));
        do_overlap = cuEventQuery(device.event) == not_ready;
    }
    require(do_overlap, "a short copy to the device waits for a long one to the host");
}

void test_one_way() {
    Device device;
    const double begin = now();
    device.begin_out(0);
    device.begin_out(1);
    check(cuStreamSynchronize(device.streams[1]));
    require(now() - begin >= 2 * out, "two copies to the host at the same time");
}

void test_wait() {
    Device device;
    const double begin = now();
    device.begin_out(0);
    check(cuEventRecord(device.event, device.streams[0]));
    check(cuStreamWaitEvent(device.streams[1], device.event, 0));
    device.begin_in(1);
    check(cuStreamSynchronize(device.streams[1]));
    require(now() - begin >= out + in, "a stream does not wait for an event");
}

void test_default_stream() {
    Device device;
    const double begin = now();
    check(cuMemcpyDtoHAsync_v2(device.host.data(), device.address, Device::half, nullptr));
    void* const of_thread = reinterpret_cast<void*>(std::uintptr_t{2});
    check(cuEventRecord(device.event, of_thread));
    check(cuStreamWaitEvent(device.streams[1], device.event, 0));
    device.begin_in(1);
    check(cuStreamSynchronize(device.streams[1]));
    require(now() - begin >= out + in, "the stream of a thread does not follow the default one");
}

void test_processes() {
    constexpr int processes = 3;
    const double begin = now();
    for (int i = 0; i < processes; ++i) {
        if (fork() == 0) {
            {
                Device device;
                device.begin_out(0);
            } // which waits
            std::exit(failures == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < processes; ++i) {
        int status = 1;
        require(wait(&status) > 0 && status == 0, "a process");
    }
    require(now() - begin >= processes * out, "two processes copy at the same time");
}

} // namespace

int main() {
    setenv("GPU_STAND_IN", times, 1);
    test_processes(); // first: this one does not use the device before
    test_end();
    test_both_ways();
    test_one_way();
    test_wait();
    test_default_stream();
    return failures == 0 ? 0 : 1;
}
