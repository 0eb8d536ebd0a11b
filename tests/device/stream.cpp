#include "tests/device/stream.hpp"

#include "tests/device/copy_engine.hpp"

#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace {

std::map<const char*, std::size_t> pinned;

bool is_pinned(const char* begin, std::size_t bytes) {
    auto next = pinned.upper_bound(begin);
    if (next == pinned.begin()) { return false; }
    --next;
    return begin + bytes <= next->first + next->second;
}

struct Copy {
    std::size_t direction = 0;
    char* to = nullptr;
    const char* from = nullptr; ///< nullptr: `read`
    std::size_t bytes = 0;
    std::vector<char> read; ///< of a source that is not pinned
};
std::vector<Copy> under_way;

} // namespace

bool pin(const void* memory, std::size_t bytes) {
    return pinned.emplace(static_cast<const char*>(memory), bytes).second;
}

bool unpin(const void* memory) { return pinned.erase(static_cast<const char*>(memory)) == 1; }

bool begin_copy(std::size_t direction, char* to, const char* from, std::size_t bytes) {
    const bool is_to_device = direction == 0;
    const bool is_direct = direction == within_device || is_pinned(is_to_device ? from : to, bytes);
    Copy copy{direction, to, from, bytes, {}};
    if (is_to_device && !is_direct) {
        copy.read.assign(from, from + bytes);
        copy.from = nullptr;
    }
    under_way.push_back(std::move(copy));
    std::memset(to, 0xab, bytes);
    return is_direct;
}

void end_copies() {
    for (const Copy& copy : under_way) {
        const char* const from = copy.from != nullptr ? copy.from : copy.read.data();
        copy_as_a_device(copy.direction, copy.to, from, copy.bytes);
    }
    under_way.clear();
}
