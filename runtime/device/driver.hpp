#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace nodeaware::device {

/// CUipcMemHandle: what other processes open memory of a device by.
struct MemoryHandle {
    std::array<char, 64> bytes;
};

/// CUDA_MEMCPY2D: rows of bytes, so far apart at either end.
struct RowsCopy {
    static constexpr int on_host = 1;
    static constexpr int on_device = 2;

    size_t from_x = 0;
    size_t from_y = 0;
    int from_kind = 0;
    uint64_t from_host = 0;
    uint64_t from_device = 0;
    void* from_array = nullptr;
    size_t from_stride = 0;
    size_t to_x = 0;
    size_t to_y = 0;
    int to_kind = 0;
    uint64_t to_host = 0;
    uint64_t to_device = 0;
    void* to_array = nullptr;
    size_t to_stride = 0;
    size_t bytes = 0; ///< of a row
    size_t rows = 0;
};
static_assert(sizeof(RowsCopy) == 128);

/// CU_POINTER_ATTRIBUTE_BUFFER_ID: a number that no other memory of the process has, or will have.
inline constexpr int attribute_buffer_id = 7;

/// Entry points of the CUDA driver, which is looked for at run time only. Of cuda.h, which is not
/// needed to build: CUresult, CUdevice and the enumerations are int, CUcontext is a pointer,
/// CUdeviceptr has 64 bits.
struct Driver {
    // What moves bytes.
    int (*host_to_device)(uint64_t to, const void* from, size_t bytes) = nullptr;
    int (*device_to_host)(void* to, uint64_t from, size_t bytes) = nullptr;
    // The same, over when the stream is. From and to memory of the host that is not pinned the
    // driver may do them at once.
    int (*host_to_device_later)(uint64_t to, const void* from, size_t bytes,
                                void* stream) = nullptr;
    int (*device_to_host_later)(void* to, uint64_t from, size_t bytes, void* stream) = nullptr;
    int (*device_to_device_later)(uint64_t to, uint64_t from, size_t bytes, void* stream) = nullptr;
    /// A driver may have none.
    int (*rows_later)(const RowsCopy* what, void* stream) = nullptr;
    int (*stream_synchronize)(void* stream) = nullptr;
    // Memory of the host that devices reach without the driver's own copy. No part of it may be
    // registered twice, and one copy may not leave what was registered at once.
    int (*pin)(void* memory, size_t bytes, unsigned flags) = nullptr;
    int (*unpin)(void* memory) = nullptr;
    // What tells how far a stream has come: of the context that is current.
    int (*event_create)(void** event, unsigned flags) = nullptr;
    int (*event_record)(void* event, void* stream) = nullptr;
    int (*event_query)(void* event) = nullptr;
    int (*event_synchronize)(void* event) = nullptr;
    int (*event_destroy)(void* event) = nullptr;
    // What memory is. Addresses that the driver does not know have attributes of 0.
    int (*attributes_of)(unsigned count, int* attributes, void** values,
                         uint64_t address) = nullptr;
    /// A driver may have none.
    int (*set_attribute)(const void* value, int attribute, uint64_t address) = nullptr;
    // Contexts. A context is used by the thread that has made it current.
    int (*context_get)(void** context) = nullptr;
    int (*context_set)(void* context) = nullptr;
    int (*context_push)(void* context) = nullptr;
    int (*context_pop)(void** context) = nullptr;
    int (*context_retain)(void** context, int device) = nullptr; ///< the primary one
    int (*context_release)(int device) = nullptr;
    int (*context_state)(int device, unsigned* flags, int* is_active) = nullptr;
    int (*capture_mode)(int* mode) = nullptr; ///< of this thread; exchanges
    // Memory that processes share. A driver may have none of these.
    int (*export_memory)(void* handle, uint64_t address) = nullptr;
    int (*open_memory)(uint64_t* address, MemoryHandle handle, unsigned flags) = nullptr;
    int (*close_memory)(uint64_t address) = nullptr;
    /// The stream goes on when the event, as it has been recorded by now, is over. A driver may
    /// have none.
    int (*stream_wait_event)(void* stream, void* event, unsigned flags) = nullptr;
    int (*error_string)(int code, const char** text) = nullptr;
    // Kernels; nullptr where a driver has no such function. No two contexts of a process have the
    // same number, though they may have the same address, one after the other.
    int (*context_number)(void* context, unsigned long long* number) = nullptr;
    int (*module_load)(void** module, const void* image) = nullptr;
    int (*module_unload)(void* module) = nullptr;
    int (*module_function)(void** function, void* module, const char* name) = nullptr;
    int (*launch)(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                  unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                  void* stream, void** parameters, void** extra) = nullptr;
    /// Where kernels find what was pinned.
    int (*pinned_address)(uint64_t* address, void* memory, unsigned flags) = nullptr;
    // For those who use devices themselves.
    int (*init)(unsigned flags) = nullptr;
    int (*device_count)(int* count) = nullptr;
    int (*device_get)(int* device, int ordinal) = nullptr;
    /// A driver may have none.
    int (*device_attribute)(int* value, int attribute, int device) = nullptr;
    int (*device_name)(char* name, int length, int device) = nullptr;
    int (*device_memory)(size_t* bytes, int device) = nullptr;
    int (*device_pci_id)(char* text, int length, int device) = nullptr;
    int (*synchronize)() = nullptr;
    int (*stream_create)(void** stream, unsigned flags) = nullptr;
    int (*stream_destroy)(void* stream) = nullptr;
    int (*allocate)(uint64_t* address, size_t bytes) = nullptr;
    int (*allocate_managed)(uint64_t* address, size_t bytes, unsigned flags) = nullptr;
    int (*free)(uint64_t address) = nullptr;
    int (*allocate_host)(void** address, size_t bytes) = nullptr;
    int (*free_host)(void* address) = nullptr;

    /// The first thing that is missing; nullptr: nothing. `is_loaded_only`: loads no driver that
    /// the process has not loaded. The driver is never unloaded: it does not expect to be.
    const char* load(bool is_loaded_only);

    bool can_share() const {
        return export_memory != nullptr && open_memory != nullptr && close_memory != nullptr;
    }

    /// What a call has failed with.
    std::string text_of(int code, const char* function) const;
};

/// The driver of this process, if a library has loaded one by now. Looks for it only when
/// libraries have been loaded since it last did: to be called before each operation.
void look_for_driver();

/// nullptr: none was found, and no memory is a device's.
const Driver* driver();

} // namespace nodeaware::device
