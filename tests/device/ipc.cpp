// Memory of a device that processes share. A handle names a process, a line of a table that this
// process shares with whoever opens its handles, and the number of the allocation that the line was
// made for: when that is freed the line says so, and the handle is refused. What is still open when
// a process exits is told on stderr.

#include "tests/device/driver_function.hpp"
#include "tests/device/shared_allocations.hpp"
#include "tests/device/stream.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct Line {
    std::atomic<std::uint64_t> serial; ///< of what is exported; 0: nothing
    std::atomic<std::uint32_t> opened; ///< by other processes, now
};
constexpr std::size_t lines = 64;
constexpr std::size_t table_bytes = lines * sizeof(Line);

struct Handle {
    std::uint64_t serial;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::int32_t process;
    std::int32_t memory; ///< files of the process
    std::int32_t table;
    std::int32_t line;
    std::int32_t device;
    std::array<char, 20> unused;
};
static_assert(sizeof(Handle) == 64, "as of cuda.h");

struct Table {
    int file = -1;
    Line* lines = nullptr;
};

Line* map_table(int file) {
    void* const mapped = mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<Line*>(mapped);
}

Table& own_table() {
    static Table table = [] {
        Table made;
        made.file = memfd_create("stand-in exports", MFD_CLOEXEC);
        if (made.file < 0 || ftruncate(made.file, table_bytes) != 0) { std::abort(); }
        made.lines = map_table(made.file);
        if (made.lines == nullptr) { std::abort(); }
        return made;
    }();
    return table;
}

struct Import {
    Handle handle;
    Line* table;
    const void* context;
    int opens;
};
/// By their addresses; there until the process has ended.
std::map<std::uint64_t, Import>& imports() {
    static auto* const all = new std::map<std::uint64_t, Import>;
    return *all;
}
pid_t importer = 0; ///< not its children

int file_of(const Handle& handle, int number) {
    const std::string path =
        "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(number);
    return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

/// Nothing is left open where it is refused.
int open_new(const Handle& handle, std::uint64_t* address) {
    const int table_file = file_of(handle, handle.table);
    if (table_file < 0) { return invalid_handle; }
    Line* const table = map_table(table_file);
    close(table_file);
    if (table == nullptr) { return out_of_memory; }
    Line& line = table[handle.line];
    ++line.opened;
    const int memory = line.serial == handle.serial ? file_of(handle, handle.memory) : -1;
    *address = memory < 0 ? 0 : take_in(memory, handle.offset, handle.bytes);
    if (memory >= 0) { close(memory); }
    if (*address == 0) {
        --line.opened;
        munmap(table, table_bytes);
        return invalid_handle;
    }
    imports()[*address] = {handle, table, current_context(), 1};
    importer = getpid();
    return success;
}

void close_import(std::map<std::uint64_t, Import>::iterator position) {
    const auto& [address, import] = *position;
    --import.table[import.handle.line].opened;
    munmap(import.table, table_bytes);
    put_out(address);
    imports().erase(position);
}

__attribute__((destructor)) void tell_what_is_open() {
    if (importer == getpid() && !imports().empty()) {
        std::fprintf(stderr, "stand-in: %zu imports are left open\n", imports().size());
    }
}

} // namespace

std::uint32_t end_export(std::uint64_t serial) {
    std::uint32_t opened = 0;
    for (std::size_t i = 0; own_table().file >= 0 && i < lines; ++i) {
        Line& line = own_table().lines[i];
        if (line.serial != serial) { continue; }
        line.serial = 0;
        opened += line.opened;
    }
    return opened;
}

void forget_imports(const void* context) {
    for (auto next = imports().begin(); next != imports().end();) {
        const auto position = next++;
        if (position->second.context == context) { close_import(position); }
    }
}

DRIVER cuIpcGetMemHandle(void* to, std::uint64_t address) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    const Exportable found = exportable(address);
    if (found.serial == 0) { return invalid_value; }
    Table& table = own_table();
    std::size_t line = 0;
    while (line < lines && table.lines[line].serial != found.serial) { ++line; }
    for (std::size_t i = 0; line == lines && i < lines; ++i) {
        if (table.lines[i].serial == 0 && table.lines[i].opened == 0) { line = i; }
    }
    if (line == lines) { return out_of_memory; }
    table.lines[line].serial = found.serial;
    const Handle handle{found.serial,
                        found.offset,
                        found.bytes,
                        getpid(),
                        found.file,
                        table.file,
                        static_cast<std::int32_t>(line),
                        found.device,
                        {}};
    std::memcpy(to, &handle, sizeof handle);
    return success;
}
DRIVER cuIpcOpenMemHandle_v2(std::uint64_t* address, Handle handle, unsigned flags) {
    MAY_FAIL
    constexpr unsigned lazy_peer_access = 1;
    const std::lock_guard lock(driver_mutex());
    if (flags != lazy_peer_access || handle.line < 0 ||
        handle.line >= static_cast<std::int32_t>(lines)) {
        return invalid_value;
    }
    if (current_context() == nullptr || handle.process == getpid()) { return invalid_context; }
    if (handle.device != current_device()) { return invalid_context; }
    for (auto& [at, import] : imports()) {
        const bool is_same = std::memcmp(&import.handle, &handle, sizeof handle) == 0;
        if (!is_same || import.context != current_context()) { continue; }
        ++import.opens;
        *address = at;
        return success;
    }
    return open_new(handle, address);
}
DRIVER cuIpcCloseMemHandle(std::uint64_t address) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    const auto found = imports().find(address);
    if (found == imports().end()) { return invalid_value; }
    if (found->second.context != current_context()) { return invalid_context; }
    end_copies();
    if (--found->second.opens == 0) { close_import(found); }
    return success;
}

extern "C" __attribute__((visibility("default"))) std::size_t stand_in_imports() {
    const std::lock_guard lock(driver_mutex());
    return imports().size();
}
