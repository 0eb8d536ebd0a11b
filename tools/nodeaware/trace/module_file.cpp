#include "tools/nodeaware/trace/module_file.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <link.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace nodeaware::tool {

namespace {

/// A file that is open for reading, if it is a regular one: others may wait for somebody.
class File {
  public:
    explicit File(const std::string& path)
        : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        struct stat is = {};
        is_right_ = descriptor_ >= 0 && fstat(descriptor_, &is) == 0 && S_ISREG(is.st_mode);
        changed_ = is.st_mtim.tv_sec;
    }
    ~File() {
        if (descriptor_ >= 0) { close(descriptor_); }
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    bool is_right() const { return is_right_; }
    int64_t changed() const { return changed_; }
    bool read(uint64_t offset, void* to, size_t bytes) const {
        if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) { return false; }
        return pread(descriptor_, to, bytes, static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(bytes);
    }

  private:
    int descriptor_;
    bool is_right_ = false;
    int64_t changed_ = 0;
};

bool read_header(const File& file, ElfW(Ehdr) & header) {
    const unsigned char word = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    return file.is_right() && file.read(0, &header, sizeof header) &&
           std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == word;
}

/// Nothing where they are not there.
template <class Entry>
std::vector<Entry> read_entries(const File& file, uint64_t offset, size_t count) {
    constexpr size_t most_bytes = size_t{1} << 28;
    if (count > most_bytes / sizeof(Entry)) { return {}; }
    std::vector<Entry> entries(count);
    const bool is_there = file.read(offset, entries.data(), count * sizeof(Entry));
    return is_there ? entries : std::vector<Entry>();
}

std::vector<ElfW(Phdr)> segments_of(const File& file) {
    ElfW(Ehdr) header;
    const bool is_right = read_header(file, header) && header.e_phentsize == sizeof(ElfW(Phdr));
    if (!is_right) { return {}; }
    return read_entries<ElfW(Phdr)>(file, header.e_phoff, header.e_phnum);
}

std::vector<ElfW(Shdr)> sections_of(const File& file) {
    ElfW(Ehdr) header;
    const bool is_right = read_header(file, header) && header.e_shentsize == sizeof(ElfW(Shdr));
    if (!is_right) { return {}; }
    return read_entries<ElfW(Shdr)>(file, header.e_shoff, header.e_shnum);
}

bool is_function(const ElfW(Sym) & symbol) {
    const int type = symbol.st_info & 0xf; // as ELF64_ST_TYPE, which is the same for both sizes
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
           symbol.st_size > 0;
}

/// Without its version.
std::string name_in(const std::vector<char>& names, size_t at) {
    if (at >= names.size()) { return {}; }
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(at);
    const std::string name(begin, std::find(begin, names.end(), '\0'));
    return name.substr(0, name.find('@'));
}

size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

std::string build_id_in(const std::vector<unsigned char>& notes) {
    ElfW(Nhdr) note;
    for (size_t at = 0; notes.size() - at >= sizeof note;) {
        std::memcpy(&note, notes.data() + at, sizeof note);
        const size_t value = at + sizeof note + padded(note.n_namesz);
        const size_t next = value + padded(note.n_descsz);
        if (next > notes.size()) { break; }
        const bool is_gnu = note.n_namesz == 4 &&
                            std::memcmp(notes.data() + at + sizeof note, ELF_NOTE_GNU, 4) == 0;
        if (is_gnu && note.n_type == NT_GNU_BUILD_ID) {
            std::string digits;
            for (size_t i = value; i < value + note.n_descsz; ++i) {
                digits += "0123456789abcdef"[notes[i] / 16];
                digits += "0123456789abcdef"[notes[i] % 16];
            }
            return digits;
        }
        at = next;
    }
    return {};
}

} // namespace

std::optional<ModuleFile> read_module_file(const std::string& path) {
    constexpr size_t most_notes = 1 << 16;
    const File file(path);
    const std::vector<ElfW(Phdr)> segments = segments_of(file);
    if (segments.empty()) { return std::nullopt; }
    ModuleFile module{std::numeric_limits<uint64_t>::max(), "", file.changed()};
    for (const ElfW(Phdr) & segment : segments) {
        if (segment.p_type == PT_LOAD) {
            const uint64_t page = std::max<uint64_t>(segment.p_align, 1);
            module.base = std::min<uint64_t>(module.base, segment.p_vaddr / page * page);
        }
        if (segment.p_type != PT_NOTE || !module.build_id.empty()) { continue; }
        std::vector<unsigned char> notes(std::min<uint64_t>(segment.p_filesz, most_notes));
        if (file.read(segment.p_offset, notes.data(), notes.size())) {
            module.build_id = build_id_in(notes);
        }
    }
    if (module.base == std::numeric_limits<uint64_t>::max()) { return std::nullopt; }
    return module;
}

std::vector<std::vector<std::string>> functions_at(const std::string& path,
                                                   const std::vector<uint64_t>& addresses) {
    std::vector<std::vector<std::string>> functions(addresses.size());
    std::multimap<uint64_t, size_t> order;
    for (size_t i = 0; i < addresses.size(); ++i) { order.emplace(addresses[i], i); }
    const File file(path);
    const std::vector<ElfW(Shdr)> sections = sections_of(file);
    for (const ElfW(Shdr) & table : sections) {
        const bool is_table = table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM;
        if (!is_table || table.sh_link >= sections.size()) { continue; }
        const ElfW(Shdr)& text = sections[table.sh_link];
        const auto names = read_entries<char>(file, text.sh_offset, text.sh_size);
        for (const ElfW(Sym) & symbol :
             read_entries<ElfW(Sym)>(file, table.sh_offset, table.sh_size / sizeof(ElfW(Sym)))) {
            if (!is_function(symbol)) { continue; }
            for (auto at = order.lower_bound(symbol.st_value);
                 at != order.end() && at->first - symbol.st_value < symbol.st_size; ++at) {
                const std::string name = name_in(names, symbol.st_name);
                if (!name.empty()) { functions[at->second].push_back(name); }
            }
        }
    }
    return functions;
}

} // namespace nodeaware::tool
