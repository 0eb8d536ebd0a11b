#pragma once

#include "runtime/device/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware::device {

/// Begins one copy, whatever its direction. Throws MpiError.
void copy_one(Copies& copies, Direction direction, uint64_t to, uint64_t from, uint64_t bytes);

/// Copies as the copy engine makes them: of those that follow each other, what is alike and equally
/// far apart is rows of one.
class RowCopies {
  public:
    static constexpr size_t most = 256; ///< that are remembered

    /// `allocation`: on the device, in which all rows of a copy lie; 0: not known. False: there are
    /// as many as there may be, and it has not been added.
    bool add(Direction direction, uint64_t to, uint64_t from, uint64_t bytes, uint64_t allocation);
    bool empty() const { return copies_.empty(); }
    /// That they are expected to take.
    uint64_t nanoseconds() const;
    /// Begins all of them, which are forgotten. Throws MpiError.
    void begin(Copies& copies);
    void clear();

  private:
    std::vector<Rows> copies_;
    uint64_t rows_ = 0;       ///< of all of them
    uint64_t allocation_ = 0; ///< of the last one
};

} // namespace nodeaware::device
