// Messages with gaps from and to memory of devices: what arrives is what MPI has from and to memory
// of the host, and nothing between is written. Where kernels copy, it takes few submissions.
//
// gaps_test [kernels|turns|on_trial|repeated]: whether kernels are to be used, or only where that
// pays although processes take turns on a device, or once in each context and never again;
// `repeated`: instead, two datatypes in turn, of which the second may have the handle that the
// first one had, each with three numbers of elements, and again and again.

#include "tests/mpi/device/case.hpp"
#include "tests/mpi/device/gaps.hpp"

#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

bool are_kernels_wanted = false;
bool is_reset = false;
std::uint64_t in_all = 0; ///< kernels

/// One message to each rank and from each.
struct Messages {
    const Gaps& gaps;
    std::size_t slot = 0; ///< ints for each
    std::vector<int> counts, places;
    std::vector<MPI_Datatype> types;

    explicit Messages(const Gaps& of) : gaps(of) {
        const auto [first, end] = gaps.bounds();
        slot = static_cast<std::size_t>(end - first) / sizeof(int) + 3;
        for (int peer = 0; peer < ranks; ++peer) {
            const auto begin = static_cast<std::size_t>(peer) * slot * sizeof(int);
            counts.push_back((rank + peer) % 5 == 4 ? 0 : gaps.count);
            places.push_back(static_cast<int>(begin) - static_cast<int>(first));
            types.push_back(gaps.type);
        }
    }
    std::size_t length() const { return slot * static_cast<std::size_t>(ranks); }
    std::vector<int> sent() const {
        std::vector<int> content(length());
        for (std::size_t i = 0; i < content.size(); ++i) {
            content[i] = static_cast<int>(i * 2654435761U) ^ (rank * 77773);
        }
        return content;
    }
    template <class Exchange> int exchange(Exchange call, const void* from, void* to) const {
        return call(from, counts.data(), places.data(), types.data(), to, counts.data(),
                    places.data(), types.data(), MPI_COMM_WORLD);
    }
};

bool is_plain(Kind kind) { return kind == Kind::device || kind == Kind::other_device; }

void exchange(const Gaps& gaps, const Form& form) {
    const Messages messages(gaps);
    const std::vector<int> sent = messages.sent();
    std::vector<int> expected(messages.length(), -9);
    const Array source(form.from, messages.length());
    const Array target(form.to, messages.length());
    source.write(sent);
    target.write(expected);
    messages.exchange(PMPI_Alltoallw, sent.data(), expected.data());
    const StandInCounts before = stand_in_counts();
    const std::string name = gaps.name + ", " + std::to_string(static_cast<int>(form.from)) +
                             " to " + std::to_string(static_cast<int>(form.to)) +
                             (form.is_nonblocking ? ", nonblocking" : "");
    if (form.is_nonblocking) {
        MPI_Request request = MPI_REQUEST_NULL;
        int code = MPI_SUCCESS;
        call("MPI_Ialltoallw", [&] {
            return code = messages.exchange(
                       [&](auto... arguments) { return MPI_Ialltoallw(arguments..., &request); },
                       source.data(), target.data());
        });
        finish(request, code, "MPI_Wait");
    } else {
        call("MPI_Alltoallw",
             [&] { return messages.exchange(MPI_Alltoallw, source.data(), target.data()); });
    }
    const StandInCounts after = stand_in_counts();
    const char* const kernels = std::getenv("GPU_STAND_IN_KERNELS");
    const bool is_old = kernels != nullptr && std::strcmp(kernels, "old") == 0;
    // An old driver does not tell that the context in which memory was pinned is another one.
    if (!is_reset || !is_old) { require_clean(before); }
    require(target.read() == expected, name + ": wrong bytes");
    require(source.read() == sent, name + ": what is sent has changed");
    const std::uint64_t launches = after.launches - before.launches;
    in_all += launches;
    if (!are_kernels_wanted || is_reset || !is_plain(form.from) || !is_plain(form.to) ||
        !gaps.is_scattered) {
        return;
    }
    require(launches > 0, name + ": no kernel");
    const std::uint64_t submissions = launches + after.copies - before.copies;
    require(submissions <= 4 * static_cast<std::uint64_t>(ranks) + 2,
            name + ": " + std::to_string(submissions) + " submissions");
}

void run_all(const std::vector<Gaps>& all) {
    constexpr std::array forms = {
        Form{Kind::device, Kind::device},          Form{Kind::device, Kind::other_device, true},
        Form{Kind::other_device, Kind::host},      Form{Kind::host, Kind::device, true},
        Form{Kind::managed, Kind::device},         Form{Kind::device, Kind::pool},
        Form{Kind::other_device, Kind::device},    Form{Kind::device, Kind::device, true},
        Form{Kind::pool, Kind::other_device, true}};
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t k = 0; k < 3; ++k) { exchange(all[i], forms[(3 * i + k) % forms.size()]); }
        exchange(all[i], forms[i % 2]);
    }
}

