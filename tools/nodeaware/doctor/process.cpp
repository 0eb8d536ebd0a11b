#include "tools/nodeaware/doctor/process.hpp"

#include "runtime/job/options.hpp"
#include "tools/nodeaware/doctor/words.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gnu/libc-version.h>
#include <iterator>
#include <link.h>
#include <sstream>
#include <unistd.h>

namespace nodeaware::tool::doctor {

namespace {

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::vector<std::string> preloads() {
    const char* const value = std::getenv("LD_PRELOAD");
    std::string text = value == nullptr ? "" : value;
    std::replace(text.begin(), text.end(), ':', ' '); // the loader takes both
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

/// Files of shared objects in the order in which symbols are sought.
std::vector<std::string> loaded_files() {
    std::vector<std::string> files;
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t /*size*/, void* list) {
            const std::string file = object->dlpi_name;
            if (!file.empty()) { static_cast<std::vector<std::string>*>(list)->push_back(file); }
            return 0;
        },
        &files);
    return files;
}

/// Whether this file itself, rather than one that it needs, has the symbol.
bool defines(void* library, const std::string& file, const char* symbol) {
    void* const address = dlsym(library, symbol);
    Dl_info found{};
    return address != nullptr && dladdr(address, &found) != 0 && file == found.dli_fname;
}

bool has_mpi_functions(const std::string& file) {
    void* const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) { return false; }
    constexpr std::array names = {"MPI_Init",      "MPI_Init_thread", "MPI_Finalize", "MPI_Isend",
                                  "MPI_Send",      "MPI_Recv",        "MPI_Irecv",    "MPI_Waitall",
                                  "MPI_Allreduce", "MPI_Alltoall",    "MPI_Alltoallv"};
    const bool has_one = std::any_of(
        names.begin(), names.end(), [&](const char* name) { return defines(library, file, name); });
    dlclose(library);
    return has_one;
}

/// libmpiP.so is a tool.
bool is_of_mpi(const std::string& name) {
    constexpr std::array beginnings = {"libmpi.so", "libmpi_", "libmpich", "libmpifort", "libpmpi"};
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const char* beginning) { return name.starts_with(beginning); });
}

bool is_mpi_itself(const std::string& name) {
    constexpr std::array beginnings = {"libmpi.so", "libmpich.so", "libmpi_abi.so"};
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const char* beginning) { return name.starts_with(beginning); });
}

std::string folder_of(const std::string& file) { return file.substr(0, file.rfind('/') + 1); }

/// Why the core cannot be loaded, as the preloaded library would; empty: it can.
std::string try_core(const std::string& core) {
    void* const library = dlopen(core.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const why = dlerror();
        return why == nullptr ? "unknown" : why;
    }
    return dlsym(library, "nodeaware_core") == nullptr ? core + " is none" : "";
}

/// A text that two files share only if their bytes are the same.
std::string identity_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    std::array<char, 1 << 16> block{};
    std::uint64_t bytes = 0;
    while (stream.read(block.data(), block.size()) || stream.gcount() > 0) {
        for (std::streamsize i = 0; i < stream.gcount(); ++i) {
            hash =
                (hash ^ static_cast<unsigned char>(block[static_cast<size_t>(i)])) * 0x100000001b3;
        }
        bytes += static_cast<std::uint64_t>(stream.gcount());
    }
    return bytes == 0 ? "" : std::to_string(bytes) + "." + std::to_string(hash);
}

std::vector<std::string> settings() {
    std::vector<std::string> list = process_environment();
    std::erase_if(list, [](const std::string& entry) { return !entry.starts_with("NODEAWARE_"); });
    std::sort(list.begin(), list.end());
    return list;
}

} // namespace

RankFacts facts_of_process(MpiFlavor flavor) {
    RankFacts facts;
    facts.host = host_name();
    facts.libc = gnu_get_libc_version();
    facts.preloads = preloads();
    facts.settings = settings();
    for (const std::string& file : loaded_files()) {
        const std::string name = name_in(file);
        if (name == "libnodeaware.so") {
            facts.library = file;
        } else if (is_mpi_itself(name)) {
            std::error_code error;
            facts.mpi_file = std::filesystem::canonical(file, error).string();
        } else if (!is_of_mpi(name) && has_mpi_functions(file)) {
            facts.tools.push_back(file);
        }
    }
    for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "FLUX_JOB_SIZE",
                                   "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
        if (const char* const value = std::getenv(name)) { facts.launcher[name] = value; }
    }
    if (!facts.library.empty()) {
        facts.core = folder_of(facts.library) + "libnodeaware-" + tool::name_of(flavor) + ".so";
        facts.core_error = try_core(facts.core);
        if (facts.core_error.empty()) {
            facts.identity = identity_of(facts.library) + "/" + identity_of(facts.core);
        }
    }
    return facts;
}

} // namespace nodeaware::tool::doctor
