#pragma once

namespace nodeaware {

/// To be called before each operation: notices a CUDA driver that the process has loaded.
void look_for_devices();

/// True if the address belongs to a GPU of NVIDIA, as far as the CUDA driver of this process knows:
/// no load or store may touch it, MPI itself may be able to. Without the driver nothing does.
bool is_device_memory(const void* address);

} // namespace nodeaware
