// Arguments of Fortran calls on their way to C functions.

#include "interpose/fortran_calls.hpp"

#include <iterator>

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
            const void* const found = address.load(std::memory_order_relaxed);
            if (found != nullptr && found == argument) { return true; }
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
            addresses_[i].store(symbol_of_mpi(names_[i]), std::memory_order_relaxed);
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

constinit FortranVariable unweighted("mpi_fortran_unweighted_", "mpi_fortran_unweighted",
                                     "mpi_fortran_unweighted__", "MPI_FORTRAN_UNWEIGHTED");
constinit FortranVariable weights_empty("mpi_fortran_weights_empty_", "mpi_fortran_weights_empty",
                                        "mpi_fortran_weights_empty__", "MPI_FORTRAN_WEIGHTS_EMPTY");
/// Of mpi_f08 of MPICH, as gfortran and as others spell them.
constinit FortranVariable mpich_unweighted("__mpi_f08_link_constants_MOD_mpi_unweighted",
                                           "mpi_f08_link_constants_mp_mpi_unweighted_",
                                           "__mpi_f08_link_constants_NMOD_mpi_unweighted",
                                           "mpi_f08_link_constants_mpi_unweighted_");
constinit FortranVariable mpich_weights_empty("__mpi_f08_link_constants_MOD_mpi_weights_empty",
                                              "mpi_f08_link_constants_mp_mpi_weights_empty_",
                                              "__mpi_f08_link_constants_NMOD_mpi_weights_empty",
                                              "mpi_f08_link_constants_mpi_weights_empty_");

constinit FortranVariable status_ignore("mpi_fortran_status_ignore_", "mpi_fortran_status_ignore",
                                        "mpi_fortran_status_ignore__", "MPI_FORTRAN_STATUS_IGNORE");
constinit FortranVariable statuses_ignore("mpi_fortran_statuses_ignore_",
                                          "mpi_fortran_statuses_ignore",
                                          "mpi_fortran_statuses_ignore__",
                                          "MPI_FORTRAN_STATUSES_IGNORE");
/// Of mpi_f08.
constinit FortranVariable mpich_ignore("MPIR_F08_MPI_STATUS_IGNORE_OBJ",
                                       "MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
                                       "MPI_F08_STATUS_IGNORE_OBJ", "MPI_F08_STATUSES_IGNORE_OBJ");

constexpr uintptr_t open_mpi_in_place = 1;
constexpr uintptr_t open_mpi_unweighted = 2;
constexpr uintptr_t open_mpi_weights_empty = 3;
constexpr uintptr_t mpich_status_ignore = 1;

int ignore_status(void* /*state*/, void* /*status*/) { return 0; }
int ignore_free(void* /*state*/) { return 0; }
int ignore_cancel(void* /*state*/, int /*is_complete*/) { return 0; }

/// What MPICH's function makes of a request that is complete.
int ask_for_first_index() {
    using Start = int(int (*)(void*, void*), int (*)(void*), int (*)(void*, int), void*, Fint*);
    using Complete = int(Fint);
    using Testany = void(const Fint*, Fint*, Fint*, Fint*, void*, Fint*);
    auto* const start = reinterpret_cast<Start*>(next_symbol("PMPI_Grequest_start"));
    auto* const complete = reinterpret_cast<Complete*>(next_symbol("PMPI_Grequest_complete"));
    auto* const testany = reinterpret_cast<Testany*>(next_symbol("mpi_testany_f08_"));
    Fint request = 0;
    const bool is_begun =
        start != nullptr && complete != nullptr && testany != nullptr &&
        start(ignore_status, ignore_free, ignore_cancel, nullptr, &request) == 0 &&
        complete(request) == 0;
    if (!is_begun) { return 1; }
    const Fint count = 1;
    Fint index = 1;
    Fint flag = 0;
    Fint error = 0;
    alignas(16) char status[256] = {};
    testany(&count, &request, &index, &flag, status, &error);
    return error == 0 && flag != 0 && index == 0 ? 0 : 1;
}

} // namespace

