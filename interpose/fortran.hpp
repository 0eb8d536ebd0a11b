#pragma once

#include "interpose/next.hpp"

#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>

/// Calls from Fortran. Open MPI's Fortran functions call PMPI_X, past any C wrapper, so they are
/// wrapped themselves: all their arguments are addresses, and the parameter types of the C function
/// tell how to translate each. MPICH's call MPI_X or, some of those of mpi_f08, PMPI_X; its handles
/// are the same in both languages. A Fortran wrapper that did something is in charge until it
/// returns: other wrappers that MPI comes to meanwhile let pass.
namespace nodeaware::interpose {

using Fint = int;

/// True with Open MPI. Not to be asked before MPI_Init.
bool handles_are_pointers();

/// Which functions a symbol belongs to: with MPICH the C wrappers see calls of those for mpif.h.
enum class Binding { mpif, f08 };
inline bool reaches_c_wrapper(Binding binding) {
    return binding == Binding::mpif && !handles_are_pointers();
}

/// The index of the first request, as MPI itself tells it: 1, but 0 where MPICH 4.0 serves mpi_f08.
/// Programs that run with it count so. To be asked inside the library's own work.
int first_index(Binding binding);

/// The C handle of a communicator.
abi::MPI_Comm to_communicator(const void* argument);
abi::MPI_Datatype to_datatype(Fint handle);
abi::MPI_Op to_op(Fint handle);
abi::MPI_Request to_request(Fint handle);
/// The address of a buffer in C, not MPI_IN_PLACE.
void* to_buffer(void* argument);
/// The same, which may be MPI_IN_PLACE; `*is_in_place` is set where it is.
void* to_send_buffer(void* argument, bool* is_in_place);
/// The address of one or several statuses in C, which have the same layout in both languages.
abi::MPI_Status* to_status(void* argument);
abi::MPI_Info to_info(Fint handle);
/// The weights of a graph in C; false where the constants of Fortran that stand for none are
/// nowhere to be found.
bool to_weights(const void* argument, const int** weights);
/// Where Fortran wants it.
void from_communicator(abi::MPI_Comm comm, void* argument);
/// Tells the core of a new communicator. Returns what the call is to return.
int announce_created(const abi::Core& core, const void* parent, void* communicator);

/// C handles of requests.
class RequestHandles {
  public:
    RequestHandles(int count, Fint* handles);
    ~RequestHandles() {
        if (many_ != nullptr) { std::free(many_); }
    }
    RequestHandles(const RequestHandles&) = delete;
    RequestHandles& operator=(const RequestHandles&) = delete;

    /// 0 if there is no memory for them. MPI will find that out too.
    int count() const { return count_; }
    abi::MPI_Request* data() { return handles_; }
    /// Gives the application what the handles have become.
    void give_back(Fint* handles) const;

  private:
    int count_;
    abi::MPI_Request* handles_;
    abi::MPI_Request* many_ = nullptr;
    abi::MPI_Request few_[16];
};

/// Arguments of one Fortran call on their way to a C function. Owns the translated arrays of
/// datatypes.
class FortranArguments {
  public:
    /// `neighborhood` tells how many datatypes there are: one for each rank or one for each
    /// neighbour.
    FortranArguments(const abi::Core& core, bool neighborhood, const void* communicator)
        : core_(core), neighborhood_(neighborhood), communicator_(to_communicator(communicator)) {}
    ~FortranArguments() {
        for (void* array : arrays_) { std::free(array); }
    }
    FortranArguments(const FortranArguments&) = delete;
    FortranArguments& operator=(const FortranArguments&) = delete;

    /// To be called for the arguments from left to right.
    template <class Parameter> Parameter translate(void* argument) {
        if constexpr (std::is_same_v<Parameter, abi::MPI_Comm>) {
            return communicator_;
        } else if constexpr (std::is_same_v<Parameter, abi::MPI_Datatype>) {
            return to_datatype(*static_cast<Fint*>(argument));
        } else if constexpr (std::is_same_v<Parameter, const abi::MPI_Datatype*>) {
            return to_datatypes(static_cast<const Fint*>(argument));
        } else if constexpr (std::is_same_v<Parameter, abi::MPI_Info>) {
            return to_info(*static_cast<Fint*>(argument));
        } else if constexpr (std::is_same_v<Parameter, abi::MPI_Request*>) {
            request_argument_ = static_cast<Fint*>(argument);
            return &request_;
        } else if constexpr (std::is_same_v<Parameter, int>) {
            return *static_cast<Fint*>(argument);
        } else if constexpr (std::is_same_v<Parameter, const void*> ||
                             std::is_same_v<Parameter, void*>) {
            return to_send_buffer(argument, &in_place_);
        } else { // arrays of counts and displacements, which are alike in both languages
            return static_cast<Parameter>(argument);
        }
    }

    /// After success: gives the application the request, if the function has one.
    void return_request();
    /// After success of MPI's own call, which has done that: takes it from there.
    void take_request() {
        if (request_argument_ != nullptr) { request_ = to_request(*request_argument_); }
    }

  private:
    const abi::MPI_Datatype* to_datatypes(const Fint* handles);

