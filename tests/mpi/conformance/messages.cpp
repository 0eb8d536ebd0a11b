#include "tests/mpi/conformance/messages.hpp"

#include <climits>

namespace nodeaware::conformance {

namespace {

// The rows of the tables below. `as_count` makes of the count what the function takes.
#define SEND(name, is_large, as_count)                                                             \
    {                                                                                              \
#name, Way::blocking, is_large, [](const Message& m, MPI_Request*, MPI_Status*) {             \
         return MPI_##name(m.buffer, as_count(m.count), m.type, m.peer, m.tag, m.comm);            \
     }    \
    }
#define REQUEST(name, way, is_large, as_count)                                                     \
    {                                                                                              \
#name, way, is_large, [](const Message& m, MPI_Request* request, MPI_Status*) {               \
         return MPI_##name(m.buffer, as_count(m.count), m.type, m.peer, m.tag, m.comm, request);   \
     }    \
    }
#define RECEIVE(name, is_large, as_count)                                                          \
    {                                                                                              \
#name, Way::blocking, is_large, [](const Message& m, MPI_Request*, MPI_Status* status) {      \
         return MPI_##name(m.buffer, as_count(m.count), m.type, m.peer, m.tag, m.comm, status);    \
     }    \
    }
#define SENDS(suffix, is_large, as_count)                                                          \
    SEND(Send##suffix, is_large, as_count), SEND(Bsend##suffix, is_large, as_count),               \
        SEND(Ssend##suffix, is_large, as_count), SEND(Rsend##suffix, is_large, as_count),          \
        REQUEST(Isend##suffix, Way::nonblocking, is_large, as_count),                              \
        REQUEST(Ibsend##suffix, Way::nonblocking, is_large, as_count),                             \
        REQUEST(Issend##suffix, Way::nonblocking, is_large, as_count),                             \
        REQUEST(Irsend##suffix, Way::nonblocking, is_large, as_count),                             \
        REQUEST(Send_init##suffix, Way::persistent, is_large, as_count),                           \
        REQUEST(Bsend_init##suffix, Way::persistent, is_large, as_count),                          \
        REQUEST(Ssend_init##suffix, Way::persistent, is_large, as_count),                          \
        REQUEST(Rsend_init##suffix, Way::persistent, is_large, as_count)
#define RECEIVES(suffix, is_large, as_count)                                                       \
    RECEIVE(Recv##suffix, is_large, as_count),                                                     \
        REQUEST(Irecv##suffix, Way::nonblocking, is_large, as_count),                              \
        REQUEST(Recv_init##suffix, Way::persistent, is_large, as_count)

#define COMBINED(name, is_large, as_count)                                                         \
    {                                                                                              \
#name, false, false, is_large,                                                                \
     [](const Message& s, const Message& r, MPI_Request*, MPI_Status* status) {                    \
         return MPI_##name(s.buffer, as_count(s.count), s.type, s.peer, s.tag, r.buffer,           \
                           as_count(r.count), r.type, r.peer, r.tag, s.comm, status);              \
     }    \
    }
#define REPLACING(name, is_large, as_count)                                                        \
    {                                                                                              \
#name, true, false, is_large,                                                                 \
     [](const Message& s, const Message& r, MPI_Request*, MPI_Status* status) {                    \
         return MPI_##name(s.buffer, as_count(s.count), s.type, s.peer, s.tag, r.peer, r.tag,      \
                           s.comm, status);                                                        \
     }    \
    }
#define ICOMBINED(name, is_large, as_count)                                                        \
    {                                                                                              \
#name, false, true, is_large,                                                                 \
     [](const Message& s, const Message& r, MPI_Request* request, MPI_Status*) {                   \
         return MPI_##name(s.buffer, as_count(s.count), s.type, s.peer, s.tag, r.buffer,           \
                           as_count(r.count), r.type, r.peer, r.tag, s.comm, request);             \
     }    \
    }
#define IREPLACING(name, is_large, as_count)                                                       \
    {                                                                                              \
#name, true, true, is_large,                                                                  \
     [](const Message& s, const Message& r, MPI_Request* request, MPI_Status*) {                   \
         return MPI_##name(s.buffer, as_count(s.count), s.type, s.peer, s.tag, r.peer, r.tag,      \
                           s.comm, request);                                                       \
     }    \
    }

int as_int(MPI_Count count) { return static_cast<int>(count); }
#ifdef NODEAWARE_MPI_LARGE_COUNTS
MPI_Count as_it_is(MPI_Count count) { return count; }
#endif

} // namespace

const std::vector<Transfer>& sends() {
    static const std::vector<Transfer> list = {
        SENDS(, false, as_int),
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        SENDS(_c, true, as_it_is),
#endif
    };
    return list;
}

const std::vector<Transfer>& receives() {
    static const std::vector<Transfer> list = {
        RECEIVES(, false, as_int),
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        RECEIVES(_c, true, as_it_is),
#endif
    };
    return list;
}

const std::vector<Combined>& combined_functions() {
    static const std::vector<Combined> list = {
        COMBINED(Sendrecv, false, as_int),      REPLACING(Sendrecv_replace, false, as_int),
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        ICOMBINED(Isendrecv, false, as_int),    IREPLACING(Isendrecv_replace, false, as_int),
        COMBINED(Sendrecv_c, true, as_it_is),   REPLACING(Sendrecv_replace_c, true, as_it_is),
        ICOMBINED(Isendrecv_c, true, as_it_is), IREPLACING(Isendrecv_replace_c, true, as_it_is),
#endif
    };
    return list;
}

int largest_tag() {
    int* most = nullptr;
    int flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &flag);
    return flag != 0 ? *most : 32767;
}

int tag_above() { return largest_tag() == INT_MAX ? 0 : largest_tag() + 1; }

MPI_Datatype uncommitted_type() {
    static const MPI_Datatype type = [] {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(1, MPI_INT, &made);
        return made;
    }();
    return type;
}

} // namespace nodeaware::conformance
