#include "runtime/point_to_point/unexpected.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <list>
#include <random>
#include <vector>

namespace nodeaware {

namespace {

/// What MPI says: the first in the order of arrival that the receive accepts, of those that come
/// first on their channels and may be had.
class Plain {
  public:
    void add(const wire::Entry& entry) { entries_.push_back(entry); }
    const wire::Entry* find(int source, int tag, uint32_t refused) const {
        std::vector<Channel> seen;
        for (const wire::Entry& entry : entries_) {
            const Channel channel{entry.source, entry.tag};
            if (std::find(seen.begin(), seen.end(), channel) != seen.end()) { continue; }
            seen.push_back(channel);
            const bool is_wanted = (source == MPI_ANY_SOURCE || source == entry.source) &&
                                   (tag == MPI_ANY_TAG || tag == entry.tag);
            if (is_wanted && entry.flags != refused) { return &entry; }
        }
        return nullptr;
    }
    void take(uint32_t sequence) {
        entries_.remove_if([=](const wire::Entry& entry) { return entry.sequence == sequence; });
    }
    std::vector<uint32_t> take_all(int source) {
        std::vector<uint32_t> taken;
        for (const wire::Entry& entry : entries_) {
            if (entry.source == source) { taken.push_back(entry.sequence); }
        }
        entries_.remove_if([=](const wire::Entry& entry) { return entry.source == source; });
        return taken;
    }
    bool has(int source) const { return find(source, MPI_ANY_TAG, ~0U) != nullptr; }
    bool empty() const { return entries_.empty(); }

  private:
    std::list<wire::Entry> entries_;
};

} // namespace

TEST(Unexpected, GivesMessagesInTheOrderOfMpi) {
    std::mt19937 random(7);
    const auto draw = [&](int low, int high) {
        return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    Unexpected unexpected;
    Plain plain;
    for (uint32_t step = 0; step < 20000; ++step) {
        const int source = draw(0, 9) == 0 ? MPI_ANY_SOURCE : draw(0, 3);
        const int tag = draw(0, 2) == 0 ? MPI_ANY_TAG : draw(0, 5);
        const int what = draw(0, 99);
        if (what == 0) {
            const int from = draw(0, 3);
            std::vector<uint32_t> taken;
            for (const auto& message : unexpected.take_all(from)) {
                taken.push_back(message.entry.sequence);
            }
            ASSERT_EQ(taken, plain.take_all(from));
        } else if (what < 50) {
            const wire::Entry entry{draw(0, 3), draw(0, 5), step, static_cast<uint32_t>(draw(0, 4)),
                                    0};
            unexpected.add({entry, nullptr});
            plain.add(entry);
        } else {
            const auto refused = static_cast<uint32_t>(draw(0, 9));
            const wire::Entry* const wanted = plain.find(source, tag, refused);
            const wire::Arrived* const found = unexpected.find(
                source, tag, [=](const wire::Entry& entry) { return entry.flags != refused; });
            ASSERT_EQ(found == nullptr, wanted == nullptr);
            if (found == nullptr) { continue; }
            ASSERT_EQ(found->entry.sequence, wanted->sequence);
            const uint32_t sequence = unexpected.take(*found).entry.sequence;
            ASSERT_EQ(sequence, wanted->sequence);
            plain.take(sequence);
        }
        ASSERT_EQ(unexpected.empty(), plain.empty());
        for (int from = 0; from < 4; ++from) { ASSERT_EQ(unexpected.has(from), plain.has(from)); }
    }
}

TEST(Unexpected, KeepsNothingElseThatCameWithASmallMessage) {
    constexpr uint64_t bytes = 5000;
    constexpr uint64_t at = 24;
    std::shared_ptr<std::byte> container(new std::byte[bytes], std::default_delete<std::byte[]>());
    for (uint64_t i = 0; i < bytes; ++i) { container.get()[i] = std::byte(i % 251); }
    const std::weak_ptr<std::byte> alive = container;
    Unexpected unexpected;
    const auto add = [&](int tag, uint64_t size, uint32_t flags) {
        const wire::Entry entry{1, tag, 0, flags, size};
        unexpected.add({entry, wire::Bytes(container, container.get() + at)});
    };
    add(0, 4, 0);
    add(1, 0, 0);
    add(2, 1000000, wire::straight); // its bytes come otherwise
    add(3, bytes - at, 0);
    const auto take = [&](int tag) {
        return unexpected.take(
            *unexpected.find(1, tag, [](const wire::Entry& /*entry*/) { return true; }));
    };
    container.reset();
    EXPECT_FALSE(alive.expired());
    take(3);
    EXPECT_TRUE(alive.expired());
    const wire::Arrived small = take(0);
    for (uint64_t i = 0; i < 4; ++i) { EXPECT_EQ(small.bytes.get()[i], std::byte(at + i)); }
    EXPECT_NE(take(1).bytes, nullptr);
    EXPECT_TRUE(take(2).is_straight());
}

} // namespace nodeaware
