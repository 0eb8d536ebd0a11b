#pragma once

#include "tests/mpi/exchange.hpp"
#include "tests/mpi/persistent.hpp"

#include <algorithm>
#include <array>
#include <numeric>

/// One nonblocking or persistent exchange for nonblocking_test: its arguments, its request and what
/// the native blocking operation makes of the same arguments.
namespace nodeaware::test {

#ifdef NODEAWARE_TEST_PERSISTENT
constexpr bool has_persistent = true;
#else
constexpr bool has_persistent = false;
#endif

inline bool is_neighborhood(Operation operation) { return operation >= neighbor_alltoall; }
inline bool is_allgather(Operation operation) { return operation >= neighbor_allgather; }
inline bool is_w(Operation operation) {
    return operation == alltoallw || operation == neighbor_alltoallw;
}
inline bool is_uniform(Operation operation) {
    return operation == alltoall || operation == neighbor_alltoall ||
           operation == neighbor_allgather;
}

/// A communicator and what this rank must know of it.
struct Place {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm reference = MPI_COMM_NULL; ///< a duplicate for the native blocking operations
    int rank = 0;
    int size = 0;
    bool has_neighbors = false;
    bool is_grid = false;
    bool balanced = true; ///< every rank has as many sources as destinations
    bool used = false;
    std::vector<int> sources;
    std::vector<int> destinations;

    void adopt(MPI_Comm made) {
        comm = made;
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &size);
        PMPI_Comm_dup(comm, &reference);
    }
};

inline const bool mpich = !is_open_mpi();

// What natively goes wrong is left out: with MPICH 4.0.2 what says mpich, and with Open MPI 4.1.4
// what says !mpich.

/// An inactive request of a persistent collective makes MPI_Waitany and the like wait forever.
inline const bool inactive_is_broken = mpich;
/// MPI_Testall fails where there is a request of a persistent collective.
inline const bool persistent_testall_is_broken = mpich;
/// Alltoallv and alltoallw in place wait forever where there are messages without data, unless they
/// block.
inline const bool zero_in_place_is_broken = !mpich;
/// Datatypes freed while a persistent operation uses them are gone.
inline const bool freed_types_are_broken = !mpich;
/// Communicators freed while an operation uses them are gone.
inline const bool freed_communicators_are_broken = !mpich;

/// MPICH sends by the wrong counts where a rank has more or fewer sources than destinations, and
/// its alltoallw in place moves wrong data unless it blocks. Open MPI multiplies displacements by
/// extents that are in bytes already where there is but one rank, and MPI_Ialltoallw takes the
/// array of types for one with as many elements as there are neighbours.
inline bool native_is_broken(Operation operation, const Place& place, bool in_place) {
    if (!mpich) { return operation == alltoallw && (place.size == 1 || place.has_neighbors); }
    return (operation == neighbor_alltoallw && !place.balanced) ||
           (operation == alltoallw && in_place);
}

/// What a call can go to: the native blocking operations.
struct Blocking {
    static int alltoall(auto... a) { return PMPI_Alltoall(a...); }
    static int alltoallv(auto... a) { return PMPI_Alltoallv(a...); }
    static int alltoallw(auto... a) { return PMPI_Alltoallw(a...); }
    static int neighbor_alltoall(auto... a) { return PMPI_Neighbor_alltoall(a...); }
    static int neighbor_alltoallv(auto... a) { return PMPI_Neighbor_alltoallv(a...); }
    static int neighbor_alltoallw(auto... a) { return PMPI_Neighbor_alltoallw(a...); }
    static int neighbor_allgather(auto... a) { return PMPI_Neighbor_allgather(a...); }
    static int neighbor_allgatherv(auto... a) { return PMPI_Neighbor_allgatherv(a...); }
};

/// Where both neighbours in a dimension are the same rank, nonblocking operations of Open MPI swap
/// the two messages, and blocking ones do not.
struct BlockingOnGrid : Blocking {
    static int neighbor_alltoall(auto... a) { return wait_for(PMPI_Ineighbor_alltoall, a...); }
    static int neighbor_alltoallv(auto... a) { return wait_for(PMPI_Ineighbor_alltoallv, a...); }
    static int neighbor_alltoallw(auto... a) { return wait_for(PMPI_Ineighbor_alltoallw, a...); }

