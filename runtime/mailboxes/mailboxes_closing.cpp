#include "runtime/mailboxes/mailboxes.hpp"
#include "runtime/mailboxes/tags.hpp"
#include "runtime/progress/clock.hpp"

#include <array>
#include <new>

/// The end: nobody waits for anything any more, and nothing is left in MPI, which may say so.
namespace nodeaware {

using namespace mailbox_messages;

namespace {

/// Also if other work fails meanwhile: the rest of it goes on.
template <class Ready> void wait_for_others(Progress& progress, Ready ready) {
    constexpr int most_failures = 1000;
    for (int i = 0; i < most_failures; ++i) {
        try {
            return progress.wait_until(ready);
        } catch (const MpiError&) {
        } catch (const std::bad_alloc&) {}
        progress.rest(backoff::spins);
    }
}

/// A receive that nothing comes for any more. If something does, it may never come whole.
void take_back(MPI_Request request) {
    if (request == MPI_REQUEST_NULL) { return; }
    try_twice([&] { return mpi.Cancel(&request); });
    constexpr int most = 1000;
    int flag = 0;
    for (int i = 0; i < most && flag == 0; ++i) {
        mpi.Test(&request, &flag, MPI_STATUS_IGNORE);
        if (flag == 0) { backoff::pause(backoff::spins, true); }
    }
}

} // namespace

/// Ends when every rank has told every other, directly or not, that it is here. Others wait for
/// this one, so a call that fails is tried once more, and what fails again is not waited for.
void Mailboxes::barrier(Progress& progress) {
    const int ranks = topology_.ranks();
    for (int distance = 1; distance < ranks; distance *= 2) {
        const int before = (rank_ - distance + ranks) % ranks;
        const int behind = (rank_ + distance) % ranks;
        std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        try_twice([&] {
            return mpi.Irecv(nullptr, 0, MPI_BYTE, before, end_tag, comm_, requests.data());
        });
        try_twice(
            [&] { return mpi.Isend(nullptr, 0, MPI_BYTE, behind, end_tag, comm_, &requests[1]); });
        const auto is_over = [&] {
            int flag = 0;
            const bool is_known = try_twice(
                [&] { return mpi.Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE); });
            return !is_known || flag != 0;
        };
        wait_for_others(progress, is_over);
    }
}

/// What MPI has let go of without its receiver is on its way, and all ranks have sent their last.
void Mailboxes::receive_the_rest(Progress& progress) {
    const int code =
        mpi.Allreduce(sent_.data(), sent_by_all_.data(), static_cast<int>(sent_.size()),
                      MPI_UINT64_T, MPI_SUM, comm_); // not twice: the others would not be there
    if (code != MPI_SUCCESS) { return; }
    const size_t mine = kinds * static_cast<size_t>(rank_);
    const uint64_t apart = sent_by_all_[mine + sent_apart];
    const uint64_t containers = sent_by_all_[mine + sent_to_cells];
    constexpr double patience = 1; // it is about a line on stderr, no more
    const double until = now() + patience;
    wait_for_others(progress, [&] {
        for (Kept& kept : kept_) { has_landed(kept); }
        return (received_apart_ >= apart && landed_ >= containers) || now() > until;
    });
}

void Mailboxes::close(Progress& progress) {
    is_closing_ = true;
    wait_for_others(progress, [&] { return outgoing_.empty(); });
    barrier(progress); // before it some may wait for what others have to send once more
    is_last_sent_ = true;
    wait_for_others(progress, [&] { return outgoing_.empty(); });
    barrier(progress); // before it some may have to look for what others send
    receive_the_rest(progress);
    for (Kept& kept : kept_) { take_back(kept.request); }
    kept_.clear();
    is_closing_ = false;
    is_closed_ = true;
}

} // namespace nodeaware
