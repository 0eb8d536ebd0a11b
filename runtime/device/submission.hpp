#pragma once

#include "runtime/device/kept_lists.hpp"
#include "runtime/device/list_writer.hpp"
#include "runtime/device/memory.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace nodeaware::device {

/// Bytes from one place to another. In which order several of a submission are copied nobody knows.
struct Piece {
    Direction direction = Direction::to_host;
    uint64_t to = 0;
    uint64_t from = 0;
    uint64_t bytes = 0;
    bool is_for_kernels = false; ///< Place::is_for_kernels, of all that is on a device
};

/// Copies of one context that begin together. A copy by itself takes about as long as 100 KB more
/// of it would; so many short ones are a list, which a kernel carries out, where that works, and
/// all others go to the copy engine.
class Submission {
  public:
    Submission() = default;
    ~Submission();
    Submission(Submission&&) = default;
    Submission& operator=(Submission&& other) noexcept;

    /// May begin some of what has been added. `copies`: in the context. Throws MpiError.
    void add(Copies& copies, const Piece& piece);
    /// Begins the rest. Throws MpiError.
    void begin(Copies& copies);
    /// What has begun is over. Where nobody says so, memory that kernels may be reading is never
    /// given back.
    void end() { lists_.clear(); }

    /// Of a list: it costs about as much as two copies, to write it and to launch the kernel.
    static constexpr size_t fewest = 8;

  private:
    /// Of one direction. The kernel has other addresses for memory of the host, by so much.
    struct List {
        ListWriter writer;
        uint64_t shift = 0;
    };

    List& list_of(Direction direction) { return open_[static_cast<size_t>(direction)]; }
    bool find_shift(Copies& copies, const Piece& piece, uint64_t* shift);
    bool add_to_list(Copies& copies, const Piece& piece);
    void begin_list(Copies& copies, Direction direction);
    bool launch(Copies& copies, Direction direction);

    std::array<List, 3> open_;
    std::vector<std::shared_ptr<const KeptList>> lists_; ///< that kernels may be reading
    Span pinned_;                                        ///< memory of the host that was used last
    uint64_t pinned_address_ = 0;
};

} // namespace nodeaware::device
