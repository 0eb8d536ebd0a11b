#include "runtime/trace/modules.hpp"

#include <climits>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string_view>
#include <unistd.h>

namespace nodeaware::trace {

namespace {

/// The program is known to the loader by what it was called with, which means nothing elsewhere.
std::string file_of(const link_map& module, const char* name) {
    if (module.l_name != nullptr && *module.l_name != '\0') { return name; }
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    const bool is_whole = length > 0 && length < static_cast<ssize_t>(sizeof path);
    return is_whole ? std::string(path, static_cast<size_t>(length)) : name;
}

std::string digits_of(const unsigned char* bytes, size_t count) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < count; ++i) {
        text += digits[bytes[i] / 16];
        text += digits[bytes[i] % 16];
    }
    return text;
}

size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

std::string build_id_in(const unsigned char* notes, size_t bytes) {
    ElfW(Nhdr) note;
    while (bytes >= sizeof note) {
        std::memcpy(&note, notes, sizeof note);
        const size_t name = padded(note.n_namesz);
        const size_t whole = sizeof note + name + padded(note.n_descsz);
        if (whole > bytes) { break; }
        const bool is_gnu =
            note.n_namesz == 4 && std::memcmp(notes + sizeof note, ELF_NOTE_GNU, 4) == 0;
        if (is_gnu && note.n_type == NT_GNU_BUILD_ID) {
            return digits_of(notes + sizeof note + name, note.n_descsz);
        }
        notes += whole;
        bytes -= whole;
    }
    return {};
}

/// Notes may be in the file alone.
bool is_loaded(const dl_phdr_info& module, const ElfW(Phdr) & part) {
    return std::any_of(module.dlpi_phdr, module.dlpi_phdr + module.dlpi_phnum,
                       [&](const ElfW(Phdr) & segment) {
                           return segment.p_type == PT_LOAD && part.p_vaddr >= segment.p_vaddr &&
                                  part.p_memsz <= segment.p_filesz &&
                                  part.p_vaddr - segment.p_vaddr <= segment.p_filesz - part.p_memsz;
                       });
}

struct Search {
    const link_map& module;
    std::string build_id;
};

int look_at(dl_phdr_info* module, size_t /*size*/, void* argument) {
    auto& search = *static_cast<Search*>(argument);
    const std::string_view name = search.module.l_name == nullptr ? "" : search.module.l_name;
    if (module->dlpi_addr != search.module.l_addr || name != module->dlpi_name) { return 0; }
    for (int i = 0; i < module->dlpi_phnum && search.build_id.empty(); ++i) {
        const ElfW(Phdr)& part = module->dlpi_phdr[i];
        if (part.p_type != PT_NOTE || !is_loaded(*module, part)) { continue; }
        search.build_id = build_id_in(
            reinterpret_cast<const unsigned char*>(module->dlpi_addr + part.p_vaddr), part.p_memsz);
    }
    return 1;
}

} // namespace

CodePlace place_of(const void* address) {
    Dl_info info;
    void* map = nullptr;
    const bool is_known = address != nullptr &&
                          dladdr1(address, &info, &map, RTLD_DL_LINKMAP) != 0 &&
                          info.dli_fname != nullptr && map != nullptr;
    if (!is_known) { return {}; }
    const auto& module = *static_cast<const link_map*>(map);
    char digits[24];
    const auto offset =
        reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(info.dli_fbase);
    CodePlace place;
    place.file = file_of(module, info.dli_fname);
    place.site = place.file + "+0x" +
                 std::string(digits, std::to_chars(digits, digits + sizeof digits, offset, 16).ptr);
    Search search{module, {}};
    dl_iterate_phdr(look_at, &search);
    place.build_id = std::move(search.build_id);
    return place;
}

} // namespace nodeaware::trace
