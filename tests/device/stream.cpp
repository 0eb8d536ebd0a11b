// Copies that happen late: at the end of the stream that somebody waits for, or of an event. An
// event is ready when it has been asked for some times, which dice tell; where copies take time,
// when that is over. Streams know nothing of each other unless they are told to wait for an event,
// and every thread has one of its own in every context, which follows the default one. A copy from
// or to memory of the host that is partly pinned, or pinned in two parts, is refused; one with
// memory that is not pinned may be over at once, or as late as others: machines differ.

#include "tests/device/stream.hpp"

#include "tests/device/contexts.hpp"
#include "tests/device/copy_engine.hpp"
#include "tests/device/driver_function.hpp"
#include "tests/device/pinned.hpp"
#include "tests/device/stream_queue.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <utility>

namespace {

constexpr std::uintptr_t stream_of_thread = 2;

/// And their contexts.
std::map<std::uintptr_t, const void*>& created_streams() {
    static auto* const all = new std::map<std::uintptr_t, const void*>;
    return *all;
}

using Name = std::pair<std::uintptr_t, void*>; ///< and its context
std::map<Name, StreamQueue>& streams() {
    static auto* const all = new std::map<Name, StreamQueue>;
    return *all;
}

void wait_in(StreamQueue& stream, StreamQueue& awaited, std::uint64_t copies) {
    Copy wait;
    wait.awaited = &awaited;
    wait.awaited_copies = copies;
    stream.add(std::move(wait));
}

/// As all do that are not made not to.
void follow_default_stream(StreamQueue& stream) {
    const auto found = streams().find({0, current_context()});
    if (found == streams().end() || found->second.under_way().empty()) { return; }
    wait_in(stream, found->second, found->second.begun());
}

/// Of the handle, as this thread means it.
StreamQueue& find_stream(const void* handle) {
    static thread_local const char thread = 0;
    const bool is_of_thread = reinterpret_cast<std::uintptr_t>(handle) == stream_of_thread;
    const void* const name = is_of_thread ? &thread : handle;
    StreamQueue& found = streams()[{reinterpret_cast<std::uintptr_t>(name), current_context()}];
    if (is_of_thread) { follow_default_stream(found); }
    return found;
}

struct Event {
    void* context = nullptr;
    StreamQueue* stream = nullptr; ///< nullptr: it has not been recorded
    std::uint64_t copies = 0;      ///< that had begun there by then
    int asked_in_vain = 0;         ///< times left
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

void end_copies(const Event& event) {
    if (event.stream != nullptr) { event.stream->end_up_to(event.copies); }
}

bool meet(const char* begin, std::size_t bytes, const char* other, std::size_t others) {
    return begin < other + others && other < begin + bytes;
}

} // namespace

bool is_a_stream(const void* stream) {
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    if (number == 0 || number == stream_of_thread) { return true; }
    const auto found = created_streams().find(number);
    return found != created_streams().end() && found->second == current_context();
}

DRIVER cuStreamCreate(void** stream, unsigned flags) {
    static std::uintptr_t next = 0x1000;
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    // Those that wait for the default stream are not needed by anybody.
    if (current_context() == nullptr || flags != 1) { return invalid_value; }
    created_streams()[++next] = current_context();
    *stream = reinterpret_cast<void*>(next);
    return success;
}
DRIVER cuStreamDestroy_v2(void* stream) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    if (!is_a_stream(stream) || !created_streams().contains(number)) { return invalid_handle; }
    StreamQueue& of = find_stream(stream);
    of.end_up_to(of.begun());
    created_streams().erase(number);
    return success;
}
DRIVER cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    const Event* const found = find_event(event);
    if (found == nullptr || !is_a_stream(stream) || flags != 0) { return invalid_handle; }
    StreamQueue& of = find_stream(stream);
    if (found->stream != nullptr && found->stream != &of) {
        wait_in(of, *found->stream, found->copies);
    }
    return success;
}

