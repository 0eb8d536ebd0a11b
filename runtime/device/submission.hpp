#pragma once

#include "runtime/device/kept_lists.hpp"
#include "runtime/device/list_writer.hpp"
#include "runtime/device/memory.hpp"
#include "runtime/device/row_copies.hpp"

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
    /// Of the allocation on a device, as pieces have it in common that may be rows of one copy; 0:
    /// not known.
    uint64_t allocation = 0;
};

/// Copies of one context that begin together. A copy by itself takes about as long as 100 KB more
/// of it would, and those that are alike and equally far apart are rows of one. Where there are
/// many short ones all the same, they are a list, which a kernel carries out, where that works and
/// takes less time; all others go to the copy engine.
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

  private:
    /// Of one direction. The kernel has other addresses for memory of the host, by so much.
    struct List {
        ListWriter writer; ///< of what is for kernels
        uint64_t shift = 0;
        RowCopies copies; ///< the same, and what is for no kernel
        bool are_too_many = false;
        uint64_t allocation = 0; ///< of all pieces; 0: not known, or of several
    };

    List& list_of(Direction direction) { return open_[static_cast<size_t>(direction)]; }
    bool find_shift(Copies& copies, const Piece& piece, uint64_t* shift);
    bool add_to_list(Copies& copies, const Piece& piece);
    void add_to_copies(Copies& copies, const Piece& piece);
    static bool is_for_kernel(const List& list);
    void begin_without_kernel(Copies& copies, Direction direction);
    void begin_list(Copies& copies, Direction direction);
    bool launch(Copies& copies, Direction direction);

    std::array<List, 3> open_;
    std::vector<std::shared_ptr<const KeptList>> lists_; ///< that kernels may be reading
    Span pinned_;                                        ///< memory of the host that was used last
    uint64_t pinned_address_ = 0;
};

} // namespace nodeaware::device
