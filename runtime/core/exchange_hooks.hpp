#pragma once

#include "runtime/collectives/call.hpp"
#include "runtime/collectives/exchange_arguments.hpp"
#include "runtime/collectives/host_buffers.hpp"
#include "runtime/point_to_point/hooks.hpp"

#include <tuple>
#include <type_traits>

namespace nodeaware {

using exchange_arguments::native;
using p2p::native;

/// What is to be done when MPI has done a call that was left to it.
void native_done(int result);

/// Arguments as MPI's own functions take them.
template <class Argument> auto as_native(Argument argument) {
    if constexpr (requires { native(argument); }) {
        return native(argument);
    } else {
        return argument;
    }
}

/// Functions for large counts are those of few MPIs.
template <class Count, class Function> constexpr auto if_small(Function function) {
    if constexpr (std::is_same_v<Count, int>) {
        return function;
    } else {
        return nullptr;
    }
}

/// The hooks of one operation; `read` takes its arguments, `function` is MPI's own, or nullptr.
template <Operation blocking_operation, Operation nonblocking_operation, auto read, auto function>
struct Hooks;

template <Operation blocking_operation, Operation nonblocking_operation, class... Arguments,
          ExchangeArguments (*read)(Arguments...), auto function>
struct Hooks<blocking_operation, nonblocking_operation, read, function> {
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
        Call call(blocking_operation, communicator(arguments...), all);
        return call.run(result) || on_host(call, all, result, arguments...);
    }

    /// False if the call is left to MPI as it is.
    static bool on_host(const Call& call, const ExchangeArguments& all, int* result,
                        Arguments... arguments) {
        if constexpr (!std::is_null_pointer_v<decltype(function)>) {
            try {
                Exchange exchange;
                if (!call.may_need_host_buffers(exchange)) { return false; }
                HostBuffers buffers(all, exchange);
                if (!buffers.are_needed()) { return false; }
                std::tuple given(arguments...);
                std::get<0>(given) = buffers.sent();
                std::get<void*>(given) = buffers.received();
                const int code = std::apply(
                    [](auto... replaced) { return (mpi.*function)(as_native(replaced)...); },
                    given);
                *result = buffers.finish(code);
                native_done(code);
                if (code == MPI_SUCCESS && *result != MPI_SUCCESS) {
                    mpi.Comm_call_errhandler(communicator(arguments...), *result);
                }
            } catch (const std::exception& failure) {
                *result = raise(communicator(arguments...), blocking_operation, failure);
                native_done(*result); // what ranks count together goes on
            }
            return true;
        } else {
            return false;
        }
    }

    static bool begin(bool is_persistent, int* result, Arguments... arguments,
                      abi::MPI_Request* request) {
        return NonblockingCall(nonblocking_operation, communicator(arguments...),
                               read_all(arguments...), is_persistent, native(request))
            .run(result);
    }

    static bool nonblocking(int* result, Arguments... arguments, abi::MPI_Request* request) {
        return begin(false, result, arguments..., request);
    }

    static bool persistent(int* result, Arguments... arguments, abi::MPI_Info /*info*/,
                           abi::MPI_Request* request) {
        return begin(true, result, arguments..., request);
    }
};

} // namespace nodeaware
