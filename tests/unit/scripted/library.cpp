#include "tests/unit/scripted/library.hpp"

#include "tests/unit/scripted/functions.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
/// What jobs that ended early have left, and cores that are unloaded, cannot be told from leaks.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { // NOLINT
    return "detect_leaks=0:detect_odr_violation=0";
}
#endif

namespace scripted {

namespace {

namespace fs = std::filesystem;

struct Loaded {
    void* handle;
    const nodeaware::abi::Core* core;
    uintptr_t begin; ///< of its code and data
    uintptr_t end;
};
std::vector<Loaded> loaded;

void find_range(Loaded& library) {
    link_map* map = nullptr;
    if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) != 0) { throw std::runtime_error(dlerror()); }
    library.begin = map->l_addr;
    library.end = library.begin;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            auto& found = *static_cast<Loaded*>(data);
            if (info->dlpi_addr != found.begin) { return 0; }
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                if (part.p_type != PT_LOAD) { continue; }
                found.end =
                    std::max<uintptr_t>(found.end, found.begin + part.p_vaddr + part.p_memsz);
            }
            return 1;
        },
        &library);
}

/// Files of the same content: the loader takes what is in one file for one library.
class Copies {
  public:
    ~Copies() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    const std::string& path(size_t number) {
        if (folder_.empty()) {
            folder_ =
                fs::temp_directory_path() / ("nodeaware-scripted-" + std::to_string(getpid()));
            fs::create_directories(folder_);
        }
        while (paths_.size() <= number) {
            paths_.push_back(folder_ / ("rank-" + std::to_string(paths_.size()) + ".so"));
            fs::copy_file(NODEAWARE_CORE, paths_.back(), fs::copy_options::overwrite_existing);
        }
        return paths_[number];
    }

  private:
    fs::path folder_;
    std::vector<std::string> paths_;
};
Copies copies;

} // namespace

void load_cores(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
        const std::string& path = copies.path(static_cast<size_t>(rank));
        if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != nullptr) {
            throw std::runtime_error(path + " is still loaded");
        }
        void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) { throw std::runtime_error(dlerror()); }
        auto* const entry = reinterpret_cast<nodeaware::abi::CoreEntry>(
            dlsym(handle, nodeaware::abi::core_entry_name));
        loaded.push_back({handle, entry(find_function), 0, 0});
        find_range(loaded.back());
    }
}

bool is_in_core(int rank, const void* address) {
    if (static_cast<size_t>(rank) >= loaded.size()) { return false; }
    const Loaded& library = loaded[static_cast<size_t>(rank)];
    const auto place = reinterpret_cast<uintptr_t>(address);
    return library.begin <= place && place < library.end;
}

const nodeaware::abi::Core* core_of(int rank) { return loaded[static_cast<size_t>(rank)].core; }

void unload_cores() {
    for (const Loaded& library : loaded) { dlclose(library.handle); }
    loaded.clear();
}

} // namespace scripted
