#include "runtime/memory/datatype.hpp"

#include "runtime/job/device_counts.hpp"
#include "runtime/memory/device_copy.hpp"
#include "runtime/memory/elements.hpp"
#include "runtime/memory/kept_runs.hpp"
#include "runtime/memory/type_parts.hpp"
#include "runtime/mpi/tags.hpp"

#include <climits>

#include <algorithm>
#include <mutex>
#include <vector>

namespace nodeaware {

namespace {

int kept_keyval = MPI_KEYVAL_INVALID;

/// What is kept with a datatype, as the attribute value itself: no memory to free.
enum Kept : intptr_t { kept_scattered = 1, kept_dense = 2 };

bool is_dense(MPI_Datatype handle);

/// True if blocks of `lengths[i]` elements of a dense type at byte offsets `offsets[i]` follow each
/// other without a gap.
class Row {
  public:
    /// Adds `count` elements of `type` at `offset`; false if they do not continue the row.
    bool add(MPI_Datatype type, MPI_Count count, MPI_Count offset) {
        if (count == 0) { return true; }
        if (!is_dense(type)) { return false; }
        const Datatype element = measure(type);
        const auto size = static_cast<MPI_Count>(element.size);
        if (count > 1 && element.extent != size) { return false; }
        if (started_ && offset + element.true_lower_bound != end_) { return false; }
        started_ = true;
        end_ = offset + element.true_lower_bound + count * size;
        return true;
    }

  private:
    bool started_ = false;
    MPI_Count end_ = 0;
};

/// Looks into the structure of a type. The type has no gaps (size equals true extent) when this is
/// asked from outside, but its parts may have.
bool is_dense(MPI_Datatype handle) {
    if (!measure(handle).dense_element) { return false; }
    if (is_predefined(handle)) { return true; }
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Type_get_attr, handle, kept_keyval, &kept, &found);
    if (found != 0) { return reinterpret_cast<intptr_t>(kept) == kept_dense; }
    Row row;
    bool is_row = true;
    const bool is_known =
        visit_parts(handle, [&](MPI_Datatype type, MPI_Count count, MPI_Count offset) {
            is_row = row.add(type, count, offset);
            return is_row;
        });
    const bool dense = is_known && is_row;
    MPI_CALL(Type_set_attr, handle, kept_keyval,
             reinterpret_cast<void*>(dense ? kept_dense : kept_scattered));
    return dense;
}

/// The `first`-th element of the memory and those behind it.
void* element_of(const UserMemory& memory, MPI_Count first) {
    return reinterpret_cast<void*>(reinterpret_cast<intptr_t>(memory.address) +
                                   first * inspect(memory.type).extent);
}

/// MPI_Pack and MPI_Unpack count bytes with int: moves a memory of any size in parts that fit.
/// `move` takes the address of some elements, their number, and the packed bytes; `move_alone` one
/// element that is too large for that, or lies at MPI_BOTTOM, which MPICH's MPI_Pack refuses.
template <class Bytes, class Move, class MoveAlone>
void move_in_parts(const UserMemory& memory, Bytes* bytes, Move move, MoveAlone move_alone) {
    const uint64_t element = memory.bytes / static_cast<uint64_t>(memory.count);
    const auto most = static_cast<MPI_Count>(std::max<uint64_t>(1, (INT_MAX / 2) / element));
    for (MPI_Count done = 0; done < memory.count;) {
        void* const address = element_of(memory, done);
        const bool is_alone = element > INT_MAX || address == MPI_BOTTOM;
        const MPI_Count part = is_alone ? 1 : std::min(most, memory.count - done);
        Bytes* const packed = bytes + static_cast<uint64_t>(done) * element;
        if (is_alone) {
            move_alone(address, packed, element);
        } else {
            move(address, static_cast<int>(part), packed,
                 static_cast<int>(static_cast<uint64_t>(part) * element));
        }
        done += part;
    }
}

/// Copies between two memories by a message to itself. Those of several threads are not to meet.
void send_to_self(const void* from, const Elements& sent, void* to, const Elements& received,
                  MPI_Comm comm) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    int rank = 0;
    MPI_CALL(Comm_rank, comm, &rank);
    MPI_CALL(Sendrecv, from, sent.count(), sent.type(), rank, tags::to_itself, to, received.count(),
             received.type(), rank, tags::to_itself, comm, MPI_STATUS_IGNORE);
}

} // namespace

void open_datatypes() {
    MPI_CALL(Type_create_keyval, MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &kept_keyval,
             nullptr);
}

void close_datatypes() { kept_keyval = MPI_KEYVAL_INVALID; }

Datatype inspect(MPI_Datatype handle) {
    Datatype type = measure(handle);
    if (type.dense_element) { type.dense_element = is_dense(handle); }
    return type;
}

MPI_Datatype keep_datatype(MPI_Datatype handle) {
    MPI_Datatype kept = MPI_DATATYPE_NULL;
    MPI_CALL(Type_contiguous, 1, handle, &kept);
    const int code = mpi.Type_commit(&kept);
    if (code != MPI_SUCCESS) {
        mpi.Type_free(&kept);
        throw MpiError(code, "MPI_Type_commit");
    }
    share_kept_runs(handle, kept);
    return kept;
}

