#include "runtime/memory/datatype.hpp"

#include "runtime/job/device_counts.hpp"
#include "runtime/memory/device_copy.hpp"
#include "runtime/memory/elements.hpp"
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

bool is_predefined(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
           combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
}

/// Contents of a derived datatype; frees the handles that MPI_Type_get_contents makes.
class Contents {
  public:
    Contents(MPI_Datatype type, int integers, int addresses, int datatypes)
        : integers_(static_cast<size_t>(integers)), addresses_(static_cast<size_t>(addresses)),
          types_(static_cast<size_t>(datatypes), MPI_DATATYPE_NULL) {
        MPI_CALL(Type_get_contents, type, integers, addresses, datatypes, integers_.data(),
                 addresses_.data(), types_.data());
    }
    ~Contents() {
        for (MPI_Datatype& type : types_) {
            int numbers[3] = {0, 0, 0};
            int combiner = MPI_COMBINER_NAMED;
            if (type != MPI_DATATYPE_NULL &&
                mpi.Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner) ==
                    MPI_SUCCESS &&
                !is_predefined(combiner)) {
                mpi.Type_free(&type);
            }
        }
    }
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;

    MPI_Count integer(size_t i) const { return integers_[i]; }
    MPI_Count address(size_t i) const { return addresses_[i]; }
    MPI_Datatype type(size_t i) const { return types_[i]; }

  private:
    std::vector<int> integers_;
    std::vector<MPI_Aint> addresses_;
    std::vector<MPI_Datatype> types_;
};

/// Size and bounds of one element, without a look at its structure.
Datatype measure(MPI_Datatype handle) {
    Datatype type;
    type.handle = handle;
    MPI_Count size = 0;
    MPI_Count lower_bound = 0;
    MPI_CALL(Type_size_x, handle, &size);
    MPI_CALL(Type_get_extent_x, handle, &lower_bound, &type.extent);
    MPI_CALL(Type_get_true_extent_x, handle, &type.true_lower_bound, &type.true_extent);
    type.size = static_cast<uint64_t>(size);
    // Without gaps there is still the order of the blocks to look at.
    type.dense_element = size == type.true_extent;
    return type;
}

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

bool contents_are_dense(MPI_Datatype handle, int combiner, int integers, int addresses,
                        int datatypes) {
    if (datatypes == 0) { return true; } // no members, no bytes
    const Contents contents(handle, integers, addresses, datatypes);
    const MPI_Datatype old = contents.type(0);
    const Datatype element = measure(old);
    const MPI_Count extent = element.extent;
    const auto count = static_cast<size_t>(integers > 0 ? contents.integer(0) : 0);
    Row row;
    switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return is_dense(old);
    case MPI_COMBINER_SUBARRAY: // a slice without gaps, or the caller would not ask; or elements
                                // overlap
        return extent == static_cast<MPI_Count>(element.size) && is_dense(old);
    case MPI_COMBINER_CONTIGUOUS: return row.add(old, contents.integer(0), 0);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR: {
        const MPI_Count stride =
            combiner == MPI_COMBINER_VECTOR ? contents.integer(2) * extent : contents.address(0);
        for (size_t i = 0; i < count; ++i) {
            if (!row.add(old, contents.integer(1), static_cast<MPI_Count>(i) * stride)) {
                return false;
            }
        }
        return true;
    }
    case MPI_COMBINER_INDEXED:
        for (size_t i = 0; i < count; ++i) {
            if (!row.add(old, contents.integer(1 + i), contents.integer(1 + count + i) * extent)) {
                return false;
            }
        }
        return true;
    case MPI_COMBINER_HINDEXED:
        for (size_t i = 0; i < count; ++i) {
            if (!row.add(old, contents.integer(1 + i), contents.address(i))) { return false; }
        }
        return true;
    case MPI_COMBINER_INDEXED_BLOCK:
        for (size_t i = 0; i < count; ++i) {
            if (!row.add(old, contents.integer(1), contents.integer(2 + i) * extent)) {
                return false;
            }
        }
        return true;
    case MPI_COMBINER_HINDEXED_BLOCK:
        for (size_t i = 0; i < count; ++i) {
            if (!row.add(old, contents.integer(1), contents.address(i))) { return false; }
        }
        return true;
    case MPI_COMBINER_STRUCT:
        for (size_t i = 0; i < count; ++i) {
            if (!row.add(contents.type(i), contents.integer(1 + i), contents.address(i))) {
                return false;
            }
        }
        return true;
    default: return false; // left to MPI_Pack
    }
}

/// Looks into the structure of a type. The type has no gaps (size equals true extent) when this is
/// asked from outside, but its parts may have.
bool is_dense(MPI_Datatype handle) {
    int integers = 0;
    int addresses = 0;
    int datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;
    MPI_CALL(Type_get_envelope, handle, &integers, &addresses, &datatypes, &combiner);
    if (!measure(handle).dense_element) { return false; }
    if (is_predefined(combiner)) { return true; }
    void* kept = nullptr;
    int found = 0;
    MPI_CALL(Type_get_attr, handle, kept_keyval, &kept, &found);
    if (found != 0) { return reinterpret_cast<intptr_t>(kept) == kept_dense; }
    const bool dense = contents_are_dense(handle, combiner, integers, addresses, datatypes);
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
