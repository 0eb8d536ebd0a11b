#include "runtime/mailboxes/outgoing_cells.hpp"
#include "runtime/progress/clock.hpp"
#include "tests/unit/mailbox_items.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <sched.h>
#include <set>
#include <vector>

namespace nodeaware::test {

namespace {

using container::Item;

constexpr uint32_t capacity = 1024;
constexpr uint32_t cells_of_node = OutgoingCells::cells;
using Generation = std::optional<uint32_t>;

/// Ranks that put messages in, close cells, and find out that others have what was kept.
class ManyRanks {
  public:
    struct Trouble {
        bool sends_again = false;
        uint32_t away = 0;  ///< so many credits for each node do not come back until the end
        bool fails = false; ///< now and then a container cannot be sent
    };
    explicit ManyRanks(Trouble trouble) : trouble_(trouble) { node_[0].initialize(); }

    void run() {
        side_by_side(ranks, [this](int rank) { run(rank); });
        for (int to = 0; to < nodes; ++to) {
            if (const auto last = node_[0].collecting(to)) { close(node_[0], to, *last, false); }
            send_put_back(node_[0], to);
        }
        const auto has_left = [&](int times) { return trouble_.fails ? times > 0 : times == 1; };
        EXPECT_EQ(std::count_if(left_.begin() + 1, left_.end(), has_left), ranks * messages);
        EXPECT_EQ(broken_, 0);
        for (int to = 0; to < nodes; ++to) {
            EXPECT_EQ(withheld_[to].size(), trouble_.away);
            for (const uint32_t generation : withheld_[to]) {
                node_[0].returned(to, OutgoingCells::cell_of(generation));
            }
        }
        while (!kept_.empty()) { return_one(node_[0], 0); }
        for (int to = 0; to < nodes; ++to) { use_all_cells(to); }
    }

  private:
    static constexpr int ranks = 4;
    static constexpr int nodes = 2;
    static constexpr int messages = 2000;
    struct Kept {
        int to;
        uint32_t generation;
    };

