#pragma once

#include "tests/device/stand_in.hpp"

#include <cstddef>
#include <functional>

// Copies in streams. With the lock of the driver.

bool is_a_stream(const void* stream);
/// Spoils the target. `direction` as in copy_engine.hpp. What it returns is the driver's answer.
int begin_copy(void* stream, std::size_t direction, char* to, const char* from, std::size_t bytes);
/// The same of rows, of memory of the host that was pinned at once.
struct RowsOfCopy {
    char* to;
    const char* from;
    std::size_t bytes;
    std::size_t count;
    std::size_t to_stride;
    std::size_t from_stride;
};
int begin_rows(void* stream, std::size_t direction, const RowsOfCopy& rows);
/// Waits for it, which may be done without the lock.
void copy_now(std::size_t direction, char* to, const char* from, std::size_t bytes);
/// The same as begin_copy() for what a kernel does. `touches`: some of these bytes.
void begin_work(void* stream, std::function<void()> work,
                std::function<bool(const char*, std::size_t)> touches);
/// All that were begun, of all streams.
void end_copies();
/// Some copy under way is from or to some of these bytes.
bool is_being_copied(const char* begin, std::size_t bytes);
/// How many copies and events there are.
void count_streams(StandInCounts& counts);
