// Copies between hosts and devices: in tables, in measurements, and from one to the other.

#include "tools/fit/fit.hpp"
#include "tools/fit/measurement_json.hpp"
#include "tuning/own_path.hpp"
#include "tuning_texts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nodeaware::tuning {

namespace {

constexpr Direction onto = Direction::host_to_device;
constexpr Direction off = Direction::device_to_host;

ModelTable table_with(std::vector<Copy> copies) {
    ModelTable table = find_table("lassen-spectrum");
    table.copies = std::move(copies);
    return table;
}

std::string complaint_of_measurements(const std::string& text) {
    return complaint_of_reader([&] { measurements_from_json(text, "file.json"); });
}

bool says_version(const std::string& text, int version) {
    return text.find("\"version\": " + std::to_string(version)) != std::string::npos;
}

/// Times of `count` copies of a stream that takes `line` for the first.
std::vector<Point> times(const Postal& line, double next, int count) {
    std::vector<Point> points;
    for (double bytes = 1024; bytes <= 1 << 22; bytes *= 2) {
        points.push_back({bytes, postal(line, bytes) + (count - 1) * (next + line.beta * bytes)});
    }
    return points;
}

const Copy* find(const ModelTable& table, Direction direction, HostMemory host, bool same_socket,
                 int processes) {
    const auto found = std::find_if(table.copies.begin(), table.copies.end(), [&](const auto& row) {
        return row.direction == direction && row.host == host && row.same_socket == same_socket &&
               row.processes == processes;
    });
    return found == table.copies.end() ? nullptr : &*found;
}

} // namespace

TEST(Copies, OfOldTablesAreWrittenAsEver) {
    const ModelTable old = table_with({{onto, true, 1, {1e-5, 1e-11}}, {off, false, 4, {2e-5, 0}}});
    const std::string text = to_json_text(old);
    EXPECT_TRUE(says_version(text, 1));
    EXPECT_EQ(text.find("host_memory"), std::string::npos);
    EXPECT_EQ(parse_table(text, "text"), old);
    EXPECT_EQ(parse_table(replaced(text, "\"version\": 1", "\"version\": 2"), "text"), old);
}

TEST(Copies, OfNewTablesAreReadAgain) {
    for (const Copy& copy : {Copy{onto, true, 1, {1e-5, 1e-11}, HostMemory::arena, {}},
                             Copy{off, false, 2, {1e-5, 1e-11}, HostMemory::pinned, 3e-6},
                             Copy{Direction::both, true, 4, {1e-5, 1e-11}, HostMemory::arena, 0}}) {
        const ModelTable table = table_with({copy});
        const std::string text = to_json_text(table);
        EXPECT_TRUE(says_version(text, 2));
        EXPECT_EQ(parse_table(text, "text"), table);
    }
}

TEST(Copies, AnOldTableDoesNotKnowWhatIsNew) {
    const std::string text =
        to_json_text(table_with({{onto, true, 1, {1e-5, 1e-11}, HostMemory::arena, {}}}));
    EXPECT_EQ(complaint_of(replaced(text, "\"version\": 2", "\"version\": 1")),
              "file.json: copies[0].host_memory: is not a key of this format");
    const std::string both = to_json_text(table_with({{Direction::both, true, 1, {1e-5, 1e-11}}}));
    EXPECT_EQ(complaint_of(replaced(both, "\"version\": 2", "\"version\": 1")),
              "file.json: copies[0].direction: is both, must be one of host_to_device "
              "device_to_host");
    EXPECT_EQ(complaint_of(replaced(text, "\"arena\"", "\"attic\"")),
              "file.json: copies[0].host_memory: is attic, must be one of pinned arena");
    EXPECT_EQ(complaint_of(replaced(text, "\"version\": 2", "\"version\": 3")),
              "file.json: version: is 3, this library reads up to 2");
    EXPECT_EQ(complaint_of(replaced(text, "\"version\": 2", "\"version\": 0")),
              "file.json: version: is 0, this library reads up to 2");
    const std::string next = to_json_text(table_with({{onto, true, 1, {1e-5, 1e-11}, {}, 5e-6}}));
    EXPECT_EQ(complaint_of(replaced(next, "\"next\": 5e-06", "\"next\": 500")),
              "file.json: copies[0].next: more than 100 seconds for a copy: is the unit seconds?");
}

TEST(Copies, TheNearestAreFound) {
    const ModelTable table = table_with({{onto, true, 1, {1, 0}},
                                         {onto, true, 4, {2, 0}},
                                         {onto, false, 2, {3, 0}, HostMemory::arena, {}},
                                         {onto, true, 1, {4, 0}, HostMemory::arena, {}}});
    EXPECT_EQ(copy_of(table, onto, 1).alpha, 1);
    EXPECT_EQ(copy_of(table, onto, 20).alpha, 2);
    const ModelTable shared = table_with({{onto, true, 4, {2, 0.5}}});
    EXPECT_EQ(copy_of(shared, onto, 2).beta, 0.5);
    EXPECT_EQ(copy_of(shared, onto, 8).beta, 1); // more than were measured share the link
    // The memory matters more than how many there are, and the socket more than the memory.
    EXPECT_EQ(copy_of(table, onto, 4, HostMemory::arena).alpha, 4);
    EXPECT_EQ(find_copy(table, off, 1, HostMemory::arena), nullptr);
    EXPECT_THROW(copy_of(table, off, 1), TableError);
    const ModelTable without_arena = table_with({{onto, true, 1, {1, 0}}});
    EXPECT_EQ(copy_of(without_arena, onto, 1, HostMemory::arena).alpha, 1);
}

