#pragma once

#include "tests/device/copy_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

class StreamQueue;

/// What a stream is given: a copy, or something else that takes its turn.
struct Copy {
    std::size_t direction = within_device; ///< of copy_engine.hpp
    int device = 0;
    char* to = nullptr;
    const char* from = nullptr; ///< nullptr: `read`
    std::size_t bytes = 0;      ///< of a row
    std::size_t rows = 1;
    std::size_t to_stride = 0;
    std::size_t from_stride = 0;
    std::vector<char> read{};     ///< of a source that is not pinned
    std::function<void()> work{}; ///< of a kernel
    std::function<bool(const char*, std::size_t)> touches{};
    StreamQueue* awaited = nullptr; ///< it is over when so many copies there are
    std::uint64_t awaited_copies = 0;
    Time given = 0;
    Time end = not_known;
};

/// What a stream has been given and is not over. Copies end in their order, when somebody waits;
/// where they take time not before that is over. With the lock of the driver.
class StreamQueue {
  public:
    void add(Copy copy);
    const std::deque<Copy>& under_way() const { return under_way_; }
    /// Copies of all times.
    std::uint64_t begun() const { return begun_; }

    /// Waits for the first so many of all times. Other threads may use the driver meanwhile.
    void end_up_to(std::uint64_t last);
    /// Where copies take time: they are over.
    bool has_ended(std::uint64_t last);

  private:
    void schedule();
    Time find_end(const Copy& copy, Time before) const;
    void end_first();

    std::deque<Copy> under_way_;
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    Time ended_at_ = 0; ///< the last of those
};
