// Memory of the host that is pinned: no part of it twice, for the context in which it was done, and
// not where a child of the process would take the pages with it, for those that the parent writes
// to afterwards are others than those which the device has.

#include "tests/device/pinned.hpp"

#include "tests/device/contexts.hpp"
#include "tests/device/driver_function.hpp"
#include "tests/device/stream.hpp"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

struct Pinned {
    std::size_t bytes = 0;
    void* context = nullptr;
};
/// By their beginnings; there until the process has ended, as what is pinned may be.
std::map<const char*, Pinned>& pinned() {
    static auto* const all = new std::map<const char*, Pinned>;
    return *all;
}

/// Its mapping is this process's own, and a child gets a copy of it.
bool goes_to_children(const char* memory) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    std::ifstream maps("/proc/self/smaps");
    bool is_found = false;
    bool is_private = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::string word;
        std::istringstream text(line);
        if (text >> std::hex >> begin >> dash >> end >> word && dash == '-') {
            is_found = begin <= address && address < end;
            is_private = word.size() == 4 && word[3] == 'p';
        } else if (is_found && line.starts_with("VmFlags:")) {
            return is_private && line.find(" dc") == std::string::npos;
        }
    }
    return false;
}

bool is_refused() { return std::getenv("GPU_STAND_IN_PINS_NOTHING") != nullptr; }

} // namespace

Reach reach_of(const char* begin, std::size_t bytes) {
    const char* const end = begin + bytes;
    const auto next = pinned().lower_bound(begin + 1);
    if (next != pinned().begin()) {
        const auto& [first, known] = *std::prev(next);
        if (end <= first + known.bytes) { return Reach::all; }
        if (begin < first + known.bytes) { return Reach::part; }
    }
    return next != pinned().end() && next->first < end ? Reach::part : Reach::none;
}

PinnedRange pinned_range(std::uint64_t address) {
    const auto* const at = reinterpret_cast<const char*>(address);
    const auto next = pinned().upper_bound(at);
    if (next == pinned().begin()) { return {}; }
    const auto& [first, known] = *std::prev(next);
    return at < first + known.bytes ? PinnedRange{first, known.bytes, known.context}
                                    : PinnedRange{};
}

void forget_pinned(const Context* context) {
    std::erase_if(pinned(), [&](const auto& one) { return one.second.context == context; });
}

DRIVER cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned /*flags*/) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    if (is_refused()) { return out_of_memory; }
    const auto* const begin = static_cast<const char*>(memory);
    if (reach_of(begin, bytes) != Reach::none) {
        ++counts().pinned_again;
        return already_pinned;
    }
    counts().pinned_and_copied += goes_to_children(begin) ? 1 : 0;
    pinned()[begin] = {bytes, current_context()};
    return success;
}
DRIVER cuMemHostUnregister(void* memory) {
    MAY_FAIL
    UNSAFE_IN_CAPTURE
    const std::lock_guard lock(driver_mutex());
    if (current_context() == nullptr) { return invalid_context; }
    end_copies();
    return pinned().erase(static_cast<const char*>(memory)) > 0 ? success : not_pinned;
}

extern "C" __attribute__((visibility("default"))) StandInCounts stand_in_counts() {
    const std::lock_guard lock(driver_mutex());
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    StandInCounts now = counts();
    count_streams(now);
    now.pinned = pinned().size();
    now.modules = modules_there();
    for (const auto& [begin, known] : pinned()) {
        const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
        const std::size_t length = reinterpret_cast<std::uintptr_t>(begin) + known.bytes - first;
        std::vector<unsigned char> pages((length + page - 1) / page);
        const bool is_there = mincore(reinterpret_cast<void*>(first), length, pages.data()) == 0;
        now.pinned_and_gone += is_there ? 0 : 1;
    }
    return now;
}
