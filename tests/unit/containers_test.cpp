#include "runtime/point_to_point/containers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace nodeaware {

namespace {

constexpr int ranks = 3;
constexpr uint64_t message_bytes = 8;

struct alignas(64) Line {
    std::byte bytes[64];
};

/// A node whose ranks all send to one rank elsewhere.
class Node {
  public:
    Node() {
        batches::Container container;
        container.destination = 9;
        for (int local = 0; local < ranks; ++local) {
            container.members.push_back({local, stream(local)});
        }
        for (int local = 0; local < ranks; ++local) {
            views_.push_back(std::make_unique<Containers>(std::vector{container}, local));
        }
        memory_.resize(views_[0]->memory_bytes() / sizeof(Line) + 1);
        for (const auto& view : views_) { view->attach(memory_[0].bytes); }
    }
    static batches::Stream stream(int local) { return {9, local, message_bytes}; }
    Containers& of(int local) { return *views_[static_cast<size_t>(local)]; }

  private:
    std::vector<Line> memory_;
    std::vector<std::unique_ptr<Containers>> views_;
};

/// Puts a message in; true if the cell is to be sent.
bool contribute(Containers& containers, const Containers::Reservation& place, int local,
                uint64_t value, double seconds, bool* is_in) {
    std::byte* const slot = containers.reserve(place, seconds);
    *is_in = slot != nullptr;
    if (slot == nullptr) { return false; }
    const wire::Entry entry{local, local, 0, 0, message_bytes};
    std::memcpy(slot, &entry, sizeof entry);
    std::memcpy(slot + sizeof entry, &value, sizeof value);
    return containers.commit(place);
}

TEST(Containers, AnyRankFindsWhatIsOverdue) {
    Node node;
    bool is_in = false;
    const auto place = node.of(0).next_reservation(Node::stream(0));
    ASSERT_TRUE(place);
    EXPECT_TRUE(node.of(2).overdue(100).empty());
    EXPECT_FALSE(contribute(node.of(0), *place, 0, 1, 5, &is_in));
    EXPECT_TRUE(node.of(2).overdue(4).empty());
    const auto overdue = node.of(2).overdue(6);
    ASSERT_EQ(overdue.size(), 1U);
    EXPECT_TRUE(node.of(2).close(overdue[0]));
    EXPECT_TRUE(node.of(1).overdue(6).empty());
    EXPECT_FALSE(node.of(1).close(overdue[0]));
    EXPECT_EQ(node.of(2).take(overdue[0]).size(), wire::size_of(message_bytes));
    EXPECT_TRUE(node.of(0).is_closed(*place));
    EXPECT_TRUE(node.of(1).overdue(6).empty());
    // Those who come later are too late.
    const auto late = node.of(1).next_reservation(Node::stream(1));
    contribute(node.of(1), *late, 1, 1, 7, &is_in);
    EXPECT_FALSE(is_in);
}

/// Ranks that contribute again and again, while others close whatever they find: each message is
/// sent once.
TEST(Containers, NothingIsLostOrSentTwice) {
    constexpr uint64_t repetitions = 100000;
    Node node;
    std::vector<std::vector<std::atomic<int>>> sent(ranks);
    std::vector<std::vector<char>> alone(ranks, std::vector<char>(repetitions, 0));
    for (auto& list : sent) { list = std::vector<std::atomic<int>>(repetitions); }
    const auto send = [&](Containers& containers, const Containers::Reservation& place) {
        const std::vector<std::byte> bytes = containers.take(place);
        for (size_t at = 0; at < bytes.size(); at += wire::size_of(message_bytes)) {
            wire::Entry entry;
            uint64_t value = 0;
            std::memcpy(&entry, bytes.data() + at, sizeof entry);
            std::memcpy(&value, bytes.data() + at + sizeof entry, sizeof value);
            ++sent[static_cast<size_t>(entry.source)][value];
        }
    };
    const auto run = [&](int local) {
        Containers& containers = node.of(local);
        for (uint64_t i = 0; i < repetitions; ++i) {
            const auto place = containers.next_reservation(Node::stream(local));
            bool is_in = false;
            if (place && contribute(containers, *place, local, i, 1, &is_in)) {
                send(containers, *place);
            }
            alone[static_cast<size_t>(local)][i] = is_in ? 0 : 1;
            if (i % 16 == 0) {
                for (const auto& overdue : containers.overdue(2)) {
                    if (containers.close(overdue)) { send(containers, overdue); }
                }
            }
        }
    };
    std::vector<std::thread> threads;
    for (int local = 0; local < ranks; ++local) { threads.emplace_back(run, local); }
    for (std::thread& thread : threads) { thread.join(); }
    for (const auto& overdue : node.of(0).overdue(2)) {
        if (node.of(0).close(overdue)) { send(node.of(0), overdue); }
    }
    for (size_t local = 0; local < ranks; ++local) {
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < repetitions; ++i) {
            wrong += sent[local][i] + alone[local][i] != 1 ? 1U : 0U;
        }
        EXPECT_EQ(wrong, 0U) << "messages of rank " << local;
    }
}

} // namespace

} // namespace nodeaware
