#include "interpose/fortran.hpp"

#include <dlfcn.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace nodeaware::interpose {

namespace {

/// A constant of Fortran that is a variable, told by its address. Which of the four possible
/// spellings of its name is in use depends on the Fortran compiler that MPI was built for.
class FortranVariable {
  public:
    constexpr FortranVariable(const char* a, const char* b, const char* c, const char* d)
        : names_{a, b, c, d} {}

    bool is(const void* argument) {
        find();
        for (const auto& address : addresses_) {
            if (address.load(std::memory_order_relaxed) == argument) { return true; }
        }
        return false;
    }

    bool is_known() {
        find();
        for (const auto& address : addresses_) {
            if (address.load(std::memory_order_relaxed) != nullptr) { return true; }
        }
        return false;
    }

  private:
    void find() {
        if (searched_.load(std::memory_order_acquire)) { return; }
        for (size_t i = 0; i < 4; ++i) {
            addresses_[i].store(dlsym(RTLD_DEFAULT, names_[i]), std::memory_order_relaxed);
        }
        searched_.store(true, std::memory_order_release);
    }

    const char* names_[4];
    std::atomic<void*> addresses_[4] = {};
    std::atomic<bool> searched_{false};
};

constinit FortranVariable in_place("mpi_fortran_in_place_", "mpi_fortran_in_place",
                                   "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE");
constinit FortranVariable bottom("mpi_fortran_bottom_", "mpi_fortran_bottom",
                                 "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM");

constexpr uintptr_t open_mpi_in_place = 1;

} // namespace

bool fortran_is_understood() { return is_open_mpi() && in_place.is_known(); }

abi::MPI_Comm FortranArguments::to_communicator(void* argument) {
    static constinit Next<abi::MPI_Comm(Fint)> f2c("MPI_Comm_f2c");
    return f2c.get()(*static_cast<Fint*>(argument));
}

abi::MPI_Datatype FortranArguments::to_datatype(Fint handle) {
    static constinit Next<abi::MPI_Datatype(Fint)> f2c("MPI_Type_f2c");
    return f2c.get()(handle);
}

void* FortranArguments::to_buffer(void* argument) {
    if (in_place.is(argument)) { return reinterpret_cast<void*>(open_mpi_in_place); }
    if (bottom.is(argument)) { return nullptr; }
    return argument;
}

const abi::MPI_Datatype* FortranArguments::to_datatypes(const Fint* handles) {
    int degrees[2] = {0, 0}; // the first array belongs to the sends, the second to the receives
    core_.degrees(communicator_, neighborhood_, &degrees[0], &degrees[1]);
    const int count = degrees[used_arrays_];
    auto* translated = static_cast<abi::MPI_Datatype*>(
        std::malloc(sizeof(abi::MPI_Datatype) * static_cast<size_t>(count + 1)));
    arrays_[used_arrays_++] = translated;
    for (int i = 0; translated != nullptr && i < count; ++i) {
        translated[i] = to_datatype(handles[i]);
    }
    return translated;
}

} // namespace nodeaware::interpose

using namespace nodeaware::interpose;

#define P7 void *a1, void *a2, void *a3, void *a4, void *a5, void *a6, void *a7
#define P8 P7, void* a8
#define P9 P8, void* a9
#define A7 a1, a2, a3, a4, a5, a6, a7
#define A8 A7, a8
#define A9 A8, a9

/// The other spellings of a Fortran name, and Open MPI's internal name, by which mpi_f08 reaches
/// the same function.
#define SPELLINGS(lower, UPPER, parameters)                                                        \
    EXPORTED void mpi_##lower parameters __attribute__((alias("mpi_" #lower "_")));                \
    EXPORTED void mpi_##lower##__ parameters __attribute__((alias("mpi_" #lower "_")));            \
    EXPORTED void MPI_##UPPER parameters __attribute__((alias("mpi_" #lower "_")));                \
    EXPORTED void ompi_##lower##_f parameters __attribute__((alias("mpi_" #lower "_")));

#define FORTRAN_EXCHANGE(Name, lower, UPPER, neighborhood, count)                                  \
    EXPORTED void mpi_##lower##_(P##count, Fint* error) {                                          \
        static constinit Next<void(P##count, Fint*)> next("mpi_" #lower "_");                      \
        void* arguments[] = {A##count};                                                            \
        int result = 0;                                                                            \
        if (offer_to_core(&nodeaware::abi::Core::Name, neighborhood, arguments, &result)) {        \
            if (error != nullptr) { *error = result; }                                             \
            return;                                                                                \
        }                                                                                          \
        if (next.get() != nullptr) { next.get()(A##count, error); }                                \
    }                                                                                              \
    SPELLINGS(lower, UPPER, (P##count, Fint * error))

FORTRAN_EXCHANGE(Alltoall, alltoall, ALLTOALL, false, 7)
FORTRAN_EXCHANGE(Alltoallv, alltoallv, ALLTOALLV, false, 9)
FORTRAN_EXCHANGE(Alltoallw, alltoallw, ALLTOALLW, false, 9)
FORTRAN_EXCHANGE(Neighbor_alltoall, neighbor_alltoall, NEIGHBOR_ALLTOALL, true, 7)
FORTRAN_EXCHANGE(Neighbor_alltoallv, neighbor_alltoallv, NEIGHBOR_ALLTOALLV, true, 9)
FORTRAN_EXCHANGE(Neighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_ALLTOALLW, true, 9)
FORTRAN_EXCHANGE(Neighbor_allgather, neighbor_allgather, NEIGHBOR_ALLGATHER, true, 7)
FORTRAN_EXCHANGE(Neighbor_allgatherv, neighbor_allgatherv, NEIGHBOR_ALLGATHERV, true, 8)

#define FORTRAN_LIFECYCLE(symbol, parameters, arguments, around)                                   \
    EXPORTED void symbol parameters {                                                              \
        static constinit Next<void parameters> next(#symbol);                                      \
        Fint own_error = 0;                                                                        \
        Fint* const given_error = error;                                                           \
        error = &own_error;                                                                        \
        around(own_error, [&] {                                                                    \
            if (next.get() != nullptr) { next.get() arguments; }                                   \
        });                                                                                        \
        if (given_error != nullptr) { *given_error = own_error; }                                  \
    }

namespace {

template <class Call> void around_init(const Fint& error, Call call) {
    call();
    if (error == 0) { start_core(); }
}

template <class Call> void around_finalize(const Fint& /*error*/, Call call) {
    stop_core();
    call();
}

} // namespace

FORTRAN_LIFECYCLE(mpi_init_, (Fint * error), (error), around_init)
FORTRAN_LIFECYCLE(mpi_init_thread_, (void* required, void* provided, Fint* error),
                  (required, provided, error), around_init)
FORTRAN_LIFECYCLE(mpi_finalize_, (Fint * error), (error), around_finalize)
SPELLINGS(init, INIT, (Fint * error))
SPELLINGS(init_thread, INIT_THREAD, (void* required, void* provided, Fint* error))
SPELLINGS(finalize, FINALIZE, (Fint * error))
// MPICH's mpi_f08 calls PMPI_X.
FORTRAN_LIFECYCLE(mpi_init_f08_, (Fint * error), (error), around_init)
FORTRAN_LIFECYCLE(mpi_init_thread_f08_, (void* required, void* provided, Fint* error),
                  (required, provided, error), around_init)
FORTRAN_LIFECYCLE(mpi_finalize_f08_, (Fint * error), (error), around_finalize)