UserMemory user_memory(void* address, MPI_Count count, const Datatype& type,
                       const device::Place* place) {
    UserMemory memory{address, count, type.handle, static_cast<uint64_t>(count) * type.size,
                      nullptr};
    if (memory.bytes == 0) { return memory; }
    auto* const start =
        reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(address) + type.true_lower_bound);
    const bool side_by_side = count == 1 || type.extent == static_cast<MPI_Count>(type.size);
    const bool is_dense = type.dense_element && side_by_side;
    const device::Span span = span_of(memory, type);
    const bool is_known = place != nullptr && (!place->is_on_device || place->holds(span));
    const device::Place found = is_known ? *place : device::locate(start);
    if (!found.is_on_device) {
        if (is_dense) { memory.dense = start; }
        return memory;
    }
    if (is_dense || found.holds(span)) { memory.place = found; }
    if (is_dense) { memory.dense_on_device = start; }
    return memory;
}

UserMemory user_memory(void* address, MPI_Count count, MPI_Datatype type) {
    return count == 0 ? UserMemory{address, 0, MPI_BYTE, 0, nullptr}
                      : user_memory(address, count, inspect(type));
}

bool copy_from(const UserMemory& memory, uint64_t offset, uint64_t size, std::byte* to) {
    if (memory.dense != nullptr) {
        std::copy_n(memory.dense + offset, size, to);
        return true;
    }
    if (memory.dense_on_device == nullptr) { return false; }
    const auto from = reinterpret_cast<uintptr_t>(memory.dense_on_device) + offset;
    device::copy_to_host(memory.place, to, from, size);
    return true;
}

bool copy_to(const UserMemory& memory, uint64_t offset, uint64_t size, const std::byte* from) {
    if (memory.dense != nullptr) {
        std::copy_n(from, size, memory.dense + offset);
        return true;
    }
    if (memory.dense_on_device == nullptr) { return false; }
    const auto to = reinterpret_cast<uintptr_t>(memory.dense_on_device) + offset;
    device::copy_to_device(memory.place, to, from, size);
    return true;
}

void pack_user_memory(const UserMemory& memory, std::byte* bytes, MPI_Comm comm) {
    if (memory.bytes == 0 || copy_from(memory, 0, memory.bytes, bytes)) { return; }
    if (memory.place.is_on_device) { return pack_from_device(memory, bytes, comm); }
    move_in_parts(
        memory, bytes,
        [&](void* address, int count, std::byte* part, int size) {
            int position = 0;
            MPI_CALL(Pack, address, count, memory.type, part, size, &position, comm);
        },
        [&](void* address, std::byte* part, uint64_t size) {
            send_to_self(address, Elements(1, memory.type), part, Elements(size), comm);
        });
}

void unpack_user_memory(const UserMemory& memory, const std::byte* bytes, MPI_Comm comm) {
    if (memory.bytes == 0 || copy_to(memory, 0, memory.bytes, bytes)) { return; }
    if (memory.place.is_on_device) { return unpack_to_device(memory, bytes, memory.bytes, comm); }
    move_in_parts(
        memory, bytes,
        [&](void* address, int count, const std::byte* part, int size) {
            int position = 0;
            MPI_CALL(Unpack, part, size, &position, address, count, memory.type, comm);
        },
        [&](void* address, const std::byte* part, uint64_t size) {
            send_to_self(part, Elements(size), address, Elements(1, memory.type), comm);
        });
}

void unpack_part(const UserMemory& memory, const std::byte* bytes, uint64_t size, MPI_Comm comm) {
    if (size == 0 || copy_to(memory, 0, size, bytes)) { return; }
    if (memory.place.is_on_device) { return unpack_to_device(memory, bytes, size, comm); }
    const uint64_t element = memory.bytes / static_cast<uint64_t>(memory.count);
    UserMemory whole = memory;
    whole.count = static_cast<MPI_Count>(size / element);
    whole.bytes = size / element * element;
    unpack_user_memory(whole, bytes, comm);
    if (size == whole.bytes) { return; }
    // MPI knows how to fill part of an element.
    send_to_self(bytes + whole.bytes, Elements(size - whole.bytes), element_of(memory, whole.count),
                 Elements(1, memory.type), comm);
}

namespace {

void count_straight(const UserMemory& memory) {
    if (memory.place.is_on_device) { DeviceCounting::add({.straight = memory.bytes}); }
}

} // namespace

int begin_send(const UserMemory& memory, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
    const Elements elements(memory.count, memory.type);
    count_straight(memory);
    return mpi.Isend(memory.address, elements.count(), elements.type(), peer, tag, comm, request);
}

int begin_receive(const UserMemory& memory, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request) {
    const Elements elements(memory.count, memory.type);
    count_straight(memory);
    return mpi.Irecv(memory.address, elements.count(), elements.type(), peer, tag, comm, request);
}

} // namespace nodeaware
