// Kernels of the stand-in. There is one, the library's, whose text or fatbin has to be that of this
// build; it runs late in its stream, from the same source, and reaches what it may: ordinary memory
// of the device of its context, and pinned memory of the host at the address that the driver tells
// for it, which is not the host's. What a GPU would end the context for ends the program.
//
// GPU_STAND_IN_KERNELS: refused (neither text nor fatbin is taken), text (no fatbin is taken),
// fatbin (no text is taken), wrong (one byte of what is copied), failing (none is launched), old (a
// driver that has no numbers for contexts).

#include "runtime/device/kernels/list_copy.hpp"
#include "runtime/device/list_copy_fatbin.hpp"
#include "runtime/device/list_copy_ptx.hpp"
#include "tests/device/driver_function.hpp"
#include "tests/device/pinned.hpp"
#include "tests/device/stream.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using nodeaware::device::copy_as_thread;
using nodeaware::device::CopyList;
using nodeaware::device::ListEntry;
using nodeaware::device::ListPart;

constexpr int no_binary = 209;
constexpr int invalid_image = 218;
constexpr int not_found = 500;
constexpr int launch_failed = 719;
/// What devices have for memory of the host is elsewhere.
constexpr std::uint64_t seen_by_devices = std::uint64_t{1} << 62U;

struct Module {
    void* context = nullptr;
    unsigned long long number = 0; ///< of the context
};
std::map<void*, Module>& modules() {
    static auto* const all = new std::map<void*, Module>;
    return *all;
}

bool is_there(const Module& module) { return number_of(module.context) == module.number; }

/// The module, if this thread may use it. Its only function has the same handle.
bool is_usable(void* handle) {
    const auto found = modules().find(handle);
    return found != modules().end() && is_there(found->second) &&
           found->second.context == current_context();
}

bool is_wanted(const char* fault) {
    const char* const wanted = std::getenv("GPU_STAND_IN_KERNELS");
    return wanted != nullptr && std::strcmp(wanted, fault) == 0;
}

[[noreturn]] void end_with(const char* what) {
    std::fprintf(stderr, "stand-in: a kernel %s\n", what);
    std::abort();
}

/// Where the host has bytes that a kernel reads or writes.
char* reach(std::uint64_t address, std::size_t bytes, bool* is_on_device) {
    *is_on_device = address < seen_by_devices;
    char* found = nullptr;
    if (*is_on_device) {
        found = find_bytes(address, bytes);
    } else {
        found = reinterpret_cast<char*>(address - seen_by_devices);
        if (reach_of(found, bytes) != Reach::all) { found = nullptr; }
    }
    if (found == nullptr) { end_with("touches what it does not reach"); }
    return found;
}

template <class Item> std::vector<Item> read(std::uint64_t address, std::size_t count) {
    bool is_on_device = false;
    std::vector<Item> items(count);
    const char* const from = reach(address, count * sizeof(Item), &is_on_device);
    if (address % alignof(Item) != 0) { end_with("reads what is not aligned"); }
    std::memcpy(static_cast<void*>(items.data()), from, count * sizeof(Item));
    return items;
}

/// A launch: the list as it was then, and as the host sees it.
struct Launch {
    CopyList given{}, here{};
    unsigned blocks = 0;
    std::vector<ListPart> parts;
    std::vector<ListEntry> entries;
    std::uint64_t device_bytes = 0;

    void look_at_list() {
        parts = read<ListPart>(given.parts, given.part_count);
        std::size_t count = 0;
        for (const ListPart& part : parts) {
            count = std::max<std::size_t>(count, part.first + part.entries);
        }
        entries = read<ListEntry>(given.entries, count);
        here = given;
        bool is_on_device = false;
        here.parts = address_of(reach(given.parts, 1, &is_on_device));
        here.entries = address_of(reach(given.entries, 1, &is_on_device));
        for (std::size_t i = 0; i < count; ++i) { look_at(entries[i], i == 0); }
    }
    void look_at(const ListEntry& entry, bool is_first) {
        bool are_on_device[2] = {false, false};
        char* const to = reach(given.to + entry.to, entry.bytes, &are_on_device[0]);
        const char* const from = reach(given.from + entry.from, entry.bytes, &are_on_device[1]);
        const std::uint64_t bases[2] = {address_of(to) - entry.to, address_of(from) - entry.from};
        if (is_first) {
            here.to = bases[0];
            here.from = bases[1];
        }
        if (here.to != bases[0] || here.from != bases[1]) { end_with("mixes kinds of memory"); }
        if (are_on_device[0] || are_on_device[1]) { device_bytes += entry.bytes; }
        std::memset(to, 0xab, entry.bytes);
    }
    void run() const {
        const bool is_same = same(read<ListPart>(given.parts, parts.size()), parts) &&
                             same(read<ListEntry>(given.entries, entries.size()), entries);
        if (!is_same) { end_with("finds another list than it was launched with"); }
        for (unsigned block = 0; block < blocks; ++block) {
            for (unsigned thread = 0; thread < nodeaware::device::list_block; ++thread) {
                copy_as_thread(here, block, blocks, thread);
            }
        }
        if (is_wanted("wrong")) {
            reinterpret_cast<char*>(here.to + entries.back().to)[entries.back().bytes / 2] ^= 4;
        }
    }
    bool touches(const char* begin, std::size_t bytes) const {
        const std::uint64_t other = address_of(begin);
        const auto meets = [&](std::uint64_t first, std::size_t length) {
            return first < other + bytes && other < first + length;
        };
        return std::any_of(entries.begin(), entries.end(), [&](const ListEntry& entry) {
            return meets(here.to + entry.to, entry.bytes) ||
                   meets(here.from + entry.from, entry.bytes);
        });
    }

