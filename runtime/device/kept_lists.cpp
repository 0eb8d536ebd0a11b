#include "runtime/device/kept_lists.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>

namespace nodeaware::device {

namespace {

/// Of the memory for copies, which others need, too.
constexpr uint64_t most_bytes = HostMemory::most_kept / 4;
constexpr size_t most_lists = 256;
/// Of one: no list needs more, but it may have got a block that was made for something else.
constexpr uint64_t most_bytes_of_one = 16 << 20;

struct Entry {
    size_t hash = 0;
    std::shared_ptr<const KeptList> list;
};

/// What was used last comes first.
struct Lists {
    std::mutex mutex;
    std::list<Entry> entries;
    uint64_t bytes = 0;
};
Lists& lists() {
    static auto* const all = new Lists;
    return *all;
}

size_t hash_of(const std::vector<ListEntry>& runs) {
    static_assert(sizeof(ListEntry) == 3 * sizeof(uint32_t), "no bytes that nobody has set");
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(runs.data()), runs.size() * sizeof(ListEntry)});
}

void forget_last(Lists& all) {
    all.bytes -= all.entries.back().list->memory().bytes();
    all.entries.pop_back();
}

void keep(Lists& all, Entry entry) {
    const uint64_t bytes = entry.list->memory().bytes();
    if (bytes > most_bytes_of_one || !entry.list->memory().can_be_pinned()) { return; }
    while (all.entries.size() == most_lists || all.bytes + bytes > most_bytes) { forget_last(all); }
    all.entries.push_front(std::move(entry));
    all.bytes += bytes;
}

} // namespace

KeptList::KeptList(ListWriter& writer) : runs_(writer.entries()), memory_(writer.prepare()) {
    parts_ = writer.write(memory_.data(), 0).part_count;
}

bool KeptList::is_of(const ListWriter& writer) const {
    return runs_.size() == writer.runs() && std::memcmp(runs_.data(), writer.entries().data(),
                                                        runs_.size() * sizeof(ListEntry)) == 0;
}

KeptList::~KeptList() {
    if (is_lost_) { HostMemory::lose(std::move(memory_)); }
}

std::shared_ptr<const KeptList> kept_list(ListWriter& writer) {
    const size_t hash = hash_of(writer.entries());
    Lists& all = lists();
    const std::lock_guard lock(all.mutex);
    const auto found =
        std::find_if(all.entries.begin(), all.entries.end(), [&](const Entry& entry) {
            return entry.hash == hash && entry.list->is_of(writer);
        });
    if (found != all.entries.end()) {
        all.entries.splice(all.entries.begin(), all.entries, found);
        return found->list;
    }
    auto made = std::make_shared<const KeptList>(writer);
    keep(all, {hash, made});
    return made;
}

void forget_kept_lists() {
    Lists& all = lists();
    const std::lock_guard lock(all.mutex);
    while (!all.entries.empty()) { forget_last(all); }
}

} // namespace nodeaware::device
