// The kernel of list_copy.ptx, which make_ptx makes of it.

#include "runtime/device/kernels/list_copy.hpp"

#ifdef __CUDACC__
#define KERNEL __global__ __launch_bounds__(nodeaware::device::list_block)
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define THREAD threadIdx.x
#else
#define KERNEL __attribute__((global, launch_bounds(nodeaware::device::list_block)))
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCKS __nvvm_read_ptx_sreg_nctaid_x()
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#endif

extern "C" KERNEL void nodeaware_list_copy(const nodeaware::device::CopyList list) {
    nodeaware::device::copy_as_thread(list, BLOCK, BLOCKS, THREAD);
}
