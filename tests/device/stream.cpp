// Copies that happen late: at the end of the stream that somebody waits for, or of an event. An
// event is ready when it has been asked for some times, which dice tell. Streams know nothing of
// each other, and every thread has one of its own in every context. A copy from or to memory of the
// host that is partly pinned, or pinned in two parts, is refused; one with memory that is not
// pinned may be over at once, or as late as others: machines differ.

#include "tests/device/stream.hpp"

#include "tests/device/contexts.hpp"
#include "tests/device/copy_engine.hpp"
#include "tests/device/driver_function.hpp"
#include "tests/device/pinned.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace {

constexpr std::uintptr_t stream_of_thread = 2;

std::set<std::uintptr_t>& created_streams() {
    static auto* const all = new std::set<std::uintptr_t>;
    return *all;
}

struct Copy {
    std::size_t direction = 0;
    char* to = nullptr;
    const char* from = nullptr; ///< nullptr: `read`
    std::size_t bytes = 0;
    std::vector<char> read;     ///< of a source that is not pinned
    std::function<void()> work; ///< instead of all that: of a kernel
    std::function<bool(const char*, std::size_t)> touches;
};
struct Stream {
    std::deque<Copy> under_way;
    std::uint64_t begun = 0; ///< copies of all times
    std::uint64_t ended = 0;
};
using Name = std::pair<std::uintptr_t, void*>; ///< and its context
std::map<Name, Stream>& streams() {
    static auto* const all = new std::map<Name, Stream>;
    return *all;
}

/// Of the handle, as this thread means it.
Stream& find_stream(const void* handle) {
    static thread_local const char thread = 0;
    const bool is_of_thread = reinterpret_cast<std::uintptr_t>(handle) == stream_of_thread;
    const void* const name = is_of_thread ? &thread : handle;
    return streams()[{reinterpret_cast<std::uintptr_t>(name), current_context()}];
}

struct Event {
    void* context = nullptr;
    Stream* stream = nullptr; ///< nullptr: it has not been recorded
    std::uint64_t copies = 0; ///< that had begun there by then
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

/// A number from 0 to `most`.
int throw_dice(int most) {
    static std::mt19937 random = [] {
        const char* const seed = std::getenv("GPU_STAND_IN_SEED");
        const char* const rank = rank_of_this();
        return std::mt19937(static_cast<unsigned>((seed != nullptr ? std::atoi(seed) : 1) * 1000 +
                                                  (rank != nullptr ? std::atoi(rank) : 0)));
    }();
    return std::uniform_int_distribution<int>(0, most)(random);
}

void run(const Copy& copy) {
    if (copy.work) { return copy.work(); }
    const char* const from = copy.from != nullptr ? copy.from : copy.read.data();
    copy_as_a_device(copy.direction, copy.to, from, copy.bytes);
}

void end_copies_up_to(Stream& stream, std::uint64_t last) {
    for (; stream.ended < last; ++stream.ended) {
        run(stream.under_way.front());
        stream.under_way.pop_front();
    }
}

void end_copies(const Event& event) {
    if (event.stream != nullptr) { end_copies_up_to(*event.stream, event.copies); }
}

bool meet(const char* begin, std::size_t bytes, const char* other, std::size_t others) {
    return begin < other + others && other < begin + bytes;
}

} // namespace

bool is_a_stream(const void* stream) {
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

int begin_copy(void* stream, std::size_t direction, char* to, const char* from, std::size_t bytes) {
    const bool is_to_device = direction == 0;
    const Reach reach =
        direction == within_device ? Reach::all : reach_of(is_to_device ? from : to, bytes);
    if (reach == Reach::part) { return invalid_value; }
    Copy copy{direction, to, from, bytes, {}, {}, {}};
    const bool is_unpinned = reach == Reach::none;
    counts().unpinned += is_unpinned ? 1 : 0;
    const bool is_at_once = is_unpinned && throw_dice(1) == 0;
    Stream& of = find_stream(stream);
    if (is_at_once && is_to_device) {
        copy.read.assign(from, from + bytes);
        copy.from = nullptr;
    }
    std::memset(to, 0xab, bytes);
    of.under_way.push_back(std::move(copy));
    ++of.begun;
    if (is_at_once && !is_to_device) { end_copies_up_to(of, of.begun); }
    return success;
}

void begin_work(void* stream, std::function<void()> work,
                std::function<bool(const char*, std::size_t)> touches) {
    Copy copy;
    copy.work = std::move(work);
    copy.touches = std::move(touches);
    Stream& of = find_stream(stream);
    of.under_way.push_back(std::move(copy));
    ++of.begun;
}

void end_copies() {
    for (auto& [name, stream] : streams()) { end_copies_up_to(stream, stream.begun); }
}

bool is_being_copied(const char* begin, std::size_t bytes) {
    for (const auto& [name, stream] : streams()) {
        for (const Copy& copy : stream.under_way) {
            if (copy.touches && copy.touches(begin, bytes)) { return true; }
            const bool is_read = copy.from != nullptr && meet(copy.from, copy.bytes, begin, bytes);
            if (is_read || meet(copy.to, copy.bytes, begin, bytes)) { return true; }
        }
    }
    return false;
}

void count_streams(StandInCounts& counts) {
    counts.events = events().size();
    for (const auto& [name, stream] : streams()) { counts.under_way += stream.under_way.size(); }
}

void forget_copies(const Context* context) {
    std::erase_if(events(), [&](const auto& one) { return one.second.context == context; });
    std::erase_if(streams(), [&](const auto& one) { return one.first.second == context; });
}

DRIVER cuStreamSynchronize(void* stream) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr || !is_a_stream(stream)) { return invalid_context; }
    Stream& found = find_stream(stream);
    end_copies_up_to(found, found.begun);
    return success;
}
DRIVER cuEventCreate(void** event, unsigned /*flags*/) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    *event = new char;
    events()[*event] = {current_context(), nullptr, 0, 0};
    return success;
}
DRIVER cuEventRecord(void* event, void* stream) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    Event* const found = find_event(event);
    if (found == nullptr || !is_a_stream(stream)) { return invalid_handle; }
    found->stream = &find_stream(stream);
    found->copies = found->stream->begun;
    found->asked_in_vain = throw_dice(5);
    return success;
}
DRIVER cuEventQuery(void* event) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    Event* const found = find_event(event);
    if (found == nullptr) { return invalid_handle; }
    if (found->asked_in_vain-- > 0) { return not_ready; }
    end_copies(*found);
    return success;
}
DRIVER cuEventSynchronize(void* event) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    const Event* const found = find_event(event);
    if (found == nullptr) { return invalid_handle; }
    end_copies(*found);
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
std::mutex& driver_mutex() {
    static std::mutex mutex;
    return mutex;
}

StandInCounts& counts() {
    static StandInCounts all{};
    return all;
}
