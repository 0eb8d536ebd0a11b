#pragma once

#include <mpi.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

/// The MPI functions that the library itself uses, found below the preloaded library: other tools
/// that sit between it and MPI see its calls, those above it do not.
#define NODEAWARE_MPI_FUNCTIONS(X)                                                                 \
    X(Abort)                                                                                       \
    X(Allgather)                                                                                   \
    X(Allreduce)                                                                                   \
    X(Alltoall)                                                                                    \
    X(Barrier)                                                                                     \
    X(Bcast)                                                                                       \
    X(Bsend)                                                                                       \
    X(Bsend_init)                                                                                  \
    X(Cancel)                                                                                      \
    X(Cart_create)                                                                                 \
    X(Cart_shift)                                                                                  \
    X(Cartdim_get)                                                                                 \
    X(Comm_call_errhandler)                                                                        \
    X(Comm_compare)                                                                                \
    X(Comm_create)                                                                                 \
    X(Comm_create_keyval)                                                                          \
    X(Comm_free)                                                                                   \
    X(Comm_get_attr)                                                                               \
    X(Comm_get_errhandler)                                                                         \
    X(Comm_group)                                                                                  \
    X(Comm_rank)                                                                                   \
    X(Comm_remote_size)                                                                            \
    X(Comm_set_attr)                                                                               \
    X(Comm_set_errhandler)                                                                         \
    X(Comm_size)                                                                                   \
    X(Comm_split_type)                                                                             \
    X(Comm_test_inter)                                                                             \
    X(Dist_graph_create_adjacent)                                                                  \
    X(Dist_graph_neighbors)                                                                        \
    X(Dist_graph_neighbors_count)                                                                  \
    X(Errhandler_free)                                                                             \
    X(Error_class)                                                                                 \
    X(Error_string)                                                                                \
    X(Get_count)                                                                                   \
    X(Get_elements_x)                                                                              \
    X(Get_library_version)                                                                         \
    X(Get_version)                                                                                 \
    X(Graph_neighbors)                                                                             \
    X(Graph_neighbors_count)                                                                       \
    X(Grequest_complete)                                                                           \
    X(Grequest_start)                                                                              \
    X(Group_free)                                                                                  \
    X(Group_incl)                                                                                  \
    X(Group_translate_ranks)                                                                       \
    X(Ibsend)                                                                                      \
    X(Improbe)                                                                                     \
    X(Imrecv)                                                                                      \
    X(Ineighbor_alltoall)                                                                          \
    X(Ineighbor_alltoallv)                                                                         \
    X(Ineighbor_alltoallw)                                                                         \
    X(Iprobe)                                                                                      \
    X(Irecv)                                                                                       \
    X(Irsend)                                                                                      \
    X(Isend)                                                                                       \
    X(Issend)                                                                                      \
    X(Mprobe)                                                                                      \
    X(Mrecv)                                                                                       \
    X(Neighbor_alltoall)                                                                           \
    X(Neighbor_alltoallv)                                                                          \
    X(Neighbor_alltoallw)                                                                          \
    X(Pack)                                                                                        \
    X(Probe)                                                                                       \
    X(Query_thread)                                                                                \
    X(Recv)                                                                                        \
    X(Recv_init)                                                                                   \
    X(Reduce)                                                                                      \
    X(Reduce_local)                                                                                \
    X(Request_free)                                                                                \
    X(Request_get_status)                                                                          \
    X(Rsend)                                                                                       \
    X(Rsend_init)                                                                                  \
    X(Send)                                                                                        \
    X(Send_init)                                                                                   \
    X(Sendrecv)                                                                                    \
    X(Sendrecv_replace)                                                                            \
    X(Ssend)                                                                                       \
    X(Ssend_init)                                                                                  \
    X(Start)                                                                                       \
    X(Startall)                                                                                    \
    X(Status_set_cancelled)                                                                        \
    X(Status_set_elements)                                                                         \
    X(Status_set_elements_x)                                                                       \
    X(Test)                                                                                        \
    X(Test_cancelled)                                                                              \
    X(Testall)                                                                                     \
    X(Testany)                                                                                     \
    X(Testsome)                                                                                    \
    X(Topo_test)                                                                                   \
    X(Type_commit)                                                                                 \
    X(Type_contiguous)                                                                             \
    X(Type_create_hvector)                                                                         \
    X(Type_create_keyval)                                                                          \
    X(Type_create_resized)                                                                         \
    X(Type_create_struct)                                                                          \
    X(Type_free)                                                                                   \
    X(Type_get_attr)                                                                               \
    X(Type_get_contents)                                                                           \
    X(Type_get_envelope)                                                                           \
    X(Type_get_extent_x)                                                                           \
    X(Type_get_true_extent_x)                                                                      \
    X(Type_set_attr)                                                                               \
    X(Type_size_x)                                                                                 \
    X(Unpack)                                                                                      \
    X(Wait)                                                                                        \
    X(Waitall)                                                                                     \
    X(Waitany)                                                                                     \
    X(Waitsome)

