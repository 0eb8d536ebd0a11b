// Virtual GPUs on parts of the multiprocessors of one: WAIT and SOLVE in two streams, as in the
// paper, but for all virtual GPUs at once.
#include "algorithm.hpp"
#include "machine_of.hpp"
#include "solver.hpp"

#include <algorithm>
#include <cstdlib>
#include <cuda_runtime.h>

namespace bench::sptrsv_gpu {
namespace {

void check(cudaError_t error, const char* call) {
    if (error != cudaSuccess) {
        throw DeviceError(std::string(call) + ": " + cudaGetErrorName(error) + ": " +
                          cudaGetErrorString(error));
    }
}

// Which virtual GPU a block is of: that on whose part of the multiprocessors it runs, but `each`
// blocks of every one.
struct Seats {
    int* taken = nullptr; // per virtual GPU
    int* elsewhere = nullptr;
    int each = 0;
    int gpus = 0;
    int multiprocessors = 0;
};
struct Seat {
    int gpu;
    int number; // of the blocks of that
};

__device__ inline Seat take_seat(const Seats& seats) {
    unsigned multiprocessor = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    // Numbers may have gaps.
    const int place = static_cast<int>(multiprocessor) % seats.multiprocessors;
    const int own = place * seats.gpus / seats.multiprocessors;
    for (int gpu = own;; gpu = (gpu + 1) % seats.gpus) {
        const int number = atomicAdd(seats.taken + gpu, 1);
        if (number >= seats.each) continue;
        if (gpu != own) atomicAdd(seats.elsewhere, 1);
        return {gpu, number};
    }
}

class ThreadBlock {
  public:
    __device__ ThreadBlock(double* scratch, Notes& notes) : scratch_(scratch), notes_(notes) {}

    __device__ int thread() const { return static_cast<int>(threadIdx.x); }
    __device__ int threads() const { return static_cast<int>(blockDim.x); }
    __device__ void barrier() { __syncthreads(); }
    __device__ double* scratch() { return scratch_; }
    __device__ Notes& notes() { return notes_; }

  private:
    double* scratch_;
    Notes& notes_;
};

constexpr int block_threads = 256; // of SOLVE as in the paper

__global__ void __launch_bounds__(block_threads)
    wait_kernel(const __grid_constant__ Machine machine, const __grid_constant__ Seats seats) {
    __shared__ Notes notes;
    __shared__ Seat seat;
    if (threadIdx.x == 0) seat = take_seat(seats);
    __syncthreads();
    ThreadBlock team(nullptr, notes);
    wait_block(team, machine, seat.gpu, seat.number);
}

__global__ void __launch_bounds__(block_threads)
    solve_kernel(const __grid_constant__ Machine machine, const __grid_constant__ Seats seats) {
    extern __shared__ double scratch[];
    __shared__ Notes notes;
    __shared__ Seat seat;
    if (threadIdx.x == 0) seat = take_seat(seats);
    __syncthreads();
    ThreadBlock team(scratch, notes);
    solve_block(team, machine, seat.gpu);
}

// The clock starts when the host has handed over all that is measured.
__global__ void delay_kernel(std::uint64_t duration) {
    const std::uint64_t end = nanoseconds() + duration;
    while (nanoseconds() < end) {}
}

class DeviceMemory {
  public:
    DeviceMemory() = default;
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory() {
        for (void* const array : arrays_) static_cast<void>(cudaFree(array));
    }

    template <class T> const T* constant(const std::vector<T>& values) { return copy_of(values); }

    template <class T> T* variable(const std::vector<T>& values) {
        T* const array = copy_of(values);
        begin_.push_back({array, copy_of(values), values.size() * sizeof(T)});
        return array;
    }

    void begin(cudaStream_t stream) const {
        for (const Fill& fill : begin_) {
            if (fill.bytes == 0) continue;
            check(cudaMemcpyAsync(fill.array, fill.values, fill.bytes, cudaMemcpyDeviceToDevice,
                                  stream),
                  "cudaMemcpyAsync");
        }
    }

  private:
    struct Fill {
        void* array;
        const void* values;
        std::size_t bytes;
    };

