#include "runtime/point_to_point/withdraw.hpp"

#include <new>

namespace nodeaware {

Withdrawal withdrawal_of(MPI_Request* receive) {
    int is_over = 0;
    int is_cancelled = 0;
    MPI_Status status;
    MPI_CALL(Request_get_status, *receive, &is_over, &status);
    if (is_over == 0) { return Withdrawal::open; }
    MPI_CALL(Test_cancelled, &status, &is_cancelled);
    if (is_cancelled == 0) { return Withdrawal::refused; }
    MPI_CALL(Wait, receive, MPI_STATUS_IGNORE);
    return Withdrawal::done;
}

Withdrawal withdraw(MPI_Request* receive) {
    MPI_CALL(Cancel, receive);
    // Networks may take a moment to say.
    constexpr int looks = 100;
    Withdrawal result = Withdrawal::open;
    for (int look = 0; look < looks && result == Withdrawal::open; ++look) {
        result = withdrawal_of(receive);
    }
    return result;
}

UserMemory memory_to_withdraw(const UserMemory& memory, std::unique_ptr<std::byte[]>* packed) {
    const bool keeps_datatypes = !is_open_mpi();
    packed->reset();
    const bool has_gaps = memory.dense == nullptr && memory.bytes > 0;
    if (!keeps_datatypes || !has_gaps || memory.place.is_on_device) { return memory; }
    packed->reset(new (std::nothrow) std::byte[memory.bytes]);
    if (*packed == nullptr) { return memory; } // better that than nothing
    return {packed->get(), static_cast<MPI_Count>(memory.bytes), MPI_BYTE, memory.bytes,
            packed->get()};
}

} // namespace nodeaware