  private:
    static std::uint64_t address_of(const char* bytes) {
        return reinterpret_cast<std::uintptr_t>(bytes);
    }
    template <class Item>
    static bool same(const std::vector<Item>& one, const std::vector<Item>& other) {
        return std::memcmp(one.data(), other.data(), one.size() * sizeof(Item)) == 0;
    }
};

/// Fatbins do not tell how long they are: what is none may be shorter.
bool is_fatbin(const void* image) {
    using nodeaware::device::list_copy_fatbin;
    const auto* const bytes = static_cast<const unsigned char*>(image);
    for (std::size_t i = 0; i < sizeof(list_copy_fatbin); ++i) {
        if (bytes[i] != list_copy_fatbin[i]) { return false; }
    }
    return nodeaware::device::has_list_copy_fatbin;
}

/// As the text of the kernel has it.
std::size_t bytes_of_argument() {
    const std::string name = "nodeaware_list_copy_param_0[";
    const char* const found = std::strstr(nodeaware::device::list_copy_ptx, name.c_str());
    return found == nullptr ? 0 : static_cast<std::size_t>(std::atoi(found + name.size()));
}

} // namespace

std::size_t modules_there() {
    return static_cast<std::size_t>(
        std::count_if(modules().begin(), modules().end(),
                      [](const auto& entry) { return is_there(entry.second); }));
}

DRIVER cuCtxGetId(void* context, unsigned long long* number) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (is_wanted("old")) { return invalid_value; }
    *number = number_of(context);
    return *number != 0 ? success : invalid_context;
}
DRIVER cuModuleLoadData(void** module, const void* image) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    const auto* const text = static_cast<const char*>(image);
    const bool is_binary = is_fatbin(image);
    const bool is_known = is_binary || std::strcmp(text, nodeaware::device::list_copy_ptx) == 0;
    if (!is_known || is_wanted("refused") || is_wanted(is_binary ? "text" : "fatbin")) {
        return is_binary ? no_binary : invalid_image;
    }
    *module = new char;
    modules()[*module] = {current_context(), number_of(current_context())};
    return success;
}
DRIVER cuModuleUnload(void* module) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    if (!is_usable(module)) { return invalid_handle; }
    end_copies();
    modules().erase(module);
    delete static_cast<char*>(module);
    return success;
}
DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (!is_usable(module)) { return invalid_handle; }
    const std::string entry = std::string(".entry ") + name + "(";
    if (std::strstr(nodeaware::device::list_copy_ptx, entry.c_str()) == nullptr) {
        return not_found;
    }
    *function = module;
    return success;
}
DRIVER cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* memory, unsigned flags) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    const bool is_right = flags == 0 && reach_of(static_cast<const char*>(memory), 1) == Reach::all;
    *address = reinterpret_cast<std::uintptr_t>(memory) + seen_by_devices;
    return is_right ? success : invalid_value;
}
DRIVER cuLaunchKernel(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                      unsigned threads_x, unsigned threads_y, unsigned threads_z,
                      unsigned shared_bytes, void* stream, void** parameters, void** extra) {
    MAY_FAIL
    const std::lock_guard lock(driver_mutex());
    if (!is_usable(function)) { return invalid_handle; }
    if (!is_a_stream(stream) || blocks_x == 0 || blocks_y != 1 || blocks_z != 1 ||
        threads_x != nodeaware::device::list_block || threads_y != 1 || threads_z != 1 ||
        shared_bytes != 0 || parameters != nullptr || extra == nullptr) {
        return invalid_value;
    }
    const auto key = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(extra[i]); };
    Launch launch;
    launch.blocks = blocks_x;
    const bool is_argument = key(0) == 1 && key(2) == 2 && key(4) == 0 &&
                             *static_cast<std::size_t*>(extra[3]) == bytes_of_argument() &&
                             bytes_of_argument() == sizeof(launch.given);
    if (!is_argument) { return invalid_value; }
    if (is_wanted("failing")) { return launch_failed; }
    std::memcpy(&launch.given, extra[1], sizeof(launch.given));
    launch.look_at_list();
    ++counts().launches;
    counts().bytes += launch.device_bytes;
    const auto shared = std::make_shared<const Launch>(std::move(launch));
    begin_work(
        stream, [shared] { shared->run(); },
        [shared](const char* begin, std::size_t bytes) { return shared->touches(begin, bytes); });
    return success;
}
