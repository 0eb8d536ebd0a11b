#include "tools/nodeaware/calibration_job.hpp"

#include "runtime/memory/local_group.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <sched.h>

namespace nodeaware::tool {

CalibrationJob::CalibrationJob(const World& world, int socket, ProgressLine::Kind progress)
    : rank_(world.rank), topology_(world.node_of), oversubscribed_(world.oversubscribed),
      sockets_(static_cast<size_t>(world.size)),
      progress_(world.rank == 0 ? progress : ProgressLine::Kind::none) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Allgather(&socket, 1, MPI_INT, sockets_.data(), 1, MPI_INT, comm_), "MPI_Allgather");
    // A machine where any rank shares its core is one where all have to be polite.
    oversubscribed_ = most(oversubscribed_ ? 1 : 0) > 0;
    std::vector<int> nodes(static_cast<size_t>(topology_.nodes()));
    for (int node = 0; node < topology_.nodes(); ++node) {
        nodes[static_cast<size_t>(node)] = node;
    }
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](int a, int b) { return topology_.ranks_on(a) > topology_.ranks_on(b); });
    if (nodes.size() > 1) {
        first_ = std::min(nodes[0], nodes[1]);
        second_ = std::max(nodes[0], nodes[1]);
    }
}

CalibrationJob::~CalibrationJob() {
    if (comm_ != MPI_COMM_NULL) { MPI_Comm_free(&comm_); }
}

std::string CalibrationJob::complaint() const {
    if (topology_.nodes() < 2) {
        return "calibrate needs at least 2 nodes, and all " + std::to_string(topology_.ranks()) +
               " processes run on one; start it like\n"
               "  mpirun -n 16 --map-by ppr:8:node --host a:8,b:8 nodeaware calibrate\n"
               "(NODEAWARE_PPN=k makes virtual nodes of k processes, to try it out)";
    }
    if (pairs() < 2) {
        return "calibrate needs at least 2 processes on each of 2 nodes; start as many on each "
               "node as your applications use";
    }
    return "";
}

int CalibrationJob::pairs() const {
    return std::min(topology_.ranks_on(first_), topology_.ranks_on(second_));
}

bool CalibrationJob::share_memory(size_t bytes) {
    const int node = topology_.node_of(rank_);
    const LocalGroup group(comm_, topology_.ranks_of(node), local());
    slot_bytes_ = bytes;
    const NodeArena::Shape shape{group.size(), 2, static_cast<uint32_t>(topology_.nodes()),
                                 bytes * static_cast<size_t>(group.size())};
    nodeaware::SharedMemory memory =
        nodeaware::SharedMemory::create(group, NodeArena::bytes_of(shape));
    const bool mine = memory.data() != nullptr;
    if (mine) { arena_.attach(std::move(memory), shape, group.own()); }
    waiter_ = std::make_unique<Waiter>(arena_, comm_, oversubscribed_);
    return most(mine ? 0 : 1) == 0;
}

double CalibrationJob::reduce(double value, MPI_Op operation) const {
    double result = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(&value, &result, 1, MPI_DOUBLE, operation, comm_, &request),
          "MPI_Iallreduce");
    // Naps get longer: many ranks that look often keep the cores from those that measure.
    constexpr long longest_nap = 4'000'000;
    timespec nap{0, 50'000};
    int done = 0;
    for (int looks = 0; done == 0; ++looks) {
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) { break; }
        constexpr int looks_before_naps = 20;
        if (oversubscribed_ && looks > looks_before_naps) {
            nanosleep(&nap, nullptr);
            nap.tv_nsec = std::min(2 * nap.tv_nsec, longest_nap);
        } else {
            sched_yield();
        }
    }
    return result;
}

double CalibrationJob::most(double value) const { return reduce(value, MPI_MAX); }
double CalibrationJob::sum(double value) const { return reduce(value, MPI_SUM); }

std::string CalibrationJob::first_complaint(const std::string& own) const {
    const int ranks = topology_.ranks();
    const int complaining = ranks - static_cast<int>(most(own.empty() ? 0 : ranks - rank_));
    if (complaining == ranks) { return ""; }
    std::array<char, 200> text{};
    own.copy(text.data(), text.size() - 1);
    check(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, complaining, comm_),
          "MPI_Bcast");
    return text.data();
}

void CalibrationJob::node_barrier() {
    const uint64_t ticket = arena_.arrive();
    if (arena_.all_arrived(ticket)) { arena_.ring(); }
    waiter_->until([&] { return arena_.all_arrived(ticket); });
}

void CalibrationJob::send(int peer, const std::byte* data, size_t bytes) const {
    check(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm_), "MPI_Send");
}

void CalibrationJob::receive(int peer, std::byte* data, size_t bytes) const {
    check(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm_, MPI_STATUS_IGNORE),
          "MPI_Recv");
}

void CalibrationJob::exchange(int peer, const std::byte* out, std::byte* in, size_t bytes) const {
    const int count = static_cast<int>(bytes);
    check(MPI_Sendrecv(out, count, MPI_BYTE, peer, tag, in, count, MPI_BYTE, peer, tag, comm_,
                       MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
}

} // namespace nodeaware::tool
