// The Fortran functions that start and complete requests. Without point-to-point messages, MPI's
// own do the work, after the operations of the library.

#include "interpose/completion.hpp"
#include "interpose/fortran_calls.hpp"

namespace nodeaware::interpose {

namespace {

/// Where the requests are among the arguments.
struct One {
    static RequestHandles handles(void* const* arguments) {
        return {1, static_cast<Fint*>(arguments[0])};
    }
};
struct Several {
    static RequestHandles handles(void* const* arguments) {
        return {*static_cast<Fint*>(arguments[0]), static_cast<Fint*>(arguments[1])};
    }
};

/// Which arguments are indices of requests. They are counted from 1, not from 0.
enum class Indices { none, one, several };
template <auto function> constexpr Indices indices_of = Indices::none;
template <> constexpr Indices indices_of<&abi::Core::Waitany> = Indices::one;
template <> constexpr Indices indices_of<&abi::Core::Testany> = Indices::one;
template <> constexpr Indices indices_of<&abi::Core::Waitsome> = Indices::several;
template <> constexpr Indices indices_of<&abi::Core::Testsome> = Indices::several;

template <auto function> int complete_in_core(const abi::Core& core, void* const* arguments) {
    constexpr Indices indices = indices_of<function>;
    const Inside inside;
    if constexpr (indices == Indices::none) {
        return call_core(core, function, arguments);
    } else {
        auto* index = static_cast<Fint*>(arguments[2]); // or how many there are in the next
        *index = -1;
        const int result = call_core(core, function, arguments);
        const int count = indices == Indices::several ? *index : 1;
        if (indices == Indices::several) { index = static_cast<Fint*>(arguments[3]); }
        for (int i = 0; i < count; ++i) {
            if (index[i] >= 0) { ++index[i]; } // else MPI_UNDEFINED
        }
        return result;
    }
}

/// Has `function` of the core do the work while there are point-to-point messages. Otherwise calls
/// `work` with the handles of the requests if the core may be concerned, and if it is not or `work`
/// returns false, makes the application's call.
template <auto function, class Requests, class Call, class Work>
void with_requests(void* const* arguments, Fint& error, Binding binding, Call call, Work work) {
    if constexpr (function != nullptr) {
        if (const abi::Core* core = core_with_messages(binding)) {
            error = complete_in_core<function>(*core, arguments);
            return;
        }
    }
    if (core_with_requests() == nullptr || reaches_c_wrapper(binding)) {
        call();
        return;
    }
    RequestHandles handles = Requests::handles(arguments);
    if (work(handles.count(), handles.data())) { return; }
    const Inside inside;
    call();
}

template <auto function, class Requests, class Call>
void around_wait(void* const* arguments, Fint& error, Binding binding, Call call) {
    with_requests<function, Requests>(arguments, error, binding, call,
                                      [](int count, const abi::MPI_Request* requests) {
                                          complete(count, requests);
                                          return false;
                                      });
}

template <auto function, class Requests, class Call>
void around_test(void* const* arguments, Fint& error, Binding binding, Call call) {
    with_requests<function, Requests>(arguments, error, binding, call,
                                      [](int count, const abi::MPI_Request* requests) {
                                          progress(count, requests);
                                          return false;
                                      });
}

template <auto function, class Requests, class Call>
void around_start(void* const* arguments, Fint& error, Binding binding, Call call) {
    with_requests<function, Requests>(arguments, error, binding, call,
                                      [&](int count, abi::MPI_Request* requests) {
                                          start(count, requests, [&] {
                                              call();
                                              return error;
                                          });
                                          return true;
                                      });
}

template <class Call>
void around_free(void* const* arguments, Fint& error, Binding binding, Call call) {
    with_requests<nullptr, One>(arguments, error, binding, call,
                                [](int /*count*/, abi::MPI_Request* requests) {
                                    free_request(requests);
                                    return false;
                                });
}

using Test = void(void*, void*, void*, void*, void*, Fint*);

template <const char* test_name, class Call>
void around_waitany(void* const* a, Fint& error, Binding binding, Call call) {
    static constinit Next<Test> test(test_name);
    with_requests<&abi::Core::Waitany, Several>(
        a, error, binding, call, [&](int count, const abi::MPI_Request* requests) {
            return test.get() != nullptr && test_until(count, requests, [&] {
                       Fint flag = 0;
                       test.get()(a[0], a[1], a[2], &flag, a[3], &error);
                       return error != 0 || flag != 0;
                   });
        });
}

template <const char* test_name, class Call>
void around_waitsome(void* const* a, Fint& error, Binding binding, Call call) {
    static constinit Next<Test> test(test_name);
    with_requests<&abi::Core::Waitsome, Several>(
        a, error, binding, call, [&](int count, const abi::MPI_Request* requests) {
            return test.get() != nullptr && test_until(count, requests, [&] {
                       test.get()(a[0], a[1], a[2], a[3], a[4], &error);
                       return error != 0 || *static_cast<Fint*>(a[2]) != 0;
                   });
        });
}

constexpr char testany[] = "mpi_testany_";
constexpr char testany_f08[] = "mpi_testany_f08_";
constexpr char testsome[] = "mpi_testsome_";
constexpr char testsome_f08[] = "mpi_testsome_f08_";

} // namespace

FORTRAN_FUNCTION_AND_F08(mpi_wait, MPI_WAIT, 2, around_wait<&abi::Core::Wait, One>)
FORTRAN_FUNCTION_AND_F08(mpi_waitall, MPI_WAITALL, 3, around_wait<&abi::Core::Waitall, Several>)
FORTRAN_FUNCTION(mpi_waitany, MPI_WAITANY, 4, around_waitany<testany>)
FORTRAN_SYMBOL(mpi_waitany_f08_, f08, 4, around_waitany<testany_f08>)
FORTRAN_FUNCTION(mpi_waitsome, MPI_WAITSOME, 5, around_waitsome<testsome>)
FORTRAN_SYMBOL(mpi_waitsome_f08_, f08, 5, around_waitsome<testsome_f08>)
FORTRAN_FUNCTION_AND_F08(mpi_test, MPI_TEST, 3, around_test<&abi::Core::Test, One>)
FORTRAN_FUNCTION_AND_F08(mpi_testall, MPI_TESTALL, 4, around_test<&abi::Core::Testall, Several>)
FORTRAN_FUNCTION_AND_F08(mpi_testany, MPI_TESTANY, 5, around_test<&abi::Core::Testany, Several>)
FORTRAN_FUNCTION_AND_F08(mpi_testsome, MPI_TESTSOME, 5, around_test<&abi::Core::Testsome, Several>)
FORTRAN_FUNCTION_AND_F08(mpi_request_get_status, MPI_REQUEST_GET_STATUS, 3,
                         around_test<&abi::Core::Request_get_status, One>)
FORTRAN_FUNCTION_AND_F08(mpi_start, MPI_START, 1, around_start<&abi::Core::Start, One>)
FORTRAN_FUNCTION_AND_F08(mpi_startall, MPI_STARTALL, 2, around_start<&abi::Core::Startall, Several>)
FORTRAN_FUNCTION_AND_F08(mpi_request_free, MPI_REQUEST_FREE, 1, around_free)

} // namespace nodeaware::interpose
