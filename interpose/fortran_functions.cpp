// The MPI functions that applications call from Fortran.

#include "interpose/fortran_calls.hpp"
#include "interpose/passed.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace nodeaware::interpose {

namespace {

/// The name of a function as a template argument.
struct FunctionName {
    char text[48] = {};

    template <size_t size> consteval FunctionName(const char (&name)[size]) {
        static_assert(size <= sizeof(text));
        std::copy_n(name, size, text);
    }
};

/// The core, while it is in charge and MPI does not come to a C wrapper, which does the rest.
const abi::Core* core_for(Binding binding) {
    const abi::Core* core = active_core();
    return core == nullptr || reaches_c_wrapper(binding) ? nullptr : core;
}

template <auto hook, bool neighborhood, class Call>
void around_exchange(void* const* arguments, Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr || !fortran_is_understood()) {
        call();
        return;
    }
    const Inside inside;
    error = 0;
    offer_to_core(*core, hook, neighborhood, arguments, &error, call);
}

/// The arguments of a collective, of which the table tells what it passes.
class PassedFromFortran {
  public:
    PassedFromFortran(const PassedAt& at, void* const* arguments)
        : at_(at), arguments_(arguments) {}
    abi::Passed read() const { return read_passed(at_, false, *this); }

    Fint integer(int i) const { return *static_cast<const Fint*>(arguments_[i]); }
    abi::MPI_Count count(int i) const { return integer(i); }
    abi::MPI_Datatype type(int i) const { return to_datatype(integer(i)); }
    const void* array(int i) const { return arguments_[i]; }
    const void* buffer(int i) const {
        bool is_in_place = false;
        return to_send_buffer(arguments_[i], &is_in_place);
    }

  private:
    const PassedAt& at_;
    void* const* arguments_;
};

template <FunctionName function> struct PassedBy {
    static constexpr PassedAt at = passed_by(function.text + sizeof "MPI_" - 1);
};

/// The communicator is the last argument before the error code.
template <FunctionName function, size_t count, class Call>
void around_fortran_meeting(void* const (&arguments)[count], Fint& error, Binding binding,
                            Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr) { return call(); }
    const abi::MPI_Comm comm = to_communicator(arguments[count - 2]);
    const auto call_mpi = [&] {
        const ToldCall told(*core, function.text);
        call();
        return told.done(error, comm, PassedFromFortran(PassedBy<function>::at, arguments));
    };
    error = around_meeting(*core, call_mpi, [&] { return comm; });
}

abi::Reduction to_reduction(void* const* arguments) {
    bool is_in_place = false;
    const auto integer = [&](int i) { return *static_cast<const Fint*>(arguments[i]); };
    return {to_send_buffer(arguments[0], &is_in_place), to_buffer(arguments[1]), integer(2),
            to_datatype(integer(3)), to_op(integer(4))};
}

template <FunctionName function, size_t count, class Call>
void around_reduction(void* const (&arguments)[count], Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    const auto call_either = [&] {
        if (core == nullptr || !fortran_is_understood()) { return call(); }
        error = reduce(*core, to_reduction(arguments), to_communicator(arguments[count - 2]), [&] {
            call();
            return error;
        });
    };
    around_fortran_meeting<function>(arguments, error, binding, call_either);
}

/// The first argument is the communicator that it is made from, the last one before the error code
/// the new one.
template <FunctionName function, size_t count, class Call>
void around_creation(void* const (&arguments)[count], Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr) { return call(); }
    const Outcome outcome;
    {
        const abi::MPI_Comm parent = to_communicator(arguments[0]);
        const BlockingCall blocking(*core);
        const ToldCall told(*core, function.text);
        call();
        told.done(error, &parent);
    }
    if (outcome.of(error) != 0) { return core->not_created(); }
    const Inside inside;
    error = announce_created(*core, arguments[0], arguments[count - 2]);
}

/// Whether the core has made the grid.
bool make_grid(const abi::Core& core, void* const* arguments, Fint& error) {
    const Inside inside;
    const auto integers = [&](int i) { return static_cast<const Fint*>(arguments[i]); };
    abi::MPI_Comm made = nullptr;
    if (!core.make_grid(&error, to_communicator(arguments[0]), *integers(1), integers(2),
                        integers(3), *integers(4), &made)) {
        return false;
    }
    if (error == 0) { from_communicator(made, arguments[5]); }
    return true;
}

/// Whether the core has made the graph.
bool make_graph(const abi::Core& core, void* const* arguments, Fint& error) {
    const Inside inside;
    const auto integers = [&](int i) { return static_cast<const Fint*>(arguments[i]); };
    const int* weights = nullptr;
    abi::MPI_Comm made = nullptr;
    if (!to_weights(arguments[5], &weights) ||
        !core.make_graph(&error, to_communicator(arguments[0]), *integers(1), integers(2),
                         integers(3), integers(4), weights, to_info(*integers(6)), *integers(7),
                         &made)) {
        return false;
    }
    if (error == 0) { from_communicator(made, arguments[8]); }
    return true;
}

