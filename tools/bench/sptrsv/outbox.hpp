// Messages that are sent and need not be waited for before the end.
#pragma once

#include "tools/triangular/distribution.hpp"

#include <mpi.h>

#include <cstdint>
#include <random>
#include <vector>

namespace bench::sptrsv {

using namespace triangular;

// Tests of programs that are driven by messages want them late and in other orders.
struct Delays {
    double most = 0; // seconds that a message is held back at most, a random part of it
    std::uint64_t seed = 0;
};

class Outbox {
  public:
    Outbox(const Delays& delays, const nodeaware::Topology& topology, MPI_Comm comm);

    // `data` stays as it is until flush().
    void send(int to, int tag, const std::vector<double>& data);

    // Messages are held back: progress() must be called until then.
    bool has_late() const { return !late_.empty(); }
    // Sends those whose time has come.
    void progress();

    // Sends all and waits until MPI has them.
    void flush();

    const MessageCounts& sent() const { return sent_; }
    void forget_counts() { sent_ = {}; }

  private:
    struct Late {
        double due;
        int to;
        int tag;
        const std::vector<double>* data;
    };

    void send_now(const Late& message);

    Delays delays_;
    const nodeaware::Topology& topology_;
    MPI_Comm comm_;
    int rank_ = 0;
    std::mt19937_64 random_;
    std::vector<Late> late_;
    std::vector<MPI_Request> requests_;
    MessageCounts sent_;
};

} // namespace bench::sptrsv
