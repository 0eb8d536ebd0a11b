#include "runtime/device/mpi_support.hpp"

#include <dlfcn.h>

namespace nodeaware::device {

bool mpi_says_it_is_aware() {
    if (auto* const open_mpi =
            reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"))) {
        return open_mpi() == 1;
    }
    constexpr int cuda = 0; // MPIX_GPU_SUPPORT_CUDA
    int answer = 0;
    auto* const mpich =
        reinterpret_cast<int (*)(int, int*)>(dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support"));
    const bool has_answered = mpich != nullptr && mpich(cuda, &answer) == 0; // MPI_SUCCESS
    return has_answered && answer != 0;
}

} // namespace nodeaware::device