template <FunctionName function, size_t count, class Call>
void around_graph(void* const (&arguments)[count], Fint& error, Binding binding, Call call) {
    const auto make = [&] {
        const abi::Core* core = core_for(binding);
        if (core == nullptr || !make_graph(*core, arguments, error)) { call(); }
    };
    around_creation<function>(arguments, error, binding, make);
}

template <FunctionName function, size_t count, class Call>
void around_grid(void* const (&arguments)[count], Fint& error, Binding binding, Call call) {
    const auto make = [&] {
        const abi::Core* core = core_for(binding);
        if (core == nullptr || !make_grid(*core, arguments, error)) { call(); }
    };
    around_creation<function>(arguments, error, binding, make);
}

template <class Call>
void around_grid_map(void* const* arguments, Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    call();
    if (core == nullptr || error != 0) { return; }
    const Inside inside;
    const auto integers = [&](int i) { return static_cast<const Fint*>(arguments[i]); };
    error = core->map_grid(to_communicator(arguments[0]), *integers(1), integers(2), integers(3),
                           static_cast<Fint*>(arguments[4]));
}

template <FunctionName function, class Call>
void around_blocking(void* const* /*arguments*/, const Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr) { return call(); }
    const BlockingCall blocking(*core);
    const ToldCall told(*core, function.text);
    call();
    told.done(error);
}

template <FunctionName function, size_t count, class Call>
void around_collective(void* const (&arguments)[count], const Fint& error, Binding binding,
                       Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr) { return call(); }
    const abi::MPI_Comm comm = to_communicator(arguments[count - 2]);
    const BlockingCall blocking(*core);
    const ToldCall told(*core, function.text);
    call();
    told.done(error, comm, PassedFromFortran(PassedBy<function>::at, arguments));
}

/// The communicator comes before the request.
template <FunctionName function, size_t count, class Call>
void around_begun(void* const (&arguments)[count], const Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr) { return call(); }
    const abi::MPI_Comm comm = to_communicator(arguments[count - 3]);
    const ToldCall told(*core, function.text);
    call();
    told.done(error, comm, PassedFromFortran(PassedBy<function>::at, arguments));
}

template <FunctionName function, class Call>
void around_sharing(void* const* arguments, const Fint& error, Binding binding, Call call) {
    if (const abi::Core* core = core_for(binding)) { before_sharing(*core); }
    around_blocking<function>(arguments, error, binding, call);
}

template <FunctionName function, class Call>
void around_attaching(void* const* arguments, const Fint& error, Binding binding, Call call) {
    around_blocking<function>(arguments, error, binding, call);
    if (const abi::Core* core = core_for(binding)) { attached(*core, error); }
}

template <FunctionName function, class Call>
void around_detaching(void* const* arguments, const Fint& error, Binding binding, Call call) {
    if (const abi::Core* core = core_for(binding)) { before_detaching(*core); }
    around_blocking<function>(arguments, error, binding, call);
}

template <FunctionName function, class Call>
void around_io(void* const* /*arguments*/, const Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr) { return call(); }
    before_blocking(*core);
    const Inside inside;
    const ToldCall told(*core, function.text);
    call();
    told.done(error);
}

/// MPI's own function may be made of that of C, and then tells MPI whose functions they are.
template <class Call>
void around_callbacks(void* const* /*arguments*/, const Fint& /*error*/, Binding /*binding*/,
                      Call call) {
    const Inside inside;
    call();
}

template <class Call>
void around_beginning(void* const* /*arguments*/, const Fint& /*error*/, Binding binding,
                      Call call) {
    if (const abi::Core* core = core_for(binding)) { core->communicator_begun(); }
    call();
}

template <class Call>
void around_ending(void* const* /*arguments*/, const Fint& /*error*/, Binding /*binding*/,
                   Call call) {
    before_end(true);
    call();
}

template <auto function, class Call>
void around_message(void* const* arguments, Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr || !is_any(activity.messages) ||
        (handles_are_pointers() && !fortran_is_understood())) {
        call();
        return;
    }
    const Inside inside;
    error = call_core(*core, function, arguments);
}

/// Which arguments are indices of requests. They are not counted from 0, see first_index().
enum class Indices { none, one, several };
template <auto function> constexpr Indices indices_of = Indices::none;
template <> constexpr Indices indices_of<&abi::Core::Waitany> = Indices::one;
template <> constexpr Indices indices_of<&abi::Core::Testany> = Indices::one;
template <> constexpr Indices indices_of<&abi::Core::Request_get_status_any> = Indices::one;
template <> constexpr Indices indices_of<&abi::Core::Request_get_status_some> = Indices::several;
template <> constexpr Indices indices_of<&abi::Core::Waitsome> = Indices::several;
template <> constexpr Indices indices_of<&abi::Core::Testsome> = Indices::several;

