#pragma once

#include "runtime/collectives/call.hpp"
#include "runtime/collectives/exchange_arguments.hpp"
#include "runtime/collectives/nonblocking.hpp"
#include "runtime/core/communicator_calls.hpp"
#include "runtime/point_to_point/hooks.hpp"
#include "runtime/requests/library.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace nodeaware {

using exchange_arguments::native;
using p2p::native;

inline abi::MPI_Request* foreign(MPI_Request* request) {
    return reinterpret_cast<abi::MPI_Request*>(request);
}

/// What is to be done when MPI has done a call that was left to it.
void native_done(int result);
/// The same without its report: it goes on.
void count_native(int result);

/// MPI's own function for an operation. Throws std::runtime_error if it has none.
template <class... Arguments>
auto find_exchange(Operation operation, Form form) -> int (*)(Arguments...) {
    using Count = std::remove_pointer_t<std::tuple_element_t<1, std::tuple<Arguments...>>>;
    constexpr bool is_large = !std::is_same_v<std::remove_cv_t<Count>, int>;
    std::string name(name_of(operation));
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    name += std::string(form == Form::persistent ? "_init" : "") + (is_large ? "_c" : "");
    void* found = find_mpi("MPI_" + name);
    if (found == nullptr && form == Form::persistent) { found = find_mpi("MPIX_" + name); }
    if (found == nullptr) { throw std::runtime_error("this MPI has no MPI_" + name); }
    return reinterpret_cast<int (*)(Arguments...)>(found);
}

/// The hooks of one operation; `read` takes its arguments.
template <Operation blocking_operation, Operation nonblocking_operation, auto read> struct Hooks;

template <Operation blocking_operation, Operation nonblocking_operation, class... Arguments,
          ExchangeArguments (*read)(Arguments...)>
struct Hooks<blocking_operation, nonblocking_operation, read> {
    static MPI_Comm communicator(Arguments... arguments) {
        return native(std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...)));
    }

    static ExchangeArguments read_all(Arguments... arguments) {
        ExchangeArguments all = read(arguments...);
        all.is_with_neighbors = is_with_neighbors(blocking_operation);
        return all;
    }

    static bool blocking(int* result, Arguments... arguments) {
        const ExchangeArguments all = read_all(arguments...);
        const MPI_Comm comm = communicator(arguments...);
        Call call(blocking_operation, comm, all);
        if (call.run(result)) { return true; }
        const auto run = [&](std::unique_ptr<HostBuffers> buffers, const auto& given,
                             const CallRecord& /*record*/) {
            static const auto function =
                find_exchange<Arguments...>(blocking_operation, Form::blocking);
            buffers->begin();
            const int code = std::apply(function, given);
            const int told = buffers->finish(code);
            if (code == MPI_SUCCESS && told != MPI_SUCCESS) {
                mpi.Comm_call_errhandler(comm, told);
            }
            return told;
        };
        return on_host<blocking_operation>(Form::blocking, all, run, result, arguments...);
    }

    static bool nonblocking(int* result, Arguments... arguments, abi::MPI_Request* request) {
        const ExchangeArguments all = read_all(arguments...);
        const MPI_Comm comm = communicator(arguments...);
        NonblockingCall call(nonblocking_operation, comm, all, false, native(request));
        if (call.run(result)) { return true; }
        const auto run = [&](std::unique_ptr<HostBuffers> buffers, const auto& given,
                             const CallRecord& record) {
            static const auto function = find_exchange<Arguments..., abi::MPI_Request*>(
                nonblocking_operation, Form::nonblocking);
            const auto begin = [&](MPI_Request* own) {
                return std::apply(function, std::tuple_cat(given, std::tuple(foreign(own))));
            };
            return library->nonblocking->begin_on_host(std::move(buffers), begin, record, comm,
                                                       native(request));
        };
        return on_host<nonblocking_operation>(Form::nonblocking, all, run, result, arguments...);
    }

    static bool persistent(int* result, Arguments... arguments, abi::MPI_Info info,
                           abi::MPI_Request* request) {
        const ExchangeArguments all = read_all(arguments...);
        const MPI_Comm comm = communicator(arguments...);
        communicator_calls::before_meeting(); // it may be one
        NonblockingCall call(nonblocking_operation, comm, all, true, native(request));
        if (call.run(result)) { return true; }
        const auto run = [&](std::unique_ptr<HostBuffers> buffers, const auto& given,
                             const CallRecord& record) {
            static const auto function =
                find_exchange<Arguments..., abi::MPI_Info, abi::MPI_Request*>(blocking_operation,
                                                                              Form::persistent);
            const auto make = [&](MPI_Request* own) {
                return std::apply(function, std::tuple_cat(given, std::tuple(info, foreign(own))));
            };
            return library->nonblocking->make_persistent_on_host(std::move(buffers), make, record,
                                                                 comm, native(request));
        };
        return on_host<nonblocking_operation>(Form::persistent, all, run, result, arguments...);
    }

  private:
    /// A call that is left to MPI, with other buffers if those are a device's: `run` gets them and
    /// the arguments of the call with them in place. False if the call is left as it is.
    template <Operation operation, class Run>
    static bool on_host(Form form, const ExchangeArguments& all, Run run, int* result,
                        Arguments... arguments) {
        const MPI_Comm comm = communicator(arguments...);
        if (!may_need_host_buffers()) { return false; }
        LeftToMpi left = left_to_mpi; // error handlers may call MPI
        try {
            auto buffers = host_buffers(comm, all, form);
            if (buffers == nullptr) { return false; }
            std::tuple given(arguments...);
            buffers->replace(given);
            const DeviceCounting counting(left.record.device);
            *result = run(std::move(buffers), given, left.record);
        } catch (const std::exception& failure) { *result = raise(comm, operation, failure); }
        left_to_mpi = left;
        // What ranks count together goes on, whatever has failed.
        const bool is_under_way = form != Form::blocking && *result == MPI_SUCCESS;
        is_under_way ? count_native(*result) : native_done(*result);
        return true;
    }
};

} // namespace nodeaware
