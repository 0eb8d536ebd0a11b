#include "tools/nodeaware/elf.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <elf.h>
#include <fstream>
#include <glob.h>
#include <link.h>
#include <set>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace nodeaware::tool {

namespace {

namespace fs = std::filesystem;

/// A file in memory, read with bounds checked.
class Image {
  public:
    explicit Image(const fs::path& file) {
        std::ifstream stream(file, std::ios::binary);
        std::ostringstream text;
        if (stream && text << stream.rdbuf()) { bytes_ = text.str(); }
    }

    template <class Structure> std::optional<Structure> at(uint64_t offset) const {
        Structure structure;
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof structure) {
            return std::nullopt;
        }
        std::memcpy(&structure, bytes_.data() + offset, sizeof structure);
        return structure;
    }

    std::string string_at(uint64_t offset) const {
        return offset < bytes_.size() ? std::string(bytes_.c_str() + offset) : std::string();
    }

    bool contains(const std::string& text) const { return bytes_.find(text) != std::string::npos; }

  private:
    std::string bytes_;
};

std::vector<std::string> split_path(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ':');) {
        if (!part.empty()) { parts.push_back(part); }
    }
    return parts;
}

std::vector<std::string> resolve_origin(const std::string& path, const fs::path& file) {
    std::vector<std::string> parts = split_path(path);
    const std::string origin = fs::weakly_canonical(file).parent_path().string();
    for (std::string& part : parts) {
        for (const std::string variable : {"${ORIGIN}", "$ORIGIN"}) {
            if (const size_t at = part.find(variable); at != std::string::npos) {
                part.replace(at, variable.size(), origin);
            }
        }
    }
    return parts;
}

/// Directories named in a file like /etc/ld.so.conf, which may include others.
void read_loader_configuration(const std::string& file, std::vector<std::string>& directories,
                               int depth) {
    std::ifstream stream(file);
    for (std::string line; depth < 5 && std::getline(stream, line);) {
        line = line.substr(0, line.find('#'));
        std::istringstream words(line);
        std::string word;
        if (!(words >> word)) { continue; }
        if (word != "include") {
            directories.push_back(word);
            continue;
        }
        while (words >> word) {
            glob_t matches{};
            if (glob(word.c_str(), 0, nullptr, &matches) == 0) {
                for (size_t i = 0; i < matches.gl_pathc; ++i) {
                    read_loader_configuration(matches.gl_pathv[i], directories, depth + 1);
                }
            }
            globfree(&matches);
        }
    }
}

const std::vector<std::string>& system_directories() {
    static const std::vector<std::string> directories = [] {
        std::vector<std::string> result;
        if (const char* path = std::getenv("LD_LIBRARY_PATH")) { result = split_path(path); }
        read_loader_configuration("/etc/ld.so.conf", result, 0);
        for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
            result.emplace_back(directory);
        }
        return result;
    }();
    return directories;
}

std::optional<fs::path> find_library(const std::string& name,
                                     const std::vector<std::string>& search_path) {
    for (const auto* directories : {&search_path, &system_directories()}) {
        for (const std::string& directory : *directories) {
            std::error_code error;
            fs::path candidate = fs::path(directory) / name;
            if (fs::exists(candidate, error)) { return candidate; }
        }
    }
    return std::nullopt;
}

/// Tells by the name of a library, and where that is not enough by what is in it.
std::optional<MpiFlavor> flavor_of_library(const std::string& name,
                                           const std::vector<std::string>& search_path) {
    if (name.starts_with("libmpich.so")) { return MpiFlavor::mpich; }
    if (name.starts_with("libmpi_abi.so")) { return MpiFlavor::abi; }
    if (!name.starts_with("libmpi.so")) { return std::nullopt; }
    if (const auto file = find_library(name, search_path)) {
        return Image(*file).contains("ompi_mpi_comm_world") ? MpiFlavor::openmpi : MpiFlavor::mpich;
    }
    return name == "libmpi.so.12" ? MpiFlavor::mpich : MpiFlavor::openmpi;
}

