#pragma once

#include "runtime/mailboxes/container.hpp"
#include "runtime/memory/shared_memory.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

namespace nodeaware::test {

/// What lies in memory that ranks share, each with its own view of it.
template <class Layout> class Node {
  public:
    Node(int ranks, Layout layout) {
        const SharedMemory memory = SharedMemory::create_alone(layout.memory_bytes());
        for (int rank = 0; rank < ranks; ++rank) {
            layout.attach(views_.emplace_back(memory.second_view()).data());
            layouts_.push_back(layout);
        }
    }
    Layout& operator[](int rank) { return layouts_[static_cast<size_t>(rank)]; }

  private:
    std::vector<SharedMemory> views_;
    std::vector<Layout> layouts_;
};

template <class Run> void side_by_side(int ranks, Run run) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) { threads.emplace_back(run, rank); }
    for (std::thread& thread : threads) { thread.join(); }
}

/// Of the message that goes by that name.
inline std::byte content(uint64_t name, uint64_t i) {
    return static_cast<std::byte>((name * 37 + i * 11) % 251);
}

inline void write(std::byte* at, const container::Item& item) {
    std::memcpy(at, &item, sizeof item);
    for (uint32_t i = 0; i < item.bytes; ++i) { at[sizeof item + i] = content(item.name, i); }
}

inline void append(std::vector<std::byte>& items, const container::Item& item) {
    const size_t at = items.size();
    items.resize(at + container::size_of_item(item.bytes));
    write(items.data() + at, item);
}

inline bool is_intact(const container::Item& item, std::span<const std::byte> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] != content(item.name, i)) { return false; }
    }
    return bytes.size() == item.bytes;
}

/// Of all items; none if they are broken.
inline std::vector<uint64_t> names_in(std::span<const std::byte> items) {
    std::vector<uint64_t> names;
    bool are_intact = true;
    const bool are_well_formed =
        container::for_each_item(items, [&](const container::Item& item, auto bytes) {
            are_intact &= is_intact(item, bytes);
            names.push_back(item.name);
        });
    if (!are_intact || !are_well_formed) { names.clear(); }
    return names;
}

} // namespace nodeaware::test
