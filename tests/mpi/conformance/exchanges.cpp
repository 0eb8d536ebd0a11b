#include "tests/mpi/conformance/exchanges.hpp"

#include "tests/mpi/persistent.hpp"

#include <algorithm>
#include <numeric>

namespace nodeaware::conformance {

namespace {

// The functions of one form under the names of their operations.
#define NAMES(Name, all, neighbor, suffix)                                                         \
    struct Name {                                                                                  \
        static int alltoall(auto... a) { return all##toall##suffix(a...); }                        \
        static int alltoallv(auto... a) { return all##toallv##suffix(a...); }                      \
        static int alltoallw(auto... a) { return all##toallw##suffix(a...); }                      \
        static int neighbor_alltoall(auto... a) { return neighbor##_alltoall##suffix(a...); }      \
        static int neighbor_alltoallv(auto... a) { return neighbor##_alltoallv##suffix(a...); }    \
        static int neighbor_alltoallw(auto... a) { return neighbor##_alltoallw##suffix(a...); }    \
        static int neighbor_allgather(auto... a) { return neighbor##_allgather##suffix(a...); }    \
        static int neighbor_allgatherv(auto... a) { return neighbor##_allgatherv##suffix(a...); }  \
    };
NAMES(Blocking, MPI_All, MPI_Neighbor, )
NAMES(Nonblocking, MPI_Iall, MPI_Ineighbor, )
#ifdef NODEAWARE_TEST_PERSISTENT_IS_EXTENSION
NAMES(Persistent, MPIX_All, MPIX_Neighbor, _init)
#elif defined(NODEAWARE_TEST_PERSISTENT)
NAMES(Persistent, MPI_All, MPI_Neighbor, _init)
#endif
#ifdef NODEAWARE_MPI_LARGE_COUNTS
NAMES(LargeBlocking, MPI_All, MPI_Neighbor, _c)
NAMES(LargeNonblocking, MPI_Iall, MPI_Ineighbor, _c)
NAMES(LargePersistent, MPI_All, MPI_Neighbor, _init_c)
#endif
#undef NAMES

template <class Wide, class Narrow> std::vector<Wide> widened(const std::vector<Narrow>& list) {
    return {list.begin(), list.end()};
}

} // namespace

std::string Function::name() const {
    std::string base = test::operation_names[operation];
    if (form == Form::nonblocking) { base = "i" + base; }
    if (form == Form::persistent) { base += "_init"; }
    return base + (is_large ? "_c" : "");
}

bool Function::sends_uniform() const {
    return operation == test::alltoall || operation == test::neighbor_alltoall || is_allgather();
}

bool Function::receives_uniform() const {
    return operation == test::alltoall || operation == test::neighbor_alltoall ||
           operation == test::neighbor_allgather;
}

bool Function::has_types() const {
    return operation == test::alltoallw || operation == test::neighbor_alltoallw;
}

const std::vector<Function>& functions() {
    static const std::vector<Function> list = [] {
        std::vector<Function> made;
        std::vector<Form> forms = {Form::blocking, Form::nonblocking};
#ifdef NODEAWARE_TEST_PERSISTENT
        forms.push_back(Form::persistent);
#endif
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        const std::vector<bool> widths = {false, true};
#else
        const std::vector<bool> widths = {false};
#endif
        for (const bool is_large : widths) {
            for (const Form form : forms) {
                for (int operation = 0; operation < test::operations; ++operation) {
                    made.push_back({static_cast<Operation>(operation), form, is_large});
                }
            }
        }
        return made;
    }();
    return list;
}

template <class Names, class Count, class Place, class... More>
int Arguments::dispatch(const Function& function, const Count* sendcounts, const Place* sdispls,
                        const Count* recvcounts, const Place* rdispls, More... more) {
    const MPI_Datatype* const sendtypes = sent.types.data();
    const MPI_Datatype* const recvtypes = received.types.data();
    const void* const from = sent.buffer;
    void* const to = received.buffer;
    const Count sendcount = sendcounts == nullptr ? 0 : sendcounts[0];
    const Count recvcount = recvcounts == nullptr ? 0 : recvcounts[0];
    switch (function.operation) {
    case test::alltoall:
        return Names::alltoall(from, sendcount, sendtypes[0], to, recvcount, recvtypes[0], comm,
                               more...);
    case test::alltoallv:
        return Names::alltoallv(from, sendcounts, sdispls, sendtypes[0], to, recvcounts, rdispls,
                                recvtypes[0], comm, more...);
    case test::alltoallw:
        return Names::alltoallw(from, sendcounts, sdispls, sendtypes, to, recvcounts, rdispls,
                                recvtypes, comm, more...);
    case test::neighbor_alltoall:
        return Names::neighbor_alltoall(from, sendcount, sendtypes[0], to, recvcount, recvtypes[0],
                                        comm, more...);
    case test::neighbor_alltoallv:
        return Names::neighbor_alltoallv(from, sendcounts, sdispls, sendtypes[0], to, recvcounts,
                                         rdispls, recvtypes[0], comm, more...);
    case test::neighbor_alltoallw:
        return Names::neighbor_alltoallw(from, sendcounts, wide_sent_.places.data(), sendtypes, to,
                                         recvcounts, wide_received_.places.data(), recvtypes, comm,
                                         more...);
    case test::neighbor_allgather:
        return Names::neighbor_allgather(from, sendcount, sendtypes[0], to, recvcount, recvtypes[0],
                                         comm, more...);
    default:
        return Names::neighbor_allgatherv(from, sendcount, sendtypes[0], to, recvcounts, rdispls,
                                          recvtypes[0], comm, more...);
    }
}

template <class Names, class... More> int Arguments::call(const Function& function, More... more) {
    return dispatch<Names>(
        function, sent.no_counts ? nullptr : sent.counts.data(), sent.places.data(),
        received.no_counts ? nullptr : received.counts.data(), received.places.data(), more...);
}

template <class Names, class... More>
int Arguments::call_large(const Function& function, More... more) {
    return dispatch<Names>(function, sent.no_counts ? nullptr : wide_sent_.counts.data(),
                           wide_sent_.places.data(),
                           received.no_counts ? nullptr : wide_received_.counts.data(),
                           wide_received_.places.data(), more...);
}

int Arguments::invoke(const Function& function, MPI_Request* request) {
    wide_sent_ = {widened<MPI_Count>(sent.counts), widened<MPI_Aint>(sent.places)};
    wide_received_ = {widened<MPI_Count>(received.counts), widened<MPI_Aint>(received.places)};
    switch (function.form) {
    case Form::blocking:
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        if (function.is_large) { return call_large<LargeBlocking>(function); }
#endif
        return call<Blocking>(function);
    case Form::nonblocking:
#ifdef NODEAWARE_MPI_LARGE_COUNTS
        if (function.is_large) { return call_large<LargeNonblocking>(function, request); }
#endif
        return call<Nonblocking>(function, request);
    case Form::persistent: break;
    }
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    if (function.is_large) { return call_large<LargePersistent>(function, MPI_INFO_NULL, request); }
#endif
#ifdef NODEAWARE_TEST_PERSISTENT
    return call<Persistent>(function, MPI_INFO_NULL, request);
#else
    return MPI_ERR_OTHER;
#endif
}

Exchange::Exchange(const Function& function, MPI_Comm comm, int round, int ints)
    : sent(0), received(0), function_(function), ints_(ints) {
    const Peers peers = function.is_neighborhood() ? neighbors(comm) : everybody(comm);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::vector<int> out;
    std::vector<int> in;
    for (const int peer : peers.destinations) { out.push_back(block_ints(rank, peer)); }
    for (const int peer : peers.sources) { in.push_back(block_ints(peer, rank)); }
    // An allgather sends but one block.
    if (function.is_allgather()) { out.assign(1, block_ints(rank, 0)); }
    lay_out(arguments.sent, out, function.sends_uniform());
    lay_out(arguments.received, in, function.receives_uniform());
    sent = Memory::of_ints(std::accumulate(out.begin(), out.end(), 0), 1000 * rank + 100 * round);
    received = Memory(static_cast<size_t>(std::accumulate(in.begin(), in.end(), 0)) * sizeof(int));
    arguments.sent.buffer = sent.data();
    arguments.received.buffer = received.data();
    arguments.comm = comm;
}

int Exchange::block_ints(int source, int destination) const {
    if (function_.receives_uniform() || source < 0 || destination < 0) { return ints_; }
    if (function_.is_allgather()) { return ints_ + source % 3; }
    return ints_ == 0 ? 0 : ints_ + (3 * source + destination) % 4 - 1;
}

void Exchange::lay_out(Blocks& blocks, const std::vector<int>& sizes, bool uniform) const {
    const int unit = function_.has_types() ? static_cast<int>(sizeof(int)) : 1;
    int next = 0;
    for (const int size : sizes) {
        blocks.counts.push_back(size);
        blocks.places.push_back(next * unit);
        blocks.types.push_back(MPI_INT);
        next += size;
    }
    if (uniform && blocks.counts.empty()) { blocks.counts.push_back(ints_); }
    if (blocks.types.empty()) { blocks.types.push_back(MPI_INT); }
}

int Exchange::run(Recorder& out, const std::string& what) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = arguments.invoke(function_, &request);
    out.call(what, code);
    if (code == MPI_SUCCESS && function_.form == Form::persistent) {
        out.call("Start", MPI_Start(&request));
    }
    if (code == MPI_SUCCESS && function_.form != Form::blocking) {
        MPI_Status status = fresh_status();
        code = out.call("Wait", MPI_Wait(&request, &status));
    }
    if (request != MPI_REQUEST_NULL && function_.form == Form::persistent) {
        out.call("Request_free", MPI_Request_free(&request));
    }
    return code;
}

void exchange_rightly(Context& context, const Function& function, MPI_Comm comm, int calls,
                      const std::string& what) {
    for (int i = 0; i < calls; ++i) {
        Exchange exchange(function, comm, i);
        exchange.run(context.out, what);
        context.out.data(what, exchange.received);
    }
}

} // namespace nodeaware::conformance