int first_index(Binding binding) {
    if (binding != Binding::f08 || handles_are_pointers()) { return 1; }
    static constinit std::atomic<int> known{-1};
    if (known.load(std::memory_order_relaxed) < 0) {
        known.store(ask_for_first_index(), std::memory_order_relaxed);
    }
    return known.load(std::memory_order_relaxed);
}

bool handles_are_pointers() {
    static constinit std::atomic<int> known{-1};
    int answer = known.load(std::memory_order_relaxed);
    if (answer < 0) {
        answer = is_open_mpi() ? 1 : 0;
        known.store(answer, std::memory_order_relaxed);
    }
    return answer == 1;
}

bool fortran_is_understood() { return handles_are_pointers() && in_place.is_known(); }

namespace {

template <class Handle> Handle to_handle(Next<Handle(Fint)>& f2c, Fint handle) {
    return handles_are_pointers() ? f2c.get()(handle)
                                  : reinterpret_cast<Handle>(static_cast<intptr_t>(handle));
}

} // namespace

abi::MPI_Comm to_communicator(const void* argument) {
    static constinit Next<abi::MPI_Comm(Fint)> f2c("MPI_Comm_f2c");
    return to_handle(f2c, *static_cast<const Fint*>(argument));
}

void from_communicator(abi::MPI_Comm comm, void* argument) {
    static constinit Next<Fint(abi::MPI_Comm)> c2f("MPI_Comm_c2f");
    *static_cast<Fint*>(argument) = handles_are_pointers()
                                        ? c2f.get()(comm)
                                        : static_cast<Fint>(reinterpret_cast<intptr_t>(comm));
}

abi::MPI_Datatype to_datatype(Fint handle) {
    static constinit Next<abi::MPI_Datatype(Fint)> f2c("MPI_Type_f2c");
    return to_handle(f2c, handle);
}

abi::MPI_Op to_op(Fint handle) {
    static constinit Next<abi::MPI_Op(Fint)> f2c("MPI_Op_f2c");
    return to_handle(f2c, handle);
}

abi::MPI_Request to_request(Fint handle) {
    static constinit Next<abi::MPI_Request(Fint)> f2c("MPI_Request_f2c");
    return to_handle(f2c, handle);
}

abi::MPI_Info to_info(Fint handle) {
    static constinit Next<abi::MPI_Info(Fint)> f2c("MPI_Info_f2c");
    return to_handle(f2c, handle);
}

namespace {

bool to_open_mpi_weights(const void* argument, const int** weights) {
    if (!unweighted.is_known() || !weights_empty.is_known()) { return false; }
    uintptr_t constant = 0;
    if (unweighted.is(argument)) { constant = open_mpi_unweighted; }
    if (weights_empty.is(argument)) { constant = open_mpi_weights_empty; }
    *weights =
        static_cast<const int*>(constant == 0 ? argument : reinterpret_cast<void*>(constant));
    return true;
}

/// Whose constants of C are variables.
bool to_mpich_weights(const void* argument, const int** weights) {
    auto* const none = static_cast<int* const*>(next_symbol("MPI_UNWEIGHTED"));
    auto* const empty = static_cast<int* const*>(next_symbol("MPI_WEIGHTS_EMPTY"));
    const bool are_known = none != nullptr && empty != nullptr && mpich_unweighted.is_known() &&
                           mpich_weights_empty.is_known();
    if (!are_known) { return false; }
    *weights = static_cast<const int*>(argument);
    if (mpich_unweighted.is(argument)) { *weights = *none; }
    if (mpich_weights_empty.is(argument)) { *weights = *empty; }
    return true;
}

} // namespace

bool to_weights(const void* argument, const int** weights) {
    return handles_are_pointers() ? to_open_mpi_weights(argument, weights)
                                  : to_mpich_weights(argument, weights);
}

