#pragma once

#include "runtime/collectives/host_buffers.hpp"
#include "runtime/communicators/communicator.hpp"

#include <functional>
#include <memory>

namespace nodeaware {

/// A nonblocking or persistent exchange that MPI executes by a request of its own, between copies
/// of the application's memory.
class ExchangeOnHost {
  public:
    /// Of a call on `comm`.
    ExchangeOnHost(std::unique_ptr<HostBuffers> buffers, MPI_Comm comm)
        : buffers_(std::move(buffers)), comm_(comm) {}
    ~ExchangeOnHost();
    ExchangeOnHost(const ExchangeOnHost&) = delete;
    ExchangeOnHost& operator=(const ExchangeOnHost&) = delete;

    /// Copies what is sent, and calls MPI for its request; what that returns.
    int begin(const std::function<int(MPI_Request*)>& call);
    /// MPI makes a persistent request; what that returns.
    int make_persistent(const std::function<int(MPI_Request*)>& call);
    /// Starts the persistent request. What fails is an error of the exchange.
    void start();

    /// Looks whether MPI is done, and copies what has been received then; true when all is over.
    bool progress();
    /// MPI_SUCCESS or the code of the first failure.
    int error() const { return error_; }

  private:
    bool is_alive() const { return Communicator::freed() == freed_before_; }
    int complete();

    std::unique_ptr<HostBuffers> buffers_;
    MPI_Comm comm_; ///< the application may free it meanwhile
    uint64_t freed_before_ = Communicator::freed();
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool is_persistent_ = false;
    bool is_started_ = false;
    int error_ = MPI_SUCCESS;
};

} // namespace nodeaware
