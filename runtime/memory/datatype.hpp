#pragma once

#include "runtime/device/memory.hpp"
#include "runtime/mpi/mpi.hpp"

#include <cstddef>
#include <cstdint>

namespace nodeaware {

/// What the library needs to know of a datatype.
struct Datatype {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    uint64_t size = 0; ///< bytes of data in one element
    MPI_Count extent = 0;
    MPI_Count true_lower_bound = 0;
    MPI_Count true_extent = 0;
    bool dense_element =
        false; ///< the bytes of one element lie side by side, in the order of the type map
};

/// Looks at a datatype. Cheap: predefined types are simple, and what is found of others is kept
/// with them. Throws MpiError.
Datatype inspect(MPI_Datatype handle);

/// A datatype of the same layout, which lives on when the application frees that; to be freed. No
/// function of the application is called, as MPI_Type_dup would for attributes. Throws MpiError.
MPI_Datatype keep_datatype(MPI_Datatype handle);

/// Some elements of a datatype in the application's memory: one message.
struct UserMemory {
    void* address = nullptr; ///< as the application gives it
    MPI_Count count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    uint64_t bytes = 0;
    std::byte* dense = nullptr; ///< where the bytes are if they lie side by side, else nullptr
    /// Of memory of a device, which is never dense. What is not known to lie in one allocation as a
    /// whole is left to MPI, as the host's.
    device::Place place{};
    std::byte* dense_on_device = nullptr; ///< as `dense`, but not to be touched
};

/// `place`: where the memory is, if that is known.
UserMemory user_memory(void* address, MPI_Count count, const Datatype& type,
                       const device::Place* place = nullptr);
/// Inspects the datatype, unless there are no elements: then it may be none. Throws MpiError.
UserMemory user_memory(void* address, MPI_Count count, MPI_Datatype type);

/// Copies the whole memory into `bytes` (memory.bytes long), in the order in which MPI would send
/// them, and back. `comm` is any communicator of the library. Throw MpiError.
void pack_user_memory(const UserMemory& memory, std::byte* bytes, MPI_Comm comm);
void unpack_user_memory(const UserMemory& memory, const std::byte* bytes, MPI_Comm comm);
/// The bytes [offset, offset + size) of a memory whose bytes lie side by side, here or on a device.
/// False: they do not, and nothing has been copied. Throw MpiError.
bool copy_from(const UserMemory& memory, uint64_t offset, uint64_t size, std::byte* to);
bool copy_to(const UserMemory& memory, uint64_t offset, uint64_t size, const std::byte* from);
/// The same as unpack_user_memory() for the first `size` bytes only.
void unpack_part(const UserMemory& memory, const std::byte* bytes, uint64_t size, MPI_Comm comm);

/// MPI_Isend and MPI_Irecv of the memory.
int begin_send(const UserMemory& memory, int peer, int tag, MPI_Comm comm, MPI_Request* request);
int begin_receive(const UserMemory& memory, int peer, int tag, MPI_Comm comm, MPI_Request* request);

/// To be called once, before any other function, and at the end.
void open_datatypes();
void close_datatypes();

} // namespace nodeaware
