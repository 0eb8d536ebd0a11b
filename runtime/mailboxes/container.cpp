#include "runtime/mailboxes/container.hpp"

#include "strategies/hash.hpp"

#include <algorithm>
#include <map>
#include <new>

namespace nodeaware::container {

namespace {

template <class Value> Value read(std::span<const std::byte> bytes, uint64_t at) {
    Value value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

template <class Value>
std::span<const Value> list(std::span<const std::byte> bytes, uint64_t at, uint32_t count) {
    if (count == 0) { return {}; }
    return {std::launder(reinterpret_cast<const Value*>(bytes.data() + at)), count};
}

} // namespace

Sorted sort(std::span<const std::byte> items) {
    std::map<uint32_t, Part> parts;
    for_each_item(items, [&](const Item& item, std::span<const std::byte>) {
        if (item.name == 0) { return; }
        Part& part = parts[item.destination];
        part.destination = item.destination;
        part.bytes += static_cast<uint32_t>(size_of_item(item.bytes));
    });
    Sorted sorted;
    uint32_t total = 0;
    for (auto& [destination, part] : parts) {
        part.offset = total;
        total += part.bytes;
        sorted.parts.push_back(part);
    }
    sorted.items.resize(total);
    for_each_item(items, [&](const Item& item, std::span<const std::byte> message) {
        if (item.name == 0) { return; }
        uint32_t& at = parts[item.destination].offset;
        const uint64_t size = size_of_item(item.bytes);
        std::memcpy(sorted.items.data() + at, message.data() - sizeof item, size);
        at += static_cast<uint32_t>(size);
    });
    return sorted;
}

std::vector<std::byte> assemble(std::span<const Part> parts, std::span<const std::byte> all_items,
                                const std::vector<Credit>& credits, uint64_t generation) {
    const uint64_t before =
        sizeof(Head) + credits.size() * sizeof(Credit) + parts.size() * sizeof(Part);
    const uint64_t first = parts.empty() ? 0 : parts.front().offset;
    const auto items =
        parts.empty() ? std::span<const std::byte>()
                      : all_items.subspan(first, parts.back().offset + parts.back().bytes - first);
    std::vector<std::byte> bytes(before + items.size());
    uint64_t at = sizeof(Head);
    for (const Credit& credit : credits) {
        std::memcpy(bytes.data() + at, &credit, sizeof credit);
        at += sizeof credit;
    }
    for (Part part : parts) {
        part.offset += static_cast<uint32_t>(before - first);
        std::memcpy(bytes.data() + at, &part, sizeof part);
        at += sizeof part;
    }
    if (!items.empty()) { std::memcpy(bytes.data() + at, items.data(), items.size()); }
    Head head;
    head.generation = generation;
    head.bytes = static_cast<uint32_t>(bytes.size());
    head.credits = static_cast<uint32_t>(credits.size());
    head.parts = static_cast<uint32_t>(parts.size());
    std::memcpy(bytes.data(), &head, sizeof head);
    head.hash = hash_of(std::span(bytes).subspan(sizeof head.hash));
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

std::vector<std::span<const Part>> cut(std::span<const Part> parts, uint64_t bytes) {
    std::vector<std::span<const Part>> lists;
    size_t first = 0;
    uint64_t total = sizeof(Head);
    for (size_t i = 0; i < parts.size(); ++i) {
        const uint64_t more = parts[i].bytes + sizeof(Part);
        if (i > first && total + more > bytes) {
            lists.push_back(parts.subspan(first, i - first));
            first = i;
            total = sizeof(Head);
        }
        total += more;
    }
    if (first < parts.size()) { lists.push_back(parts.subspan(first)); }
    return lists;
}

bool is_whole(std::span<const std::byte> cell, uint64_t generation) {
    if (cell.size() < sizeof(Head)) { return false; }
    const auto head = read<Head>(cell, 0);
    const bool is_possible =
        head.generation == generation && head.bytes >= sizeof head && head.bytes <= cell.size();
    return is_possible &&
           hash_of(cell.subspan(sizeof head.hash, head.bytes - sizeof head.hash)) == head.hash;
}

std::span<const Part> parts_of(std::span<const std::byte> cell) noexcept {
    const auto head = read<Head>(cell, 0);
    return list<Part>(cell, sizeof head + head.credits * sizeof(Credit), head.parts);
}

std::span<const Credit> credits_of(std::span<const std::byte> cell) noexcept {
    const auto head = read<Head>(cell, 0);
    return list<Credit>(cell, sizeof head, head.credits);
}

} // namespace nodeaware::container