#define NODEAWARE_MPI_LARGE_FUNCTIONS(X)                                                           \
    X(Isend_c)                                                                                     \
    X(Irecv_c)                                                                                     \
    X(Send_c)                                                                                      \
    X(Bsend_c)                                                                                     \
    X(Ssend_c)                                                                                     \
    X(Rsend_c)                                                                                     \
    X(Ibsend_c)                                                                                    \
    X(Issend_c)                                                                                    \
    X(Irsend_c)                                                                                    \
    X(Send_init_c)                                                                                 \
    X(Bsend_init_c)                                                                                \
    X(Ssend_init_c)                                                                                \
    X(Rsend_init_c)                                                                                \
    X(Recv_c)                                                                                      \
    X(Recv_init_c)                                                                                 \
    X(Mrecv_c)                                                                                     \
    X(Imrecv_c)                                                                                    \
    X(Sendrecv_c)                                                                                  \
    X(Sendrecv_replace_c)                                                                          \
    X(Type_get_envelope_c)

namespace nodeaware {

/// Which of the two MPIs this is, each with its relatives, where they differ in what the standard
/// leaves open. A core is for the binary interface of one of them, or for that of MPI 5.0, chapter
/// 20, which either may have below it.
#if defined(NODEAWARE_STANDARD_INTERFACE)
bool is_open_mpi(); ///< once load_mpi() has found all
#elif defined(OPEN_MPI)
constexpr bool is_open_mpi() { return true; }
#else
constexpr bool is_open_mpi() { return false; }
#endif

/// MPI_Count is long for some builds of an MPI and long long for others, which are two types of C++
/// and one of the machine: abi::MPI_Count.
template <class Function> struct LargeFunction;
template <class Result, class... Parameters> struct LargeFunction<Result (*)(Parameters...)> {
    template <class Parameter>
    using Type = std::conditional_t<std::is_same_v<Parameter, MPI_Count>, int64_t, Parameter>;
    using Pointer = Result (*)(Type<Parameters>...);
};

struct Mpi {
#define X(name) decltype(&::MPI_##name) name = nullptr;
    NODEAWARE_MPI_FUNCTIONS(X)
#undef X
#ifdef NODEAWARE_MPI_LARGE_COUNTS
#define X(name) LargeFunction<decltype(&::MPI_##name)>::Pointer name = nullptr;
    NODEAWARE_MPI_LARGE_FUNCTIONS(X)
#undef X
#endif
};

/// Filled by load_mpi(), constant afterwards.
extern Mpi mpi;

/// Finds all functions with `next`. Returns the name of one that is missing, or nullptr.
const char* load_mpi(void* (*next)(const char* name));

/// A function that is not among those, for not every MPI has it; nullptr: this has not.
void* find_mpi(const std::string& name);

/// An MPI function failed inside the library.
struct MpiError : std::runtime_error {
    MpiError(int error_code, const char* function);
    int code;
};

/// What MPI returned says that it has checked the arguments of a call and done nothing: other ranks
/// do not count on it. Other errors are of calls that took part in what the others did.
bool is_refused(int code);

/// Calls mpi.FUNCTION(arguments) and throws MpiError if it fails: MPI_CALL(Comm_rank, comm, &rank).
#define MPI_CALL(function, ...)                                                                    \
    do {                                                                                           \
        if (const int code_ = ::nodeaware::mpi.function(__VA_ARGS__); code_ != MPI_SUCCESS) {      \
            throw ::nodeaware::MpiError(code_, "MPI_" #function);                                  \
        }                                                                                          \
    } while (false)

/// What fails once may not fail again: false if it has twice.
template <class Call> bool try_twice(Call call) {
    int code = MPI_ERR_OTHER;
    for (int i = 0; i < 2 && code != MPI_SUCCESS; ++i) { code = call(); }
    return code == MPI_SUCCESS;
}

} // namespace nodeaware