TEST(Copies, TheLibraryCopiesToTheArena) {
    ModelTable table = table_with({{onto, true, 1, {1, 0}},
                                   {off, true, 1, {2, 0}},
                                   {onto, true, 1, {10, 0}, HostMemory::arena, {}},
                                   {off, true, 1, {20, 0}, HostMemory::arena, {}}});
    table.shared_memory = SharedMemory{1e9, 0};
    OwnPathInput input;
    input.packed = input.unpacked = input.device_sent = input.device_received = 1000;
    const auto terms = own_path(table, input);
    EXPECT_DOUBLE_EQ(terms.front().seconds, 20);
    EXPECT_DOUBLE_EQ(terms.back().seconds, 10);
}

TEST(Copies, OfMeasurementsAreReadAgain) {
    Measurements made;
    made.copies.push_back({off, false, 4, {{1024, 1e-5}}});
    const std::string old = to_json_text(made);
    EXPECT_TRUE(says_version(old, 1));
    EXPECT_EQ(measurements_from_json(old, "text"), made);
    made.copies.push_back({Direction::both, true, 2, {{1024, 1e-5}}, HostMemory::arena, 8});
    const std::string text = to_json_text(made);
    EXPECT_TRUE(says_version(text, 2));
    EXPECT_EQ(measurements_from_json(text, "text"), made);
    EXPECT_EQ(complaint_of_measurements(replaced(text, "\"version\": 2", "\"version\": 1")),
              "file.json: copies[1].direction: is both, must be one of host_to_device "
              "device_to_host");
    EXPECT_EQ(complaint_of_measurements(replaced(text, "\"in_a_row\": 8", "\"in_a_row\": 0")),
              "file.json: copies[1].in_a_row: is below 1");
}

TEST(Copies, EveryKindIsFittedByItself) {
    Measurements made;
    const Postal pinned{1e-5, 2e-11};
    const Postal arena{1.2e-5, 3e-11};
    const Postal far{1.5e-5, 6e-11};
    const Postal both{2e-5, 4e-11};
    made.copies.push_back({onto, true, 1, times(pinned, 0, 1)});
    made.copies.push_back({onto, true, 1, times(arena, 0, 1), HostMemory::arena, 1});
    for (const int count : {2, 4, 8}) {
        made.copies.push_back({onto, true, 1, times(arena, 3e-6, count), HostMemory::arena, count});
    }
    made.copies.push_back({onto, false, 2, times(far, 0, 1), HostMemory::arena, 1});
    made.copies.push_back({Direction::both, true, 1, times(both, 0, 1), HostMemory::arena, 1});
    const FitResult result = fit(made, {});
    const ModelTable& table = result.table;
    ASSERT_EQ(table.copies.size(), 4U);
    const auto expect = [&](const Copy* copy, const Postal& line) {
        ASSERT_NE(copy, nullptr);
        EXPECT_NEAR(copy->postal.alpha, line.alpha, 1e-12);
        EXPECT_NEAR(copy->postal.beta, line.beta, 1e-17);
    };
    expect(find(table, onto, HostMemory::pinned, true, 1), pinned);
    expect(find(table, onto, HostMemory::arena, true, 1), arena);
    expect(find(table, onto, HostMemory::arena, false, 2), far);
    expect(find(table, Direction::both, HostMemory::arena, true, 1), both);
    EXPECT_FALSE(find(table, onto, HostMemory::pinned, true, 1)->next);
    EXPECT_NEAR(find(table, onto, HostMemory::arena, true, 1)->next.value(), 3e-6, 1e-11);
    EXPECT_TRUE(result.warnings.empty()) << result.warnings.front();
    std::vector<std::string> keys;
    for (const Parameter& parameter : parameters_of(table)) { keys.push_back(parameter.key); }
    EXPECT_EQ(keys, (std::vector<std::string>{
                        "copies.host_to_device.1.alpha", "copies.host_to_device.1.beta",
                        "copies.host_to_device.arena.1.alpha", "copies.host_to_device.arena.1.beta",
                        "copies.host_to_device.arena.1.next",
                        "copies.host_to_device.arena.other_socket.2.alpha",
                        "copies.host_to_device.arena.other_socket.2.beta",
                        "copies.both.arena.1.alpha", "copies.both.arena.1.beta"}));
}

TEST(Copies, WhatFurtherOnesCostIsWithinBounds) {
    const Postal line{1e-5, 2e-11};
    const auto next_of = [&](double next) {
        Measurements made;
        made.copies.push_back({off, true, 1, times(line, 0, 1), HostMemory::arena, 1});
        made.copies.push_back({off, true, 1, times(line, next, 4), HostMemory::arena, 4});
        return fit(made, {}).table.copies.front().next.value();
    };
    EXPECT_NEAR(next_of(5e-6), 5e-6, 1e-10);
    EXPECT_EQ(next_of(-2e-6), 0);           // noise
    EXPECT_NEAR(next_of(3e-5), 1e-5, 1e-9); // as if each was waited for
}

TEST(Copies, OfAStreamAloneTellNothing) {
    Measurements made;
    made.copies.push_back({off, true, 1, times({1e-5, 2e-11}, 1e-6, 4), HostMemory::arena, 4});
    made.copies.push_back({onto, true, 1, times({1e-5, 2e-11}, 0, 1)});
    EXPECT_EQ(fit(made, {}).table.copies.size(), 1U);
}

} // namespace nodeaware::tuning
