// What one more process costs a device.
#pragma once

#include "tools/gpu/gpu.hpp"

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace bench::copies {

// Another process, that uses the first device step by step. Made before this process uses the
// driver, which children cannot use after that.
class Neighbor {
  public:
    Neighbor();
    ~Neighbor();
    Neighbor(const Neighbor&) = delete;
    Neighbor& operator=(const Neighbor&) = delete;

    // One step further, and waits for its end: the first makes a context, the second loads the
    // library's kernel there and runs it. False: it has failed.
    bool go_on();

  private:
    pid_t process_ = -1;
    int channel_ = -1;
};

struct DeviceMemory {
    std::optional<std::uint64_t> total;
    std::optional<std::uint64_t> used;    // with the context of this process
    std::optional<std::uint64_t> context; // that another process takes for one
    std::optional<std::uint64_t> kernel;  // and more with the kernel
};

// Of the device in use; nothing where the driver does not tell.
DeviceMemory measure_device_memory(Neighbor& neighbor);

} // namespace bench::copies
