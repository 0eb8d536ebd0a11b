// Where the buffers of an exchange are: on the host, or in memory of a GPU.
#pragma once

#include "tools/gpu/gpu.hpp"

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace bench {

enum class Place { host, device, managed };

// What --memory says, on this rank. MPI uses the contexts of devices, so it has to live until MPI
// is finished.
class Memory {
  public:
    // "host", "device", "managed", or "mixed": another place for every rank and either buffer.
    // Collective; throws InputError on all ranks if one of them has no device.
    void open(const std::string& name, MPI_Comm comm);

    bool is_on_host() const { return name_ == "host"; }
    Place of_sends() const { return place(0); }
    Place of_receives() const { return place(1); }
    nodeaware::tool::Gpu& gpu() { return gpu_; }

  private:
    Place place(int buffer) const;

    std::string name_ = "host";
    int rank_ = 0;
    nodeaware::tool::Gpu gpu_;
};

// What the MPI says of itself; NODEAWARE_DEVICE_AWARE=yes says it, too.
bool does_mpi_take_devices();

// The bytes of one buffer.
class Bytes {
  public:
    Bytes(Memory& memory, Place place, std::size_t size);

    // As MPI is given them; on the host while that is said.
    unsigned char* data();
    void stay_on_host(bool stay) { are_on_host_ = stay; }
    // One copy each, which is over when these return. Nothing if the bytes are on the host anyhow.
    void copy_off_device(int offset, int bytes);
    void copy_to_device(int offset, int bytes);
    // On the host: to be written to MPI's, and read from there. The same if they are on the host.
    std::vector<unsigned char>& host() { return host_; }
    void write();
    void read();

  private:
    nodeaware::tool::Gpu& gpu_;
    std::vector<unsigned char> host_;
    std::unique_ptr<nodeaware::tool::DeviceBuffer> device_;
    std::unique_ptr<nodeaware::tool::ReachableMemory> pinned_; // all of host_
    bool are_on_host_ = false;
};

} // namespace bench