    void run(int rank) {
        OutgoingCells& cells = node_[rank];
        std::mt19937_64 random(static_cast<uint64_t>(rank));
        for (int done = 0; done < messages && now() < deadline_;) {
            const int to = static_cast<int>(random() % nodes);
            const auto bytes = static_cast<uint32_t>(random() % 100);
            const auto size = static_cast<uint32_t>(container::size_of_item(bytes));
            Generation full;
            if (const auto place = cells.reserve(to, size, {1, 2}, &full)) {
                if (random() % 8 == 0) { sched_yield(); }
                const int name = rank * messages + ++done;
                write(cells.at(*place), {static_cast<uint64_t>(name), place->generation, bytes});
                cells.commit(*place, 1);
            } else if (full) {
                close(cells, to, *full, true);
            } else {
                return_one(cells, random());
                sched_yield();
            }
            const auto collecting = cells.collecting(to);
            if (collecting && random() % 8 == 0) { close(cells, to, *collecting, random() % 2); }
            if (random() % 8 == 0) { return_one(cells, random()); }
            if (random() % 2 == 0) { send_put_back(cells, to); }
            if (trouble_.sends_again) { send_again(cells, to); }
        }
    }
    void close(OutgoingCells& cells, int to, uint32_t generation, bool keeps) {
        if (!cells.close(to, generation, 1)) { return; }
        if (fails_now()) {
            if (keeps) { cells.keep(to, generation, 1); } // others may send it again at once
            return cells.put_back(to, generation);
        }
        look_at(cells.content(to, generation), generation,
                [&](const Item& item) { ++left_.at(item.name); });
        note_generation(to, generation);
        if (!keeps) { return cells.release(to, generation); }
        cells.keep(to, generation, 1);
        const std::lock_guard lock(mutex_);
        if (withheld_[to].size() < trouble_.away) {
            withheld_[to].push_back(generation);
        } else {
            kept_.push_back({to, generation});
        }
    }
    void send_put_back(OutgoingCells& cells, int to) {
        while (const auto generation = cells.not_sent(to)) { close(cells, to, *generation, true); }
    }
    bool fails_now() { return trouble_.fails && attempts_.fetch_add(1) % 5 == 0; }
    /// No other has it, and it is behind those of its cell.
    void note_generation(int to, uint32_t generation) {
        const std::lock_guard lock(mutex_);
        uint32_t& next = next_[to][OutgoingCells::cell_of(generation)];
        if (generation < next) { ++broken_; }
        next = generation + 1;
    }
    void use_all_cells(int to) {
        std::set<uint32_t> used;
        for (uint32_t i = 0; i < cells_of_node; ++i) {
            Generation full;
            const auto place = node_[0].reserve(to, sizeof(Item), {1, 2}, &full);
            ASSERT_TRUE(place);
            write(node_[0].at(*place), {1, place->generation, 0});
            node_[0].commit(*place, 1);
            used.insert(OutgoingCells::cell_of(place->generation));
            ASSERT_TRUE(node_[0].close(to, place->generation, 1));
            node_[0].keep(to, place->generation, 1);
        }
        EXPECT_EQ(used.size(), cells_of_node);
    }
    template <class Take>
    void look_at(std::span<const std::byte> items, uint32_t generation, Take take) {
        const bool is_well_formed = container::for_each_item(items, [&](const Item& item, auto b) {
            if (item.destination != generation || !is_intact(item, b)) { ++broken_; }
            take(item);
        });
        if (!is_well_formed || items.empty()) { ++broken_; }
    }
    void return_one(OutgoingCells& cells, uint64_t number) {
        Kept one{};
        {
            const std::lock_guard lock(mutex_);
            if (kept_.empty()) { return; }
            std::swap(kept_[number % kept_.size()], kept_.back());
            one = kept_.back();
            kept_.pop_back();
        }
        cells.returned(one.to, OutgoingCells::cell_of(one.generation));
    }
    void send_again(OutgoingCells& cells, int to) {
        const auto generation = cells.kept_since(to, 2);
        if (!generation || !cells.send_again(to, *generation)) { return; }
        const bool is_sent = !fails_now();
        look_at(cells.content(to, *generation), *generation, [&](const Item& item) {
            if (trouble_.fails && is_sent) { ++left_.at(item.name); } // it may be that only now
        });
        cells.sent_again(to, *generation, is_sent);
    }

    Trouble trouble_;
    const double deadline_ = now() + 60;
    Node<OutgoingCells> node_{ranks, OutgoingCells(nodes, capacity)};
    std::vector<std::atomic<int>> left_ = std::vector<std::atomic<int>>(ranks * messages + 1);
    std::atomic<int> broken_{0};
    std::atomic<int> attempts_{0};
    std::mutex mutex_;
    std::vector<Kept> kept_;
    std::vector<uint32_t> withheld_[nodes];
    uint32_t next_[nodes][cells_of_node] = {};
};

TEST(OutgoingCellsOfManyRanks, EveryMessageLeavesOnce) { ManyRanks({}).run(); }

TEST(OutgoingCellsOfManyRanks, EveryMessageLeavesOnceIfSomeCreditsStayAway) {
    for (const uint32_t away : {1U, cells_of_node - 1}) { ManyRanks({.away = away}).run(); }
}

TEST(OutgoingCellsOfManyRanks, EveryMessageLeavesOnceIfSomeAreSentAgain) {
    for (const uint32_t away : {0U, 2U}) { ManyRanks({.sends_again = true, .away = away}).run(); }
}

TEST(OutgoingCellsOfManyRanks, EveryMessageLeavesIfSomeCannotBeSentAtOnce) {
    for (const bool sends_again : {false, true}) {
        ManyRanks({.sends_again = sends_again, .away = 1, .fails = true}).run();
    }
}

} // namespace

} // namespace nodeaware::test
