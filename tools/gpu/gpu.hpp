#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace nodeaware::tool {

/// A call of the CUDA driver that failed.
struct GpuError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct CudaDriver;

/// The MPI of this process says that it takes memory of devices.
bool mpi_takes_devices();

/// What the driver tells of a device.
struct GpuDescription {
    std::string name;
    uint64_t memory = 0; ///< in bytes
    std::string pci_id;  ///< as "0000:3B:00.0"
};

/// The GPUs of this process through the CUDA driver, which is looked for at run time only. Their
/// contexts are those that an MPI uses too, so this object has to live until MPI is finished.
class Gpu {
  public:
    Gpu();
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    /// Why there is no GPU: no driver, one that lacks a function or does not work, no device; empty
    /// if there is one. Looks once.
    std::string open();
    /// 0 before open() has found one.
    int devices() const { return devices_; }
    /// Uses none of them. Throws GpuError.
    std::vector<GpuDescription> describe() const;
    /// Which device of the machine that is, for all processes the same: "0000:3B:00.0". Throws
    /// GpuError.
    std::string bus_id(int device) const;
    /// The device by that; -1: this process does not see it. Throws GpuError.
    int find(const std::string& bus_id) const;
    /// What follows is done on this device. Throws GpuError.
    void use(int device);
    /// These wait until the copy is done. Throw GpuError.
    void copy_to_device(uint64_t to, const void* from, size_t bytes) const;
    void copy_to_host(void* to, uint64_t from, size_t bytes) const;
    void synchronize() const;
    /// These are done when wait() for their stream has returned. Throw GpuError.
    void begin_to_device(uint64_t to, const void* from, size_t bytes, void* stream) const;
    /// As the library does it where several processes take turns on a device; an even number of
    /// bytes, of memory that the device reaches.
    void begin_to_device_by_engine(uint64_t to, const void* from, size_t bytes, void* stream) const;
    void begin_to_host(void* to, uint64_t from, size_t bytes, void* stream) const;
    void wait(void* stream) const;
    /// The one of this thread, in which the library copies.
    static void* stream_of_thread();

  private:
    friend class DeviceBuffer;
    friend class PinnedBuffer;
    friend class ReachableMemory;
    friend class Stream;

    std::unique_ptr<CudaDriver> driver_;
    int devices_ = 0;
    bool opened_ = false;
    std::string complaint_;
    std::map<int, void*> contexts_; ///< by device
};

/// Memory of the device in use. Throws GpuError.
class DeviceBuffer {
  public:
    /// `is_managed`: the driver moves it between host and device as either needs it.
    DeviceBuffer(Gpu& gpu, size_t bytes, bool is_managed = false);
    ~DeviceBuffer();
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    uint64_t address() const { return address_; }
    /// As an MPI that is device-aware takes it.
    std::byte* data() const { return reinterpret_cast<std::byte*>(address_); }

  private:
    CudaDriver& driver_;
    void* context_;
    uint64_t address_ = 0;
};

/// Memory of the host that the device in use reads and writes itself. Throws GpuError.
class PinnedBuffer {
  public:
    PinnedBuffer(Gpu& gpu, size_t bytes);
    ~PinnedBuffer();
    PinnedBuffer(const PinnedBuffer&) = delete;
    PinnedBuffer& operator=(const PinnedBuffer&) = delete;
    void* data() const { return address_; }

  private:
    CudaDriver& driver_;
    void* context_;
    void* address_ = nullptr;
};

/// Memory of somebody else, which the device in use reads and writes itself meanwhile: as the
/// library does with memory that processes share. Throws GpuError.
class ReachableMemory {
  public:
    ReachableMemory(Gpu& gpu, void* address, size_t bytes);
    ~ReachableMemory();
    ReachableMemory(const ReachableMemory&) = delete;
    ReachableMemory& operator=(const ReachableMemory&) = delete;

  private:
    CudaDriver& driver_;
    void* context_;
    void* address_;
};

/// A stream of the device in use that waits for no other. Throws GpuError.
class Stream {
  public:
    explicit Stream(Gpu& gpu);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    void* handle() const { return handle_; }

  private:
    CudaDriver& driver_;
    void* context_;
    void* handle_ = nullptr;
};

} // namespace nodeaware::tool
