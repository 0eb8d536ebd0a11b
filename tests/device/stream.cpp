// Copies that happen late: at the end of the stream that somebody waits for, or of an event. An
// event is ready when it has been asked for some times, which dice tell. A copy from or to memory
// of the host that is partly pinned, or pinned in two parts, is refused.

#include "tests/device/stream.hpp"

#include "tests/device/copy_engine.hpp"
#include "tests/device/driver_function.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

/// By their beginnings; there until the process has ended, as what is pinned may be.
std::map<const char*, std::size_t>& pinned() {
    static auto* const all = new std::map<const char*, std::size_t>;
    return *all;
}

std::set<std::uintptr_t>& created_streams() {
    static auto* const all = new std::set<std::uintptr_t>;
    return *all;
}

enum class Reach { none, all, part };

/// How much of it lies in what was pinned at once.
Reach reach_of(const char* begin, std::size_t bytes) {
    const char* const end = begin + bytes;
    auto next = pinned().lower_bound(begin + 1);
    if (next != pinned().begin()) {
        const auto& [first, length] = *std::prev(next);
        if (end <= first + length) { return Reach::all; }
        if (begin < first + length) { return Reach::part; }
    }
    return next != pinned().end() && next->first < end ? Reach::part : Reach::none;
}

struct Copy {
    std::size_t direction = 0;
    char* to = nullptr;
    const char* from = nullptr; ///< nullptr: `read`
    std::size_t bytes = 0;
    std::vector<char> read; ///< of a source that is not pinned
};
std::deque<Copy> under_way;
std::uint64_t begun = 0; ///< copies of all times
std::uint64_t ended = 0;

struct Event {
    void* context = nullptr;
    std::uint64_t copies = 0; ///< that had begun when it was recorded
    int asked_in_vain = 0;    ///< times left
};
std::map<void*, Event>& events() {
    static auto* const all = new std::map<void*, Event>;
    return *all;
}

/// The event, if this thread may use it.
Event* find_event(void* event) {
    const auto found = events().find(event);
    const bool is_usable = found != events().end() && found->second.context == current_context();
    return is_usable ? &found->second : nullptr;
}

int draw_times() {
    static std::mt19937 random = [] {
        const char* const seed = std::getenv("GPU_STAND_IN_SEED");
        const char* const rank = rank_of_this();
        return std::mt19937(static_cast<unsigned>((seed != nullptr ? std::atoi(seed) : 1) * 1000 +
                                                  (rank != nullptr ? std::atoi(rank) : 0)));
    }();
    return std::uniform_int_distribution<int>(0, 5)(random);
}

void end_copies_up_to(std::uint64_t last) {
    for (; ended < last; ++ended) {
        const Copy& copy = under_way.front();
        const char* const from = copy.from != nullptr ? copy.from : copy.read.data();
        copy_as_a_device(copy.direction, copy.to, from, copy.bytes);
        under_way.pop_front();
    }
}

} // namespace

bool is_a_stream(const void* stream) {
    constexpr std::uintptr_t stream_of_thread = 2;
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    return number == 0 || number == stream_of_thread || created_streams().contains(number);
}

DRIVER cuStreamCreate(void** stream, unsigned flags) {
    static std::uintptr_t next = 0x1000;
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr || flags > 1) { return invalid_value; }
    created_streams().insert(++next);
    *stream = reinterpret_cast<void*>(next);
    return success;
}
DRIVER cuStreamDestroy_v2(void* stream) {
    const std::lock_guard lock(driver_mutex());
    const bool was_there = created_streams().erase(reinterpret_cast<std::uintptr_t>(stream)) == 1;
    return was_there ? success : invalid_value;
}

int begin_copy(std::size_t direction, char* to, const char* from, std::size_t bytes) {
    const bool is_to_device = direction == 0;
    const Reach reach =
        direction == within_device ? Reach::all : reach_of(is_to_device ? from : to, bytes);
    if (reach == Reach::part) { return invalid_value; }
    Copy copy{direction, to, from, bytes, {}};
    if (reach == Reach::none) {
        ++counts().unpinned;
        if (is_to_device) {
            copy.read.assign(from, from + bytes);
            copy.from = nullptr;
        }
    }
    under_way.push_back(std::move(copy));
    ++begun;
    std::memset(to, 0xab, bytes);
    return success;
}

void end_copies() { end_copies_up_to(begun); }

DRIVER cuStreamSynchronize(void* stream) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr || !is_a_stream(stream)) { return invalid_context; }
    end_copies();
    return success;
}
DRIVER cuEventCreate(void** event, unsigned /*flags*/) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    *event = new char;
    events()[*event] = {current_context(), begun, 0};
    return success;
}
DRIVER cuEventRecord(void* event, void* stream) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    Event* const found = find_event(event);
    if (found == nullptr || !is_a_stream(stream)) { return invalid_handle; }
    found->copies = begun;
    found->asked_in_vain = draw_times();
    return success;
}
DRIVER cuEventQuery(void* event) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    Event* const found = find_event(event);
    if (found == nullptr) { return invalid_handle; }
    if (found->asked_in_vain-- > 0) { return not_ready; }
    end_copies_up_to(found->copies);
    return success;
}
DRIVER cuEventSynchronize(void* event) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    const Event* const found = find_event(event);
    if (found == nullptr) { return invalid_handle; }
    end_copies_up_to(found->copies);
    return success;
}
DRIVER cuEventDestroy_v2(void* event) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (find_event(event) == nullptr) { return invalid_handle; }
    events().erase(event);
    delete static_cast<char*>(event);
    return success;
}
DRIVER cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned /*flags*/) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    const auto* const begin = static_cast<const char*>(memory);
    if (reach_of(begin, bytes) != Reach::none) {
        ++counts().pinned_again;
        return already_pinned;
    }
    pinned()[begin] = bytes;
    return success;
}
DRIVER cuMemHostUnregister(void* memory) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    end_copies();
    return pinned().erase(static_cast<const char*>(memory)) > 0 ? success : not_pinned;
}

std::mutex& driver_mutex() {
    static std::mutex mutex;
    return mutex;
}

StandInCounts& counts() {
    static StandInCounts all{};
    return all;
}

extern "C" __attribute__((visibility("default"))) StandInCounts stand_in_counts() {
    const std::lock_guard lock(driver_mutex());
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    StandInCounts now = counts();
    now.under_way = under_way.size();
    now.events = events().size();
    now.pinned = pinned().size();
    for (const auto& [begin, bytes] : pinned()) {
        const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
        const std::size_t length = reinterpret_cast<std::uintptr_t>(begin) + bytes - first;
        std::vector<unsigned char> pages((length + page - 1) / page);
        const bool is_there = mincore(reinterpret_cast<void*>(first), length, pages.data()) == 0;
        now.pinned_and_gone += is_there ? 0 : 1;
    }
    return now;
}