void repeat() {
    for (const int stride : {3, 4}) {
        Gaps gaps{"repeated"};
        MPI_Type_vector(1000, 1, stride, MPI_INT, &gaps.type);
        MPI_Type_commit(&gaps.type);
        for (const int time : {0, 1, 2}) {
            for (const int count : {40, 1, 2}) {
                gaps.count = count;
                exchange(gaps, {Kind::device, Kind::device, (time + count) % 2 == 0});
            }
        }
        MPI_Type_free(&gaps.type);
    }
}

/// Rows that would be one copy, but for the parts in which the arena is pinned: wherever these end,
/// there are few copies more. Beside them are messages of so many ints.
void rows_among_others(MPI_Datatype rows, int others) {
    constexpr int stride = 12;
    constexpr int count = 6000;
    const int slot = std::max(stride * count, others);
    const auto length = static_cast<std::size_t>(slot) * static_cast<std::size_t>(ranks);
    std::vector<int> places, send_counts, receive_counts;
    std::vector<MPI_Datatype> send_types, receive_types;
    for (int peer = 0; peer < ranks; ++peer) {
        const bool is_sent = (rank + 2 * peer) % 3 == 0;
        const bool is_received = (peer + 2 * rank) % 3 == 0;
        places.push_back(peer * slot * static_cast<int>(sizeof(int)));
        send_counts.push_back(is_sent ? 1 : others);
        receive_counts.push_back(is_received ? 1 : others);
        send_types.push_back(is_sent ? rows : MPI_INT);
        receive_types.push_back(is_received ? rows : MPI_INT);
    }
    std::vector<int> sent(length), expected(length, -9);
    for (std::size_t i = 0; i < length; ++i) { sent[i] = static_cast<int>(i) ^ (rank << 24); }
    const Array source(Kind::device, length);
    const Array target(Kind::device, length);
    source.write(sent);
    target.write(expected);
    const auto exchange = [&](auto alltoallw, const int* from, int* to) {
        return alltoallw(from, send_counts.data(), places.data(), send_types.data(), to,
                         receive_counts.data(), places.data(), receive_types.data(),
                         MPI_COMM_WORLD);
    };
    exchange(PMPI_Alltoallw, sent.data(), expected.data());
    const StandInCounts before = stand_in_counts();
    call("MPI_Alltoallw of rows",
         [&] { return exchange(MPI_Alltoallw, source.data(), target.data()); });
    const StandInCounts after = stand_in_counts();
    const std::string name = "rows among messages of " + std::to_string(others);
    require(after.copies - before.copies <= 100, name + ": too many copies");
    require(target.read() == expected, name + ": wrong bytes");
}

void rows_among_others() {
    MPI_Datatype rows = MPI_DATATYPE_NULL;
    MPI_Type_vector(6000, 8, 12, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    for (int others = 368000; others < 410000; others += 7000) { rows_among_others(rows, others); }
    MPI_Type_free(&rows);
}

void release_devices() {
    for (int device = 0; device < 2; ++device) {
        driver_must(cuDevicePrimaryCtxRelease(device), "context");
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "";
    are_kernels_wanted = how == "kernels";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    use_devices();
    if (how == "repeated") {
        repeat();
        MPI_Finalize();
        return wrong + errors;
    }
    std::vector<Gaps> all = make_gaps();
    run_all(all);
    if (how == "turns") { rows_among_others(); }
    // What was loaded is gone with the contexts, and is not used in those that follow.
    const auto modules = stand_in_counts().modules;
    require(!are_kernels_wanted || modules == 2, "not loaded once in each context");
    require(!are_kernels_wanted || stand_in_counts().streams == 4,
            "not a stream for each direction");
    cuCtxSetCurrent(nullptr);
    release_devices();
    require(stand_in_counts().modules == 0, "contexts are retained");
    use_devices();
    is_reset = true;
    exchange(all.front(), {Kind::device, Kind::device});
    exchange(all.front(), {Kind::device, Kind::other_device, true});
    // Of both devices, and perhaps of their contexts that were made anew.
    const bool is_on_trial = how == "on_trial";
    const bool are_some_wanted = how == "turns";
    require(are_kernels_wanted || are_some_wanted ||
                (in_all >= (is_on_trial ? 2 : 0) && in_all <= (is_on_trial ? 4 : 0)),
            std::to_string(in_all) + " kernels");
    for (Gaps& gaps : all) { MPI_Type_free(&gaps.type); }
    std::array<int, 2> mine = {wrong, errors};
    std::array<int, 2> sums{};
    MPI_Allreduce(mine.data(), sums.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    cuCtxSetCurrent(nullptr);
    MPI_Finalize();
    if (stand_in_counts().modules + stand_in_counts().streams != 0) {
        std::printf("rank %d: modules or streams are left\n", rank);
        sums[0] = 1;
    }
    return sums[0] + sums[1] == 0 ? 0 : 1;
}
