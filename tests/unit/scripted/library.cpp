#include "tests/unit/scripted/library.hpp"

#include "tests/unit/scripted/functions.hpp"

#include <dlfcn.h>
#include <filesystem>
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
};
std::vector<Loaded> loaded;

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
        loaded.push_back({handle, entry(find_function)});
    }
}

const nodeaware::abi::Core* core_of(int rank) { return loaded[static_cast<size_t>(rank)].core; }

void unload_cores() {
    for (const Loaded& library : loaded) { dlclose(library.handle); }
    loaded.clear();
}

} // namespace scripted
