#pragma once

#include "interpose/next.hpp"

#include <cstdlib>
#include <tuple>
#include <utility>

/// Calls from Fortran. Open MPI's Fortran functions call PMPI_X, past any C wrapper, so they are
/// wrapped themselves: all their arguments are addresses, and the parameter types of the C function
/// tell how to translate each. MPICH's call MPI_X or, some of them, PMPI_X.
namespace nodeaware::interpose {

using Fint = int;

/// Arguments of one Fortran call on their way to a C function. Owns the translated arrays of
/// datatypes.
class FortranArguments {
  public:
    /// `neighborhood` tells how many datatypes there are: one for each rank or one for each
    /// neighbour.
    FortranArguments(const abi::Core& core, bool neighborhood)
        : core_(core), neighborhood_(neighborhood) {}
    ~FortranArguments() {
        for (void* array : arrays_) { std::free(array); }
    }
    FortranArguments(const FortranArguments&) = delete;
    FortranArguments& operator=(const FortranArguments&) = delete;

    /// To be called first.
    void set_communicator(void* argument) { communicator_ = to_communicator(argument); }

    template <class Parameter> Parameter translate(void* argument) {
        if constexpr (std::is_same_v<Parameter, abi::MPI_Comm>) {
            return communicator_;
        } else if constexpr (std::is_same_v<Parameter, abi::MPI_Datatype>) {
            return to_datatype(*static_cast<Fint*>(argument));
        } else if constexpr (std::is_same_v<Parameter, const abi::MPI_Datatype*>) {
            return to_datatypes(static_cast<const Fint*>(argument));
        } else if constexpr (std::is_same_v<Parameter, int>) {
            return *static_cast<Fint*>(argument);
        } else if constexpr (std::is_same_v<Parameter, const void*> ||
                             std::is_same_v<Parameter, void*>) {
            return to_buffer(argument);
        } else { // arrays of counts and displacements, which are alike in both languages
            return static_cast<Parameter>(argument);
        }
    }

    static abi::MPI_Comm to_communicator(void* argument);

  private:
    static abi::MPI_Datatype to_datatype(Fint handle);
    static void* to_buffer(void* argument);
    const abi::MPI_Datatype* to_datatypes(const Fint* handles);

    const abi::Core& core_;
    const bool neighborhood_;
    abi::MPI_Comm communicator_ = nullptr;
    void* arrays_[2] = {nullptr, nullptr};
    int used_arrays_ = 0;
};

/// False where the core cannot be offered Fortran calls: with MPICH, whose Fortran functions call
/// MPI_X, and where the constants of Fortran are nowhere to be found.
bool fortran_is_understood();

/// Offers a Fortran call to the core; true if it has been done. `arguments` are those of the C
/// function, the communicator last.
template <class... Parameters>
bool offer_to_core(bool (*abi::Core::*hook)(int*, Parameters...), bool neighborhood,
                   void** arguments, int* result) {
    const abi::Core* core = active_core();
    if (core == nullptr || !fortran_is_understood()) { return false; }
    const Inside inside;
    FortranArguments translation(*core, neighborhood);
    translation.set_communicator(arguments[sizeof...(Parameters) - 1]);
    return [&]<size_t... Index>(std::index_sequence<Index...>) {
        // Braces fix the order: arrays of datatypes are translated from left to right.
        const std::tuple<Parameters...> translated{
            translation.translate<Parameters>(arguments[Index])...};
        return (core->*hook)(result, std::get<Index>(translated)...);
    }
    (std::index_sequence_for<Parameters...>());
}

} // namespace nodeaware::interpose