    const abi::Core& core_;
    const bool neighborhood_;
    const abi::MPI_Comm communicator_;
    bool in_place_ = false;
    void* arrays_[2] = {nullptr, nullptr};
    int used_arrays_ = 0;
    abi::MPI_Request request_ = nullptr;
    Fint* request_argument_ = nullptr;
};

/// False where the core cannot be offered Fortran calls: with MPICH, whose Fortran functions call
/// MPI_X, and where the constants of Fortran are nowhere to be found.
bool fortran_is_understood();

template <class... Parameters> constexpr size_t position_of_communicator() {
    const bool is_communicator[] = {std::is_same_v<Parameters, abi::MPI_Comm>...};
    size_t position = 0;
    while (!is_communicator[position]) { ++position; }
    return position;
}

/// Offers a Fortran call to the core, and where that leaves it to MPI, does it by `call`, which
/// sets `*result`. The arguments are those of the C function; the core has them until it is told of
/// the end.
template <class Call, class... Parameters>
void offer_to_core(const abi::Core& core, bool (*abi::Core::*hook)(int*, Parameters...),
                   bool neighborhood, void* const* arguments, int* result, Call call) {
    FortranArguments translation(core, neighborhood,
                                 arguments[position_of_communicator<Parameters...>()]);
    const bool done = [&]<size_t... Index>(std::index_sequence<Index...>) {
        // Braces fix the order.
        const std::tuple<Parameters...> translated{
            translation.translate<Parameters>(arguments[Index])...};
        return (core.*hook)(result, std::get<Index>(translated)...);
    }
    (std::index_sequence_for<Parameters...>());
    if (done) {
        if (*result == 0) { translation.return_request(); }
        return;
    }
    call();
    if (*result == 0) { translation.take_request(); }
    core.native_done(*result);
}

} // namespace nodeaware::interpose

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Parameters and arguments of a Fortran function before the error code.
#define P0
#define P1 void *a1,
#define P2 P1 void *a2,
#define P3 P2 void *a3,
#define P4 P3 void *a4,
#define P5 P4 void *a5,
#define P6 P5 void *a6,
#define P7 P6 void *a7,
#define P8 P7 void *a8,
#define P9 P8 void *a9,
#define P10 P9 void *a10,
#define P11 P10 void *a11,
#define P12 P11 void *a12,
#define A0
#define A1 a1,
#define A2 A1 a2,
#define A3 A2 a3,
#define A4 A3 a4,
#define A5 A4 a5,
#define A6 A5 a6,
#define A7 A6 a7,
#define A8 A7 a8,
#define A9 A8 a9,
#define A10 A9 a10,
#define A11 A10 a11,
#define A12 A11 a12,

// The lengths of texts among the arguments, after the error code.
#define T0
#define T1 , size_t t1
#define T2 T1, size_t t2
#define L0
#define L1 , t1
#define L2 L1, t2

/// Wraps one symbol. Calls the template that is the last argument (it may contain commas) with the
/// addresses of all arguments, the error code, the binding and a function that makes the
/// application's own call.
#define FORTRAN_SYMBOL(symbol, binding, count, texts, ...)                                         \
    EXPORTED void symbol(P##count Fint* error T##texts) {                                          \
        static constinit Next<void(P##count Fint * error T##texts)> next(#symbol);                 \
        auto* const stand_in = next.stand_in(__builtin_return_address(0));                         \
        if (stand_in != nullptr) { return stand_in(A##count error L##texts); }                     \
        const CalledFromFortran from(__builtin_return_address(0));                                 \
        Fint own_error = no_mpi;                                                                   \
        void* const arguments[] = {A##count & own_error};                                          \
        __VA_ARGS__(arguments, own_error, Binding::binding, [&] {                                  \
            own_error = next.get() == nullptr ? no_mpi : 0;                                        \
            if (next.get() != nullptr) { next.get()(A##count & own_error L##texts); }              \
        });                                                                                        \
        if (error != nullptr) { *error = own_error; }                                              \
    }

#define FORTRAN_ALIAS(symbol, name, count, texts)                                                  \
    EXPORTED void symbol(P##count Fint* error T##texts) __attribute__((alias(#name "_")));

/// The bare name is what compilers for POWER make of it. Elsewhere it is not Fortran's but
/// anybody's: libraries of C have an mpi_allreduce or mpi_init of their own, and would get ours.
#ifdef __powerpc__
#define FORTRAN_BARE_ALIAS(name, count, texts) FORTRAN_ALIAS(name, name, count, texts)
#else
#define FORTRAN_BARE_ALIAS(name, count, texts)
#endif

/// Wraps a function in all spellings of its name, under Open MPI's internal name, by which most
/// functions of mpi_f08 come to it, and under the name that those of mpi_f08 have themselves, which
/// with MPICH reach no other.
#define FORTRAN_FUNCTION(name, NAME, count, texts, ...)                                            \
    FORTRAN_SYMBOL(name##_, mpif, count, texts, __VA_ARGS__)                                       \
    FORTRAN_BARE_ALIAS(name, count, texts)                                                         \
    FORTRAN_ALIAS(name##__, name, count, texts)                                                    \
    FORTRAN_ALIAS(NAME, name, count, texts)                                                        \
    FORTRAN_ALIAS(o##name##_f, name, count, texts)                                                 \
    FORTRAN_SYMBOL(name##_f08_, f08, count, texts, __VA_ARGS__)
