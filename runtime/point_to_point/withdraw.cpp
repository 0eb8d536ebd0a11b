#include "runtime/point_to_point/withdraw.hpp"

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

} // namespace nodeaware
