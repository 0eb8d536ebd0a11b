#include "tools/simulate/cores.hpp"

#include "tools/simulate/mpi_functions.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <link.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include <vector>

namespace nodeaware::simulation {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

class File {
  public:
    File(const std::string& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC)) {
        if (descriptor_ < 0) { fail(path); }
    }
    ~File() { close(descriptor_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
};

template <class Part> Part read_part(const File& file, uint64_t offset) {
    Part part{};
    if (pread(file.descriptor(), &part, sizeof part, static_cast<off_t>(offset)) != sizeof part) {
        fail("the headers of the core");
    }
    return part;
}

/// Bytes of a library that are loaded; behind them is what debuggers read, most of the file.
uint64_t loaded_bytes(const File& library) {
    const auto header = read_part<ElfW(Ehdr)>(library, 0);
    uint64_t end = 0;
    for (int i = 0; i < header.e_phnum; ++i) {
        const auto part = read_part<ElfW(Phdr)>(library, header.e_phoff + static_cast<uint64_t>(i) *
                                                                              header.e_phentsize);
        if (part.p_type == PT_LOAD) {
            end = std::max<uint64_t>(end, part.p_offset + part.p_filesz);
        }
    }
    return end;
}

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

/// The loader takes what is in one file for one library: each core has a file, which loses its name
/// once it is loaded.
class Copy {
  public:
    explicit Copy(const std::string& original)
        : path_(fs::temp_directory_path() / "nodeaware-core-XXXXXX") {
        const int made = mkstemp(path_.data());
        if (made < 0) { fail(path_); }
        close(made);
        const File from(original, O_RDONLY);
        const File to(path_, O_WRONLY);
        for (uint64_t left = loaded_bytes(from); left > 0;) {
            const ssize_t copied = sendfile(to.descriptor(), from.descriptor(), nullptr, left);
            if (copied <= 0) { fail(path_); }
            left -= static_cast<uint64_t>(copied);
        }
    }
    ~Copy() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    const std::string& path() const { return path_; }

    /// Of a file that is gone a later one gets the number, by which the loader would take the next
    /// core for this one. So the file stays, empty, as long as the process, for a page of it is
    /// mapped: that needs no descriptor, and nobody has to clean up.
    void keep_number() const {
        const File file(path_, O_RDWR);
        if (ftruncate(file.descriptor(), 0) != 0 ||
            mmap(nullptr, page_size(), PROT_NONE, MAP_PRIVATE, file.descriptor(), 0) ==
                MAP_FAILED) {
            fail(path_);
        }
    }

  private:
    std::string path_;
};

struct Sharing {
    uintptr_t base = 0;
    int original = -1;
    bool is_done = true;
};

/// Pages of a library that is loaded.
struct Pages {
    void* begin;
    size_t size;
    off_t offset; ///< in the file
};

Pages pages_of(const dl_phdr_info& info, const ElfW(Phdr) & part) {
    const uintptr_t page = page_size();
    const uintptr_t begin = (info.dlpi_addr + part.p_vaddr) / page * page;
    const uintptr_t end = (info.dlpi_addr + part.p_vaddr + part.p_filesz + page - 1) / page * page;
    return {reinterpret_cast<void*>(begin), end - begin,
            static_cast<off_t>(part.p_offset / page * page)};
}

/// What is not written to is put back on the pages of the original, which all copies share.
bool share(const Pages& pages, int access, int original) {
    return mmap(pages.begin, pages.size, access, MAP_PRIVATE | MAP_FIXED, original, pages.offset) !=
           MAP_FAILED;
}

/// What is written to keeps its contents, and nothing of the file.
bool detach(const Pages& pages) {
    const auto* const bytes = static_cast<const std::byte*>(pages.begin);
    const std::vector<std::byte> contents(bytes, bytes + pages.size);
    if (mmap(pages.begin, pages.size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        return false;
    }
    std::memcpy(pages.begin, contents.data(), contents.size());
    return true;
}

/// So nothing of the file of the copy is needed any more, and it takes no memory.
int share_segments(dl_phdr_info* info, size_t /*size*/, void* data) {
    auto& sharing = *static_cast<Sharing*>(data);
    if (info->dlpi_addr != sharing.base) { return 0; }
    for (int i = 0; i < info->dlpi_phnum && sharing.is_done; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD) { continue; }
        const Pages pages = pages_of(*info, part);
        const int access = PROT_READ | ((part.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
        sharing.is_done =
            (part.p_flags & PF_W) != 0 ? detach(pages) : share(pages, access, sharing.original);
    }
    return 1;
}

void share_code(void* library, const Copy& copy, const std::string& file) {
    link_map* map = nullptr;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) { throw std::runtime_error(dlerror()); }
    if (copy.path() != map->l_name) {
        throw std::runtime_error(copy.path() + ": the loader takes it for " + map->l_name);
    }
    const File original(file, O_RDONLY);
    Sharing sharing{map->l_addr, original.descriptor()};
    dl_iterate_phdr(share_segments, &sharing);
    if (!sharing.is_done) { fail("mmap of " + file); }
}

} // namespace

LoadedCore load_core(const std::string& file) {
    const Copy copy(file);
    LoadedCore loaded;
    loaded.library = dlopen(copy.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded.library == nullptr) { throw std::runtime_error(dlerror()); }
    share_code(loaded.library, copy, file);
    copy.keep_number();
    const auto entry =
        reinterpret_cast<abi::CoreEntry>(dlsym(loaded.library, abi::core_entry_name));
    loaded.core = entry == nullptr ? nullptr : entry(find_function);
    if (loaded.core == nullptr || loaded.core->size != sizeof(abi::Core) ||
        loaded.core->sources() != abi::sources()) {
        throw std::runtime_error(file + ": no core of this version");
    }
    return loaded;
}

} // namespace nodeaware::simulation