template <auto function>
int complete_in_core(const abi::Core& core, void* const* arguments, Binding binding) {
    constexpr Indices indices = indices_of<function>;
    if constexpr (indices == Indices::none) {
        return call_core(core, function, arguments);
    } else {
        auto* index = static_cast<Fint*>(arguments[2]); // or how many there are in the next
        *index = -1;
        const int result = call_core(core, function, arguments);
        const int count = indices == Indices::several ? *index : 1;
        if (indices == Indices::several) { index = static_cast<Fint*>(arguments[3]); }
        for (int i = 0; i < count; ++i) {
            if (index[i] >= 0) { index[i] += first_index(binding); } // else MPI_UNDEFINED
        }
        return result;
    }
}

template <auto function, class Call>
void around_requests(void* const* arguments, Fint& error, Binding binding, Call call) {
    const abi::Core* core = core_for(binding);
    if (core == nullptr || !is_any(activity.requests)) {
        call();
        return;
    }
    const Inside inside;
    error = complete_in_core<function>(*core, arguments, binding);
}

template <class Call>
void around_init(void* const* /*arguments*/, const Fint& error, Binding /*binding*/, Call call) {
    call();
    if (error == 0) { start_core(); }
}

constexpr bool is_with_neighbors(std::string_view name) {
    return name.find("eighbor") != std::string_view::npos;
}

} // namespace

#define FORTRAN_EXCHANGE(Name, name, NAME, count, texts)                                           \
    FORTRAN_FUNCTION(name, NAME, count, texts,                                                     \
                     around_exchange<&abi::Core::Name, is_with_neighbors(#name)>)
#define FORTRAN_POINT_TO_POINT(Name, name, NAME, count, texts)                                     \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_message<&abi::Core::Name>)
#define FORTRAN_REQUESTS(Name, name, NAME, count, texts)                                           \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_requests<&abi::Core::Name>)
#define FORTRAN_MEETING(Name, name, NAME, count, texts)                                            \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_fortran_meeting<"MPI_" #Name>)
#define FORTRAN_REDUCTION(Name, name, NAME, count, texts)                                          \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_reduction<"MPI_" #Name>)
#define FORTRAN_CREATION(Name, name, NAME, count, texts)                                           \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_creation<"MPI_" #Name>)
#define FORTRAN_GRID(Name, name, NAME, count, texts)                                               \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_grid<"MPI_" #Name>)
#define FORTRAN_GRAPH(Name, name, NAME, count, texts)                                              \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_graph<"MPI_" #Name>)
#define FORTRAN_GRID_MAP(Name, name, NAME, count, texts)                                           \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_grid_map)
#define FORTRAN_BLOCKING(Name, name, NAME, count, texts)                                           \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_blocking<"MPI_" #Name>)
#define FORTRAN_COLLECTIVE(Name, name, NAME, count, texts)                                         \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_collective<"MPI_" #Name>)
#define FORTRAN_BEGUN(Name, name, NAME, count, texts)                                              \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_begun<"MPI_" #Name>)
#define FORTRAN_SHARING(Name, name, NAME, count, texts)                                            \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_sharing<"MPI_" #Name>)
#define FORTRAN_ATTACHING(Name, name, NAME, count, texts)                                          \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_attaching<"MPI_" #Name>)
#define FORTRAN_DETACHING(Name, name, NAME, count, texts)                                          \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_detaching<"MPI_" #Name>)
#define FORTRAN_LARGE(Name, name, NAME, count, texts)                                              \
    FORTRAN_SYMBOL(name##_f08_large_, f08, count, texts, around_blocking<"MPI_" #Name>)
#define FORTRAN_IO(Name, name, NAME, count, texts)                                                 \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_io<"MPI_" #Name>)
#define FORTRAN_BEGINNING(Name, name, NAME, count, texts)                                          \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_beginning)
#define FORTRAN_CALLBACKS(Name, name, NAME, count, texts)                                          \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_callbacks)
#define FORTRAN_ENDING(Name, name, NAME, count, texts)                                             \
    FORTRAN_FUNCTION(name, NAME, count, texts, around_ending)
#include "interpose/fortran_rows.def"

FORTRAN_FUNCTION(mpi_init, MPI_INIT, 0, 0, around_init)
FORTRAN_FUNCTION(mpi_init_thread, MPI_INIT_THREAD, 2, 0, around_init)

} // namespace nodeaware::interpose
