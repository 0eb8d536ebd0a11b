#include "runtime/collectives/host_buffers.hpp"

#include "runtime/communicators/self_communicator.hpp"

namespace nodeaware {

HostBuffers::HostBuffers(const ExchangeArguments& arguments, const Exchange& exchange)
    : arguments_(arguments),
      sent_(exchange.in_place ? AreasOnHost() : AreasOnHost(exchange.outgoing, AreasOnHost::all)),
      received_(exchange.incoming, AreasOnHost::all) {
    try {
        if (sent_.are_one()) { sent_.load(); }
        if (exchange.in_place && received_.are_one()) { received_.load(); }
    } catch (const MpiError& failure) { error_ = failure.code; } // the others wait
}

int HostBuffers::finish(int code) {
    if (code != MPI_SUCCESS || !received_.are_one()) { return code != MPI_SUCCESS ? code : error_; }
    try {
        received_.store(self_communicator());
    } catch (const MpiError& failure) { error_ = failure.code; }
    return error_;
}

} // namespace nodeaware
