#pragma once

#include <cstdint>
#include <string_view>

/// Ranges that profilers show beside what the application does, in the NVTX domain "nodeaware". Off
/// by default, when each costs a branch; a build may be without.
namespace nodeaware::ranges {

/// Written by turn_on() alone, before any range begins.
inline bool are_on = false;

/// Whether the headers of NVTX were there when this was built.
bool are_built();
/// False: they are not, and stay off. What shows them is what NVTX itself finds.
bool turn_on();

/// From here to the end of the block, on this thread: "`what` `how`", with a number of bytes.
class Range {
  public:
    Range(std::string_view what, std::string_view how, uint64_t bytes) {
        if (are_on) { push(what, how, bytes); }
    }
    ~Range() {
        if (is_open_) { pop(); }
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

  private:
    void push(std::string_view what, std::string_view how, uint64_t bytes);
    static void pop();
    bool is_open_ = false;
};

/// From open() until it is destroyed, whichever threads do that.
class LongRange {
  public:
    LongRange() = default;
    ~LongRange() {
        if (is_open_) { close(); }
    }
    LongRange(const LongRange&) = delete;
    LongRange& operator=(const LongRange&) = delete;
    /// Once.
    void open(std::string_view what, std::string_view how, uint64_t bytes);

  private:
    void close() const;
    uint64_t id_ = 0;
    bool is_open_ = false;
};

} // namespace nodeaware::ranges