int begin_copy(void* stream, std::size_t direction, char* to, const char* from, std::size_t bytes) {
    const bool is_to_device = direction == to_device;
    const Reach reach =
        direction == within_device ? Reach::all : reach_of(is_to_device ? from : to, bytes);
    if (reach == Reach::part) { return invalid_value; }
    Copy copy{
        .direction = direction, .device = current_device(), .to = to, .from = from, .bytes = bytes};
    const bool is_unpinned = reach == Reach::none;
    counts().unpinned += is_unpinned ? 1 : 0;
    const bool is_at_once = is_unpinned && (copies_take_time() || throw_dice(1) == 0);
    StreamQueue& of = find_stream(stream);
    if (is_at_once && is_to_device) {
        copy.read.assign(from, from + bytes);
        copy.from = nullptr;
    }
    std::memset(to, 0xab, bytes);
    of.add(std::move(copy));
    const bool is_waited_for = is_at_once && (!is_to_device || copies_take_time());
    if (is_waited_for) { of.end_up_to(of.begun()); }
    return success;
}

int begin_rows(void* stream, std::size_t direction, const RowsOfCopy& rows) {
    const auto span = [&](std::size_t stride) { return (rows.count - 1) * stride + rows.bytes; };
    const Reach reach = direction == to_device ? reach_of(rows.from, span(rows.from_stride))
                                               : reach_of(rows.to, span(rows.to_stride));
    if (reach != Reach::all) { return invalid_value; }
    for (std::size_t row = 0; row < rows.count; ++row) {
        std::memset(rows.to + row * rows.to_stride, 0xab, rows.bytes);
    }
    find_stream(stream).add({.direction = direction,
                             .device = current_device(),
                             .to = rows.to,
                             .from = rows.from,
                             .bytes = rows.bytes,
                             .rows = rows.count,
                             .to_stride = rows.to_stride,
                             .from_stride = rows.from_stride});
    return success;
}

void copy_now(std::size_t direction, char* to, const char* from, std::size_t bytes) {
    if (copies_take_time()) {
        wait_until(reserve_engine(current_device(), direction, bytes, now()));
    }
    std::memcpy(to, from, bytes);
}

void begin_work(void* stream, std::function<void()> work,
                std::function<bool(const char*, std::size_t)> touches) {
    Copy copy;
    copy.work = std::move(work);
    copy.touches = std::move(touches);
    find_stream(stream).add(std::move(copy));
}

void end_copies() {
    for (auto& [name, stream] : streams()) { stream.end_up_to(stream.begun()); }
}

bool is_being_copied(const char* begin, std::size_t bytes) {
    for (const auto& [name, stream] : streams()) {
        for (const Copy& copy : stream.under_way()) {
            if (copy.touches && copy.touches(begin, bytes)) { return true; }
            const std::size_t before = copy.rows - 1; // with what lies between
            const bool is_read =
                copy.from != nullptr &&
                meet(copy.from, before * copy.from_stride + copy.bytes, begin, bytes);
            if (is_read || meet(copy.to, before * copy.to_stride + copy.bytes, begin, bytes)) {
                return true;
            }
        }
    }
    return false;
}

void count_streams(StandInCounts& counts) {
    counts.events = events().size();
    counts.streams = created_streams().size();
    for (const auto& [name, stream] : streams()) { counts.under_way += stream.under_way().size(); }
}

void forget_copies(const Context* context) {
    std::erase_if(events(), [&](const auto& one) { return one.second.context == context; });
    std::erase_if(created_streams(), [&](const auto& one) { return one.second == context; });
    std::erase_if(streams(), [&](const auto& one) { return one.first.second == context; });
}

DRIVER cuStreamSynchronize(void* stream) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr || !is_a_stream(stream)) { return invalid_context; }
    StreamQueue& found = find_stream(stream);
    found.end_up_to(found.begun());
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
    found->copies = found->stream->begun();
    found->asked_in_vain = copies_take_time() ? 0 : throw_dice(5);
    return success;
}
DRIVER cuEventQuery(void* event) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    Event* const found = find_event(event);
    if (found == nullptr) { return invalid_handle; }
    if (copies_take_time() && found->stream != nullptr) {
        return found->stream->has_ended(found->copies) ? success : not_ready;
    }
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