    template <class T> T* copy_of(const std::vector<T>& values) {
        void* array = nullptr;
        const std::size_t bytes = values.size() * sizeof(T);
        check(cudaMalloc(&array, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
        arrays_.push_back(array);
        if (bytes > 0) {
            check(cudaMemcpy(array, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        }
        return static_cast<T*>(array);
    }

    std::vector<void*> arrays_;
    std::vector<Fill> begin_;
};

template <class T> std::vector<T> read(const T* array, std::size_t count) {
    std::vector<T> values(count);
    check(cudaMemcpy(values.data(), array, count * sizeof(T), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    return values;
}

class Stream {
  public:
    Stream() {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags");
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

class Event {
  public:
    Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
    operator cudaEvent_t() const { return event_; }

  private:
    cudaEvent_t event_ = nullptr;
};

int device_attribute(cudaDeviceAttr attribute) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, attribute, 0), "cudaDeviceGetAttribute");
    return value;
}

class DeviceSolver : public Solver {
  public:
    DeviceSolver(const Plan& plan, const SolverSettings& settings)
        : machine_(machine_of(plan, settings, memory_)), rows_(plan.right_side.size()) {
        seats_.gpus = plan.gpus;
        seats_.multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
        wait_seats_ = seats_;
        wait_seats_.each = wait_blocks;
        seats_.each = blocks_of(plan, settings);
        for (Seats* const seats : {&wait_seats_, &seats_}) {
            seats->taken = memory_.variable(std::vector<int>(std::size_t(plan.gpus), 0));
            seats->elsewhere = memory_.variable(std::vector<int>(1, 0));
        }
        // Copies from the host may be under way still, and these streams would not wait for them.
        check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }

    Outcome solve() override {
        memory_.begin(wait_stream_);
        delay_kernel<<<1, 1, 0, wait_stream_>>>(50'000);
        check(cudaEventRecord(start_, wait_stream_), "cudaEventRecord");
        check(cudaStreamWaitEvent(solve_stream_, start_, 0), "cudaStreamWaitEvent");
        wait_kernel<<<unsigned(wait_seats_.each * machine_.gpus), block_threads, scratch_bytes_,
                      wait_stream_>>>(machine_, wait_seats_);
        check(cudaGetLastError(), "WAIT");
        solve_kernel<<<unsigned(seats_.each * machine_.gpus), block_threads, scratch_bytes_,
                       solve_stream_>>>(machine_, seats_);
        check(cudaGetLastError(), "SOLVE");
        check(cudaEventRecord(solved_, solve_stream_), "cudaEventRecord");
        check(cudaStreamWaitEvent(wait_stream_, solved_, 0), "cudaStreamWaitEvent");
        check(cudaEventRecord(end_, wait_stream_), "cudaEventRecord");
        check(cudaStreamSynchronize(wait_stream_), "cudaStreamSynchronize");
        return outcome();
    }

    int blocks() const override { return seats_.each; }

  private:
    // All blocks of both kernels must run at the same time, wherever the device puts them and
    // whichever kernel it starts first. So blocks of both have as many threads and as much memory:
    // where there is room for one of either, there is for that which needs more registers.
    int blocks_of(const Plan& plan, const SolverSettings& settings) {
        if (device_attribute(cudaDevAttrConcurrentKernels) == 0)
            throw DeviceError("the device does not run two kernels at the same time");
        scratch_bytes_ = std::size_t(scratch_size(plan.widest)) * sizeof(double);
        const int most_bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) -
                               int(sizeof(Notes) + sizeof(Seat));
        if (scratch_bytes_ > std::size_t(most_bytes)) {
            throw DeviceError("supernodes of " + std::to_string(plan.widest) +
                              " columns need more shared memory than the device has for a block: " +
                              std::to_string(scratch_bytes_) + " bytes of " +
                              std::to_string(most_bytes));
        }
        const int on_one = std::min(on_multiprocessor(reinterpret_cast<const void*>(wait_kernel)),
                                    on_multiprocessor(reinterpret_cast<const void*>(solve_kernel)));
        const int room = seats_.multiprocessors * on_one / plan.gpus - wait_blocks;
        const int wanted = std::max(settings.blocks, 1);
        if (room < wanted) {
            throw DeviceError(std::to_string(plan.gpus) + " virtual GPUs with " +
                              std::to_string(wanted) + " blocks of SOLVE and " +
                              std::to_string(wait_blocks) + " of WAIT each do not fit on " +
                              std::to_string(seats_.multiprocessors) + " multiprocessors, where " +
                              std::to_string(on_one) + " fit on one");
        }
        if (settings.blocks > 0) return settings.blocks;
        int most = 1; // columns of one
        for (std::size_t gpu = 0; gpu + 1 < plan.column_begin.size(); ++gpu)
            most = std::max(most, plan.column_begin[gpu + 1] - plan.column_begin[gpu]);
        return std::min(room, most);
    }

    int on_multiprocessor(const void* kernel) const {
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   int(scratch_bytes_)),
              "cudaFuncSetAttribute");
        // A multiprocessor cannot change what it has of shared memory while blocks run on it.
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared),
              "cudaFuncSetAttribute");
        int blocks = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_threads,
                                                            scratch_bytes_),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        return blocks;
    }

    Outcome outcome() const {
        Outcome outcome;
        float ms = 0;
        check(cudaEventElapsedTime(&ms, start_, end_), "cudaEventElapsedTime");
        outcome.us = double(ms) * 1e3;
        outcome.failure = read(machine_.failure, 1)[0];
        for (const int puts : read(machine_.puts, std::size_t(machine_.gpus))) outcome.puts += puts;
        outcome.elsewhere = read(seats_.elsewhere, 1)[0] + read(wait_seats_.elsewhere, 1)[0];
        outcome.solution = read(machine_.solution, rows_);
        return outcome;
    }

    DeviceMemory memory_;
    Machine machine_;
    std::size_t rows_;
    Seats seats_; // of SOLVE
    Seats wait_seats_;
    std::size_t scratch_bytes_ = 0;
    Stream wait_stream_;
    Stream solve_stream_;
    Event start_;
    Event solved_;
    Event end_;
};

} // namespace

DeviceFacts find_device() {
    // A kernel that is loaded only when it is launched may have to wait for one that waits for it.
    static_cast<void>(setenv("CUDA_MODULE_LOADING", "EAGER", 1));
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        throw DeviceError(std::string("there is no GPU: ") +
                          (error != cudaSuccess ? cudaGetErrorString(error) : "none is visible"));
    }
    check(cudaSetDevice(0), "cudaSetDevice");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    DeviceFacts facts;
    facts.name = properties.name;
    facts.capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
    facts.multiprocessors = properties.multiProcessorCount;
    check(cudaDriverGetVersion(&facts.driver_version), "cudaDriverGetVersion");
    return facts;
}

std::unique_ptr<Solver> solver_on_device(const Plan& plan, const SolverSettings& settings) {
    return std::make_unique<DeviceSolver>(plan, settings);
}

} // namespace bench::sptrsv_gpu