  private:
    static int wait_for(auto begin, auto... arguments) {
        MPI_Request request = MPI_REQUEST_NULL;
        begin(arguments..., &request);
        return PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
};

struct Nonblocking {
    static int alltoall(auto... a) { return MPI_Ialltoall(a...); }
    static int alltoallv(auto... a) { return MPI_Ialltoallv(a...); }
    static int alltoallw(auto... a) { return MPI_Ialltoallw(a...); }
    static int neighbor_alltoall(auto... a) { return MPI_Ineighbor_alltoall(a...); }
    static int neighbor_alltoallv(auto... a) { return MPI_Ineighbor_alltoallv(a...); }
    static int neighbor_alltoallw(auto... a) { return MPI_Ineighbor_alltoallw(a...); }
    static int neighbor_allgather(auto... a) { return MPI_Ineighbor_allgather(a...); }
    static int neighbor_allgatherv(auto... a) { return MPI_Ineighbor_allgatherv(a...); }
};

#ifdef NODEAWARE_TEST_PERSISTENT
struct Persistent {
    static int alltoall(auto... a) { return NODEAWARE_TEST_PERSISTENT(Alltoall)(a...); }
    static int alltoallv(auto... a) { return NODEAWARE_TEST_PERSISTENT(Alltoallv)(a...); }
    static int alltoallw(auto... a) { return NODEAWARE_TEST_PERSISTENT(Alltoallw)(a...); }
    static int neighbor_alltoall(auto... a) {
        return NODEAWARE_TEST_PERSISTENT(Neighbor_alltoall)(a...);
    }
    static int neighbor_alltoallv(auto... a) {
        return NODEAWARE_TEST_PERSISTENT(Neighbor_alltoallv)(a...);
    }
    static int neighbor_alltoallw(auto... a) {
        return NODEAWARE_TEST_PERSISTENT(Neighbor_alltoallw)(a...);
    }
    static int neighbor_allgather(auto... a) {
        return NODEAWARE_TEST_PERSISTENT(Neighbor_allgather)(a...);
    }
    static int neighbor_allgatherv(auto... a) {
        return NODEAWARE_TEST_PERSISTENT(Neighbor_allgatherv)(a...);
    }
};
#endif

class Exchange {
  public:
    /// Ranks with equal generators draw matching exchanges.
    Exchange(Random& plan, const Place& place, const TestTypes& types, bool persistent)
        : place_(place), persistent_(persistent),
          operation_(static_cast<Operation>(
              draw(plan, 0, place.has_neighbors ? operations - 1 : alltoallw))),
          in_place_(draw(plan, 0, 3) == 0 && !is_neighborhood(operation_)),
          frees_types_(draw(plan, 0, 4) == 0 && !(persistent && freed_types_are_broken)),
          seed_(plan()) {
        if (draw(plan, 0, 11) == 0) { heavy_source_ = draw(plan, 0, place.size - 1); }
        heavy_destination_ = draw(plan, 0, place.size - 1);
        lay_out(types);
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    MPI_Request request = MPI_REQUEST_NULL;
    int last_segment = -1; ///< the part of the plan that started it last
    bool active = false;

    bool left_out() const { return native_is_broken(operation_, place_, in_place_); }
    bool persistent() const { return persistent_; }
    std::string name() const {
        return std::string(operation_names[operation_]) + (in_place_ ? " in place" : "") +
               (persistent_ ? ", persistent" : ", nonblocking") +
               (frees_types_ ? ", types freed" : "") + ", " + std::to_string(place_.size) +
               " ranks";
    }

    /// New contents in the same buffers, for the next start.
    void renew() {
        int next = place_.rank * 1000003 + 7919 * salt_++;
        for (int& value : sent_.memory) { value = next++; }
        for (int& value : received_.memory) { value = in_place_ ? next++ : Buffer::canary; }
        records_.push_back({sent_.memory, received_.memory, {}, false});
    }

    /// What the native blocking operation does with the data of all starts up to now.
    void refer() {
        for (Record& record : records_) {
            if (record.referred) { continue; }
            record.referred = true;
            if (place_.is_grid && !mpich) {
                call<BlockingOnGrid>(record.sent.data(), record.expected.data(), types_,
                                     place_.reference);
            } else {
                call<Blocking>(record.sent.data(), record.expected.data(), types_,
                               place_.reference);
            }
        }
    }

    void start_nonblocking(Harness& harness) {
        with_own_types([&] {
            const int code = call<Nonblocking>(sent_.memory.data(), received_.memory.data(),
                                               in_flight_, place_.comm, &request);
            harness.expect(code == MPI_SUCCESS, name() + ": error");
        });
    }

    void initialize([[maybe_unused]] Harness& harness) {
#ifdef NODEAWARE_TEST_PERSISTENT
        with_own_types([&] {
            const int code = call<Persistent>(sent_.memory.data(), received_.memory.data(),
                                              in_flight_, place_.comm, MPI_INFO_NULL, &request);
            harness.expect(code == MPI_SUCCESS && request != MPI_REQUEST_NULL, name() + ": error");
        });
#endif
    }

    /// To be called when MPI has said that the operation is complete. The buffers are the
    /// application's again: what others still read or write now would be found.
    void finish(Harness& harness) {
        active = false;
        harness.expect(request == MPI_REQUEST_NULL || persistent_, name() + ": request is left");
        harness.expect(request != MPI_REQUEST_NULL || !persistent_, name() + ": request is gone");
        Record& record = records_.back();
        harness.expect(record.sent == sent_.memory, name() + ": the send buffer was changed");
        record.result = received_.memory;
        std::fill(sent_.memory.begin(), sent_.memory.end(), reused);
        std::fill(received_.memory.begin(), received_.memory.end(), reused);
    }

    void verify(Harness& harness) {
        if (records_.empty()) { return; } // left out
        const auto untouched = [](int value) { return value == reused; };
        harness.expect(std::all_of(received_.memory.begin(), received_.memory.end(), untouched) &&
                           std::all_of(sent_.memory.begin(), sent_.memory.end(), untouched),
                       name() + ": a buffer was written to after completion");
        for (const Record& record : records_) { compare(harness, record); }
        records_.clear();
    }

  private:
    static constexpr int unit = 6; // messages are multiples of this many ints: fits all test types
    static constexpr int heavy = 4267 * unit; // 100 KB
    static constexpr int reused = 0x0ddba115;

    struct Handles {
        std::vector<MPI_Datatype> sent;
        std::vector<MPI_Datatype> received;
    };

    /// One start.
    struct Record {
        std::vector<int> sent;
        std::vector<int> expected; ///< what was there before, until the native operation is called
        std::vector<int> result;
        bool referred;
    };

    void lay_out(const TestTypes& types) {
        std::vector<int> out;
        std::vector<int> in;
        if (is_neighborhood(operation_)) {
            for (const int to : place_.destinations) { out.push_back(integers(place_.rank, to)); }
            for (const int from : place_.sources) { in.push_back(integers(from, place_.rank)); }
        } else {
            for (int peer = 0; peer < place_.size; ++peer) {
                out.push_back(integers(place_.rank, peer));
                in.push_back(integers(peer, place_.rank));
            }
        }
        if (is_allgather(operation_)) { out.assign(1, integers(place_.rank, 0)); }
        // Buffers differ from rank to rank.
        Random own(seed_ + 7 * static_cast<uint64_t>(place_.rank));
        const bool uniform = is_uniform(operation_);
        sent_.lay_out(own, types, out, !is_w(operation_), uniform || is_allgather(operation_));
        received_.lay_out(own, types, in, !is_w(operation_), uniform);
        // Open MPI takes a count of 0 for a sign that nobody has anything to do, even from ranks
        // without neighbours.
        if (uniform && out.empty()) { sent_.counts[0] = integers(0, 0); }
        if (uniform && in.empty()) { received_.counts[0] = integers(0, 0); }
        sent_at_ = sent_.displacements(is_w(operation_));
        received_at_ = received_.displacements(is_w(operation_));
        sent_address_ = sent_.addresses();
        received_address_ = received_.addresses();
        types_ = {sent_.handles(), received_.handles()};
    }

    /// Ints that go from `source` to `destination`; the same on all ranks, and for all messages
    /// between the two. In place, a rank gets from another as much as it sends there.
    int integers(int source, int destination) const {
        const bool uniform = is_uniform(operation_);
        if (is_allgather(operation_)) { destination = 0; }
        if (uniform || source < 0) { source = destination = 0; }
        if (in_place_ && source > destination) { std::swap(source, destination); }
        if (!uniform && source == heavy_source_ &&
            (destination == heavy_destination_ || is_allgather(operation_))) {
            return heavy;
        }
        Random random(seed_ + static_cast<uint64_t>(source) * 4099 +
                      static_cast<uint64_t>(destination) * 13);
        random.discard(3);
        const int kind = draw(random, 0, 29);
        if (kind < 10) { return in_place_ && zero_in_place_is_broken ? unit : 0; }
        return unit * (kind < 28 ? draw(random, 1, 4) : draw(random, 1, 60));
    }

    /// A datatype may be freed as soon as an operation that uses it is started. The arrays must
    /// stay as they are.
    template <class Start> void with_own_types(Start start) {
        in_flight_ = types_;
        std::vector<MPI_Datatype> copies;
        for (auto* list : {&in_flight_.sent, &in_flight_.received}) {
            if (!frees_types_) { continue; }
            for (MPI_Datatype& type : *list) {
                PMPI_Type_dup(type, &type);
                copies.push_back(type);
            }
        }
        start();
        for (MPI_Datatype& type : copies) { MPI_Type_free(&type); }
    }

    /// The tail is what blocking, nonblocking and persistent operations have different: all behind
    /// the buffers.
    template <class Functions, class... Tail>
    int call(const void* sent, void* to, const Handles& types, Tail... tail) const {
        const void* from = in_place_ ? MPI_IN_PLACE : sent;
        const int* sent_counts = sent_.counts.data();
        const int* received_counts = received_.counts.data();
        const int* sent_at = sent_at_.data();
        const int* received_at = received_at_.data();
        const MPI_Datatype* sent_types = types.sent.data();
        const MPI_Datatype* received_types = types.received.data();
        switch (operation_) {
        case alltoall:
            return Functions::alltoall(from, *sent_counts, *sent_types, to, *received_counts,
                                       *received_types, tail...);
        case alltoallv:
            return Functions::alltoallv(from, sent_counts, sent_at, *sent_types, to,
                                        received_counts, received_at, *received_types, tail...);
        case alltoallw:
            return Functions::alltoallw(from, sent_counts, sent_at, sent_types, to, received_counts,
                                        received_at, received_types, tail...);
        case neighbor_alltoall:
            return Functions::neighbor_alltoall(from, *sent_counts, *sent_types, to,
                                                *received_counts, *received_types, tail...);
        case neighbor_alltoallv:
            return Functions::neighbor_alltoallv(from, sent_counts, sent_at, *sent_types, to,
                                                 received_counts, received_at, *received_types,
                                                 tail...);
        case neighbor_alltoallw:
            return Functions::neighbor_alltoallw(from, sent_counts, sent_address_.data(),
                                                 sent_types, to, received_counts,
                                                 received_address_.data(), received_types, tail...);
        case neighbor_allgather:
            return Functions::neighbor_allgather(from, *sent_counts, *sent_types, to,
                                                 *received_counts, *received_types, tail...);
        default:
            return Functions::neighbor_allgatherv(from, *sent_counts, *sent_types, to,
                                                  received_counts, received_at, *received_types,
                                                  tail...);
        }
    }

    void compare(Harness& harness, const Record& record) const {
        if (record.expected == record.result) { return; }
        const auto [right, wrong] = std::mismatch(record.expected.begin(), record.expected.end(),
                                                  record.result.begin(), record.result.end());
        harness.expect(false, name() + ": int " + std::to_string(right - record.expected.begin()) +
                                  " of " + std::to_string(record.expected.size()) + " is " +
                                  std::to_string(*wrong) + ", should be " + std::to_string(*right));
    }

    const Place place_;
    const bool persistent_;
    const Operation operation_;
    const bool in_place_;
    const bool frees_types_;
    const uint64_t seed_;
    int heavy_source_ = -2;
    int heavy_destination_ = 0;
    int salt_ = 0;
    Buffer sent_;
    Buffer received_;
    std::vector<int> sent_at_;
    std::vector<int> received_at_;
    std::vector<MPI_Aint> sent_address_;
    std::vector<MPI_Aint> received_address_;
    Handles types_;
    Handles in_flight_; ///< what the started operation was given
    std::vector<Record> records_;
};

} // namespace nodeaware::test
