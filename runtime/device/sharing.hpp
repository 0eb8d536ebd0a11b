#pragma once

#include <cstdint>

namespace nodeaware::device {

/// Of the job. Before the first copy; 1 until then.
void set_processes_on_machine(int processes);

/// Processes probably take turns on a GPU: there are more of them than GPUs on this machine, and no
/// server through which they use one together (MPS). Then a kernel, and whatever else a device does
/// where kernels run, waits for the turns of all others, which take 0.14 ms each on an H200; copy
/// engines serve all at the same time.
bool are_devices_shared();

/// A copy of so many bytes within a device, which is made where kernels run, takes longer than one
/// to the host and one back.
bool is_faster_by_host(uint64_t bytes);

} // namespace nodeaware::device
