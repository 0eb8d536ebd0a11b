#pragma once

#include "tuning/node_aware_models.hpp"

/// Models of [D] (see postal.hpp): one GPU sends messages to GPUs of other nodes. Its equations (1)
/// and (2) are postal() and max_rate(). Seconds, bytes; all functions throw TableError where the
/// table lacks the parameters.
namespace nodeaware::tuning {

/// T = alpha n + max(ppn S / R_N, S / R_p) for n messages of S bytes together from each of `ppn`
/// processes. [D] (3), corrected as max_rate() says.
double multiple_messages(const ModelTable& table, Memory memory, double processes, double messages,
                         double bytes_per_message);

/// An MPI_Alltoallv between GPUs, seen from one GPU that sends and receives the same amount.
struct AlltoallvInput {
    double messages = 1;          ///< messages that one GPU sends
    double bytes_per_message = 0; ///< size of each
    int gpus_per_node = 4;
    int processes_per_gpu = 1; ///< cores that share the work of one GPU
    /// Part of the bytes that are sent several times, 0 to 1: they are copied from the GPU only
    /// once (section V).
    double duplicate_fraction = 0;
    /// The cores of a GPU share each message (MPI_Alltoall as section VI tests it: as many messages
    /// of each core, of bytes/p), not the messages (MPI_Alltoallv).
    bool shares_each_message = false;
};

/// The four paths of section VI, each as the sum of its terms. The section describes them in words;
/// each is put together here from (3), the postal model and the copies of table II.
struct AlltoallvTimes {
    std::vector<Term> device_aware;             ///< MPI reads and writes device memory
    std::vector<Term> three_step;               ///< copy to one CPU, exchange, copy back
    std::vector<Term> extra_message;            ///< and share the messages with the other cores
    std::vector<Term> duplicate_device_pointer; ///< each core copies and sends its part
};

/// Device-aware: (3) from device memory.
/// 3-step copy to CPU: D2H + (3) from host memory, one process per GPU + H2D.
/// Extra message: as 3-step, but after the copy the CPU sends each of its p - 1 partners on the
/// socket an equal part, all p send messages/p, and the parts go back the same way.
/// Duplicate device pointers: all p processes copy bytes/p at the same time and send messages/p.
/// The first is empty where the table has no messages of device memory between nodes.
AlltoallvTimes alltoallv_paths(const ModelTable& table, const AlltoallvInput& input);

double sum_of(const std::vector<Term>& terms);

} // namespace nodeaware::tuning