bool is_of_this_machine(const ElfW(Ehdr) & header) {
    const unsigned char word = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == word;
}

/// Where the bytes at a virtual address are in the file.
std::optional<uint64_t> file_offset(const Image& image, const ElfW(Ehdr) & header,
                                    uint64_t address) {
    for (int i = 0; i < header.e_phnum; ++i) {
        const auto segment =
            image.at<ElfW(Phdr)>(header.e_phoff + static_cast<uint64_t>(i) * header.e_phentsize);
        if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return segment->p_offset + (address - segment->p_vaddr);
        }
    }
    return std::nullopt;
}

std::vector<ElfW(Dyn)> dynamic_entries(const Image& image, const ElfW(Ehdr) & header) {
    std::vector<ElfW(Dyn)> entries;
    for (int i = 0; i < header.e_phnum; ++i) {
        const auto segment =
            image.at<ElfW(Phdr)>(header.e_phoff + static_cast<uint64_t>(i) * header.e_phentsize);
        if (!segment || segment->p_type != PT_DYNAMIC) { continue; }
        for (uint64_t at = segment->p_offset; at < segment->p_offset + segment->p_filesz;
             at += sizeof(ElfW(Dyn))) {
            const auto entry = image.at<ElfW(Dyn)>(at);
            if (!entry || entry->d_tag == DT_NULL) { break; }
            entries.push_back(*entry);
        }
    }
    return entries;
}

/// Names in what a file needs of others, as "GLIBC_2.34".
std::vector<std::string> needed_versions(const Image& image, const ElfW(Ehdr) & header) {
    std::optional<uint64_t> strings;
    std::optional<uint64_t> library_at;
    for (const auto& entry : dynamic_entries(image, header)) {
        if (entry.d_tag == DT_STRTAB) { strings = file_offset(image, header, entry.d_un.d_ptr); }
        if (entry.d_tag == DT_VERNEED) {
            library_at = file_offset(image, header, entry.d_un.d_ptr);
        }
    }
    std::vector<std::string> names;
    while (strings && library_at) {
        const auto library = image.at<ElfW(Verneed)>(*library_at);
        if (!library) { break; }
        uint64_t version_at = *library_at + library->vn_aux;
        for (int i = 0; i < library->vn_cnt; ++i) {
            const auto version = image.at<ElfW(Vernaux)>(version_at);
            if (!version) { break; }
            names.push_back(image.string_at(*strings + version->vna_name));
            version_at += version->vna_next;
        }
        if (library->vn_next == 0) { break; }
        *library_at += library->vn_next;
    }
    return names;
}

/// Whether a program or one of its libraries needs a library that is wanted, of this name and to be
/// looked for in these folders.
template <class Wanted> bool find_needed(const fs::path& program, Wanted is_wanted) {
    std::deque<fs::path> to_read = {program};
    std::set<std::string> seen;
    while (!to_read.empty()) {
        const auto section = read_dynamic_section(to_read.front());
        to_read.pop_front();
        if (!section) { continue; }
        for (const std::string& name : section->needed) {
            if (is_wanted(name, section->search_path)) { return true; }
            if (!seen.insert(name).second) { continue; }
            if (const auto library = find_library(name, section->search_path)) {
                to_read.push_back(*library);
            }
        }
    }
    return false;
}

struct FlavorWords {
    const char* name;
    const char* called;
};

FlavorWords words_of(MpiFlavor flavor) {
    switch (flavor) {
    case MpiFlavor::openmpi: return {"openmpi", "Open MPI"};
    case MpiFlavor::mpich: return {"mpich", "MPICH"};
    case MpiFlavor::abi: return {"abi", "MPI's standard binary interface"};
    }
    return {"", ""};
}

} // namespace

const char* name_of(MpiFlavor flavor) { return words_of(flavor).name; }
const char* called(MpiFlavor flavor) { return words_of(flavor).called; }

