#include "runtime/point_to_point/withdraw.hpp"

namespace nodeaware {

bool withdraw(MPI_Request* receive) {
    MPI_CALL(Cancel, receive);
    // Networks may take a moment to say.
    constexpr int looks = 100;
    for (int look = 0; look < looks; ++look) {
        int is_over = 0;
        int is_cancelled = 0;
        MPI_Status status;
        MPI_CALL(Request_get_status, *receive, &is_over, &status);
        if (is_over == 0) { continue; }
        MPI_CALL(Test_cancelled, &status, &is_cancelled);
        if (is_cancelled != 0) { MPI_CALL(Wait, receive, MPI_STATUS_IGNORE); }
        return is_cancelled != 0;
    }
    return false;
}

} // namespace nodeaware