void* to_buffer(void* argument) { return bottom.is(argument) ? nullptr : argument; }

void* to_send_buffer(void* argument, bool* is_in_place) {
    if (!in_place.is(argument)) { return to_buffer(argument); }
    *is_in_place = true;
    return reinterpret_cast<void*>(open_mpi_in_place);
}

abi::MPI_Status* to_status(void* argument) {
    if (!handles_are_pointers()) {
        return static_cast<abi::MPI_Status*>(
            mpich_ignore.is(argument) ? reinterpret_cast<void*>(mpich_status_ignore) : argument);
    }
    const bool ignored = status_ignore.is(argument) || statuses_ignore.is(argument);
    return ignored ? nullptr : static_cast<abi::MPI_Status*>(argument);
}

int announce_created(const abi::Core& core, const void* parent, void* communicator) {
    if (handles_are_pointers()) {
        abi::MPI_Comm created = to_communicator(communicator);
        return core.created(to_communicator(parent), &created);
    }
    return core.created(to_communicator(parent), static_cast<abi::MPI_Comm*>(communicator));
}

RequestHandles::RequestHandles(int count, Fint* handles)
    : count_(count), handles_(reinterpret_cast<abi::MPI_Request*>(handles)) {
    if (!handles_are_pointers()) { return; }
    handles_ = few_;
    if (count > static_cast<int>(std::size(few_))) {
        many_ = static_cast<abi::MPI_Request*>(
            std::malloc(sizeof(abi::MPI_Request) * static_cast<size_t>(count)));
        handles_ = many_;
        if (many_ == nullptr) { count_ = 0; }
    }
    for (int i = 0; i < count_; ++i) { handles_[i] = to_request(handles[i]); }
}

namespace {

Fint to_fortran(abi::MPI_Request request) {
    static constinit Next<Fint(abi::MPI_Request)> c2f("MPI_Request_c2f");
    return c2f.get()(request);
}

} // namespace

void RequestHandles::give_back(Fint* handles) const {
    if (!handles_are_pointers()) { return; }
    for (int i = 0; i < count_; ++i) {
        if (handles_[i] != nullptr) {
            handles[i] = to_fortran(handles_[i]);
        } // else it was no handle
    }
}

Argument<abi::MPI_Message*>::Argument(Place place)
    : fortran_(static_cast<Fint*>(place.argument())),
      message_(reinterpret_cast<abi::MPI_Message*>(fortran_)) {
    static constinit Next<abi::MPI_Message(Fint)> f2c("MPI_Message_f2c");
    if (!handles_are_pointers()) { return; }
    translated_ = f2c.get()(*fortran_);
    message_ = &translated_;
}

void Argument<abi::MPI_Message*>::give_back(int result) {
    static constinit Next<Fint(abi::MPI_Message)> c2f("MPI_Message_c2f");
    if (result == 0 && message_ == &translated_ && translated_ != nullptr) {
        *fortran_ = c2f.get()(translated_);
    }
}

const abi::MPI_Datatype* FortranArguments::to_datatypes(const Fint* handles) {
    const int which = used_arrays_++;                // the first array belongs to the sends
    if (which == 0 && in_place_) { return nullptr; } // need not be as long as that
    int degrees[2] = {0, 0};
    core_.degrees(communicator_, neighborhood_, &degrees[0], &degrees[1]);
    const int count = degrees[which];
    auto* translated = static_cast<abi::MPI_Datatype*>(
        std::malloc(sizeof(abi::MPI_Datatype) * static_cast<size_t>(count + 1)));
    arrays_[which] = translated;
    for (int i = 0; translated != nullptr && i < count; ++i) {
        translated[i] = to_datatype(handles[i]);
    }
    return translated;
}

void FortranArguments::return_request() {
    if (request_argument_ != nullptr) { *request_argument_ = to_fortran(request_); }
}

} // namespace nodeaware::interpose