std::optional<MpiFlavor> flavor_named(const std::string& name) {
    const auto* const found =
        std::find_if(mpi_flavors.begin(), mpi_flavors.end(),
                     [&](MpiFlavor flavor) { return name == name_of(flavor); });
    return found == mpi_flavors.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> names_of_flavors() {
    std::vector<std::string> names;
    names.reserve(mpi_flavors.size());
    for (const MpiFlavor flavor : mpi_flavors) { names.emplace_back(name_of(flavor)); }
    return names;
}

fs::path find_program(const std::string& word) {
    const auto runs = [](const fs::path& file) {
        std::error_code error;
        return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
    };
    if (word.find('/') != std::string::npos) { return runs(word) ? fs::path(word) : fs::path(); }
    const char* path = std::getenv("PATH");
    std::istringstream directories(path == nullptr ? "/bin:/usr/bin" : path);
    for (std::string directory; std::getline(directories, directory, ':');) {
        fs::path file = fs::path(directory.empty() ? "." : directory) / word;
        if (runs(file)) { return file; }
    }
    return {};
}

std::optional<DynamicSection> read_dynamic_section(const fs::path& file) {
    const Image image(file);
    const auto header = image.at<ElfW(Ehdr)>(0);
    if (!header || !is_of_this_machine(*header)) { return std::nullopt; }
    const auto entries = dynamic_entries(image, *header);
    std::optional<uint64_t> strings;
    for (const auto& entry : entries) {
        if (entry.d_tag == DT_STRTAB) { strings = file_offset(image, *header, entry.d_un.d_ptr); }
    }
    if (!strings) { return std::nullopt; }
    DynamicSection section;
    for (const auto& entry : entries) {
        const std::string text = image.string_at(*strings + entry.d_un.d_val);
        if (entry.d_tag == DT_NEEDED) { section.needed.push_back(text); }
        if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) {
            const auto path = resolve_origin(text, file);
            section.search_path.insert(section.search_path.end(), path.begin(), path.end());
        }
    }
    return section;
}

bool is_statically_linked(const fs::path& file) {
    const Image image(file);
    const auto header = image.at<ElfW(Ehdr)>(0);
    if (!header || !is_of_this_machine(*header) || header->e_phnum == 0 ||
        (header->e_type != ET_EXEC && header->e_type != ET_DYN)) {
        return false;
    }
    for (int i = 0; i < header->e_phnum; ++i) {
        const auto segment =
            image.at<ElfW(Phdr)>(header->e_phoff + static_cast<uint64_t>(i) * header->e_phentsize);
        if (!segment || segment->p_type == PT_INTERP) { return false; }
    }
    return true;
}

std::string needed_glibc(const fs::path& file) {
    const Image image(file);
    const auto header = image.at<ElfW(Ehdr)>(0);
    if (!header || !is_of_this_machine(*header)) { return ""; }
    constexpr std::string_view prefix = "GLIBC_2.";
    int newest = -1;
    for (const std::string& name : needed_versions(image, *header)) {
        if (name.starts_with(prefix)) {
            newest = std::max(newest, std::atoi(name.c_str() + prefix.size()));
        }
    }
    return newest < 0 ? "" : "2." + std::to_string(newest);
}

std::optional<NeededMpi> needed_mpi(const fs::path& program) {
    std::optional<NeededMpi> mpi;
    find_needed(program, [&](const std::string& name, const std::vector<std::string>& path) {
        const auto flavor = flavor_of_library(name, path);
        if (flavor) { mpi = NeededMpi{*flavor, find_library(name, path).value_or(fs::path())}; }
        return mpi.has_value();
    });
    return mpi;
}

std::optional<MpiFlavor> mpi_of(const fs::path& program) {
    const auto needed = needed_mpi(program);
    return needed ? std::optional(needed->flavor) : std::nullopt;
}

} // namespace nodeaware::tool
