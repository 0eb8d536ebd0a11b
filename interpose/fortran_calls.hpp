#pragma once

#include "interpose/fortran.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

/// Calls from Fortran that are made by a function of the core, which does all that the MPI function
/// does, instead of by MPI.
namespace nodeaware::interpose {

/// One of the arguments of a call.
struct Place {
    void* argument() const { return arguments[index]; }

    void* const* arguments;
    size_t index;
};

/// Returned when there is no memory for translated arguments: MPI_ERR_OTHER.
inline constexpr int no_memory = no_mpi;

/// An argument of a Fortran call on its way to a C function and back.
template <class Parameter> class Argument {
  public:
    Argument(Place place) : value_(to_c(place.argument())) {}
    bool is_complete() const { return true; }
    Parameter value() const { return value_; }
    void give_back(int /*result*/) {}

  private:
    static Parameter to_c(void* argument) {
        if constexpr (std::is_same_v<Parameter, int>) {
            return *static_cast<Fint*>(argument);
        } else if constexpr (std::is_same_v<Parameter, abi::MPI_Comm>) {
            return to_communicator(argument);
        } else if constexpr (std::is_same_v<Parameter, abi::MPI_Datatype>) {
            return to_datatype(*static_cast<Fint*>(argument));
        } else if constexpr (std::is_same_v<Parameter, abi::MPI_Status*>) {
            return to_status(argument);
        } else if constexpr (std::is_void_v<std::remove_pointer_t<Parameter>>) {
            return to_buffer(argument);
        } else { // numbers and truth values, which are alike in both languages
            static_assert(std::is_same_v<Parameter, int*>);
            return static_cast<int*>(argument);
        }
    }

    const Parameter value_;
};

/// An array after its length, or one request: the first argument if there is one already, otherwise
/// a later one.
template <> class Argument<abi::MPI_Request*> {
  public:
    Argument(Place place)
        : expected_(place.index == 1 ? *static_cast<Fint*>(place.arguments[0]) : 1),
          is_made_(place.index > 1), fortran_(static_cast<Fint*>(place.argument())),
          handles_(expected_, fortran_) {}
    bool is_complete() const { return handles_.count() == expected_; }
    abi::MPI_Request* value() { return handles_.data(); }
    void give_back(int result) {
        if (!is_made_ || result == 0) { handles_.give_back(fortran_); }
    }

  private:
    const int expected_;
    const bool is_made_;
    Fint* const fortran_;
    RequestHandles handles_;
};

/// Only to be looked at.
template <> class Argument<abi::MPI_Request> {
  public:
    Argument(Place place) : value_(to_request(*static_cast<Fint*>(place.argument()))) {}
    bool is_complete() const { return true; }
    abi::MPI_Request value() const { return value_; }
    void give_back(int /*result*/) {}

  private:
    const abi::MPI_Request value_;
};

template <> class Argument<abi::MPI_Message*> {
  public:
    Argument(Place place);
    bool is_complete() const { return true; }
    abi::MPI_Message* value() { return message_; }
    void give_back(int result);

  private:
    Fint* const fortran_;
    abi::MPI_Message translated_ = nullptr;
    abi::MPI_Message* message_;
};

/// Calls `function` with the arguments of a Fortran call, which are those of the C function.
template <class... Parameters>
int call_core(const abi::Core& core, int (*abi::Core::*function)(Parameters...),
              void* const* arguments) {
    return [&]<size_t... Index>(std::index_sequence<Index...>) {
        // One after the other: the classes can be neither copied nor moved.
        std::tuple<Argument<Parameters>...> translated(Place{arguments, Index}...);
        if (!(std::get<Index>(translated).is_complete() && ...)) { return no_memory; }
        const int result = (core.*function)(std::get<Index>(translated).value()...);
        (std::get<Index>(translated).give_back(result), ...);
        return result;
    }
    (std::index_sequence_for<Parameters...>());
}

} // namespace nodeaware::interpose
