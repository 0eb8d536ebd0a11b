// Datatypes that few programs have: elements that overlap, no members at all, attributes whose
// functions are the application's own. By exchanges of all kinds and from point to point.

#include "tests/mpi/harness.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace nodeaware::test {

namespace {

constexpr size_t room = 64; ///< ints for each peer

/// What is sent to each and what it is received as; `expected` are the places of the ints that
/// arrive, one after the other.
struct Kind {
    std::string name;
    MPI_Datatype sent = MPI_DATATYPE_NULL;
    MPI_Datatype received = MPI_DATATYPE_NULL;
    int received_count = 1;
    std::vector<size_t> expected;
    size_t stride = 1; ///< between those that arrive
};

/// Two ints each, which begin where the second of the last one lies; of a grid of them the upper
/// left part: as many bytes as there are from the first to the last, but not those.
Kind overlapping() {
    Kind kind{"overlapping", {}, MPI_INT, 8, {0, 1, 1, 2, 5, 6, 6, 7}};
    MPI_Datatype two = MPI_DATATYPE_NULL;
    MPI_Datatype element = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, sizeof(int), &element);
    const std::array sizes = {2, 5};
    const std::array parts = {2, 2};
    const std::array starts = {0, 0};
    MPI_Type_create_subarray(2, sizes.data(), parts.data(), starts.data(), MPI_ORDER_C, element,
                             &kind.sent);
    MPI_Type_commit(&kind.sent);
    MPI_Type_free(&element);
    MPI_Type_free(&two);
    return kind;
}

MPI_Datatype nothing() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(0, nullptr, nullptr, nullptr, &type);
    return type;
}

Kind without_members() {
    Kind kind{"without members", nothing(), nothing(), 1, {}};
    MPI_Type_commit(&kind.sent);
    MPI_Type_commit(&kind.received);
    return kind;
}

Kind with_a_part_without_members() {
    Kind kind{"a part without members", {}, MPI_INT, 1, {0}};
    const std::array lengths = {1, 1};
    const std::array<MPI_Aint, 2> places = {0, 0};
    std::array types = {nothing(), MPI_INT};
    MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &kind.sent);
    MPI_Type_commit(&kind.sent);
    MPI_Type_free(types.data());
    return kind;
}

int calls = 0; ///< of functions of attributes

int refuse_copy(MPI_Datatype /*type*/, int /*key*/, void* /*extra*/, void* /*value*/,
                void* /*copy*/, int* flag) {
    ++calls;
    *flag = 0;
    return MPI_ERR_OTHER;
}

int note_delete(MPI_Datatype /*type*/, int /*key*/, void* /*value*/, void* /*extra*/) {
    ++calls;
    return MPI_SUCCESS;
}

Kind with_attributes() {
    Kind kind{"attributes", {}, {}, 1, {0, 2, 4}, 2};
    int key = MPI_KEYVAL_INVALID;
    MPI_Type_create_keyval(refuse_copy, note_delete, &key, nullptr);
    for (MPI_Datatype* type : {&kind.sent, &kind.received}) {
        MPI_Type_vector(3, 1, 2, MPI_INT, type);
        MPI_Type_commit(type);
        MPI_Type_set_attr(*type, key, nullptr);
    }
    return kind;
}

#ifdef NODEAWARE_MPI_LARGE_COUNTS
/// One within another, which is of the other kind.
Kind with_large_counts() {
    Kind kind{"large counts", {}, {}, 1, {0, 2, 4}, 2};
    for (MPI_Datatype* type : {&kind.sent, &kind.received}) {
        MPI_Datatype large = MPI_DATATYPE_NULL;
        MPI_Type_vector_c(3, 1, 2, MPI_INT, &large);
        MPI_Type_contiguous(1, large, type);
        MPI_Type_commit(type);
        MPI_Type_free(&large);
    }
    return kind;
}

Kind of_large_counts() {
    Kind kind{"a row of a large count", {}, MPI_INT, 3, {0, 1, 2}};
    MPI_Type_contiguous_c(3, MPI_INT, &kind.sent);
    MPI_Type_commit(&kind.sent);
    return kind;
}
#endif

class Program {
  public:
    explicit Program(Harness& harness) : harness_(harness), ranks_(harness.size()) {
        const size_t length = room * static_cast<size_t>(ranks_);
        sent_.resize(length);
        for (size_t i = 0; i < length; ++i) {
            sent_[i] = harness.rank() * 100000 + static_cast<int>(i);
        }
        for (int peer = 0; peer < ranks_; ++peer) {
            places_.push_back(static_cast<int>(room * sizeof(int)) * peer);
        }
    }

    void run(const Kind& kind) {
        const std::vector<int> ones(places_.size(), 1);
        const std::vector<int> counts(places_.size(), kind.received_count);
        const std::vector<MPI_Datatype> out(places_.size(), kind.sent);
        const std::vector<MPI_Datatype> in(places_.size(), kind.received);
        check(kind, "alltoallw", [&] {
            MPI_Alltoallw(sent_.data(), ones.data(), places_.data(), out.data(), received_.data(),
                          counts.data(), places_.data(), in.data(), MPI_COMM_WORLD);
        });
        check(kind, "ialltoallw", [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Ialltoallw(sent_.data(), ones.data(), places_.data(), out.data(), received_.data(),
                           counts.data(), places_.data(), in.data(), MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        });
        std::vector<MPI_Request> persistent = make_persistent(kind);
        for (int round = 0; round < 40; ++round) { // some before messages travel together
            check(kind, "isend", [&] { exchange(kind); });
            check(kind, "persistent", [&] { start(persistent); });
        }
        for (MPI_Request& request : persistent) { MPI_Request_free(&request); }
    }

  private:
    void check(const Kind& kind, const char* how, const std::function<void()>& call) {
        received_.assign(sent_.size(), -1);
        call();
        std::vector<int> expected(sent_.size(), -1);
        for (int peer = 0; peer < ranks_; ++peer) {
            const int first = peer * 100000 + harness_.rank() * static_cast<int>(room);
            size_t at = room * static_cast<size_t>(peer);
            for (const size_t place : kind.expected) {
                expected[at] = first + static_cast<int>(place);
                at += kind.stride;
            }
        }
        harness_.expect(received_ == expected, kind.name + ", " + how);
        harness_.expect(calls == 0, kind.name + ", " + how + ": attributes were looked at");
    }

    int* of(std::vector<int>& ints, int peer) { return &ints[room * static_cast<size_t>(peer)]; }

    void exchange(const Kind& kind) {
        std::vector<MPI_Request> requests(2 * places_.size());
        for (int peer = 0; peer < ranks_; ++peer) {
            MPI_Irecv(of(received_, peer), kind.received_count, kind.received, peer, 3,
                      MPI_COMM_WORLD, &requests[2 * static_cast<size_t>(peer)]);
        }
        for (int peer = 0; peer < ranks_; ++peer) {
            MPI_Isend(of(sent_, peer), 1, kind.sent, peer, 3, MPI_COMM_WORLD,
                      &requests[2 * static_cast<size_t>(peer) + 1]);
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }

    std::vector<MPI_Request> make_persistent(const Kind& kind) {
        received_.assign(sent_.size(), -1);
        std::vector<MPI_Request> requests(2 * places_.size());
        for (int peer = 0; peer < ranks_; ++peer) {
            MPI_Recv_init(of(received_, peer), kind.received_count, kind.received, peer, 4,
                          MPI_COMM_WORLD, &requests[2 * static_cast<size_t>(peer)]);
            MPI_Send_init(of(sent_, peer), 1, kind.sent, peer, 4, MPI_COMM_WORLD,
                          &requests[2 * static_cast<size_t>(peer) + 1]);
        }
        return requests;
    }

    static void start(std::vector<MPI_Request>& requests) {
        MPI_Startall(static_cast<int>(requests.size()), requests.data());
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }

    Harness& harness_;
    int ranks_;
    std::vector<int> sent_, received_, places_;
};

} // namespace

} // namespace nodeaware::test

int main(int argc, char** argv) {
    using namespace nodeaware::test;
    Harness harness(&argc, &argv);
    Program program(harness);
    std::vector<Kind> kinds = {overlapping(), without_members(), with_a_part_without_members()};
#ifdef NODEAWARE_MPI_LARGE_COUNTS
    kinds.push_back(with_large_counts());
    kinds.push_back(of_large_counts());
#endif
    kinds.push_back(with_attributes()); // last: it counts what becomes of them
    for (Kind& kind : kinds) {
        program.run(kind);
        for (MPI_Datatype* type : {&kind.sent, &kind.received}) {
            if (*type != MPI_INT) { MPI_Type_free(type); }
        }
    }
    return harness.finish();
}
