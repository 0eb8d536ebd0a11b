#include "runtime/device/submission.hpp"

#include "runtime/device/list_kernel.hpp"
#include "runtime/device/sharing.hpp"
#include "runtime/job/device_counts.hpp"
#include "runtime/job/ranges.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace nodeaware::device {

namespace {

uint64_t on_host(const Piece& piece) {
    return piece.direction == Direction::to_host ? piece.to : piece.from;
}

void copy_alone(Copies& copies, const Piece& piece) {
    switch (piece.direction) {
    case Direction::to_host:
        return copies.to_host(reinterpret_cast<void*>(piece.to), piece.from, piece.bytes);
    case Direction::to_device:
        return copies.to_device(piece.to, reinterpret_cast<const void*>(piece.from), piece.bytes);
    default: return copies.within_device(piece.to, piece.from, piece.bytes);
    }
}

DeviceCounts counts_of(Direction direction, uint64_t bytes) {
    switch (direction) {
    case Direction::to_host: return {.to_host = bytes};
    case Direction::to_device: return {.to_device = bytes};
    default: return {.within = bytes};
    }
}

/// From one on: those on the host that were pinned at once.
uint64_t rows_at_once(const Rows& rows, uint64_t first) {
    if (first + 1 == rows.count) { return 1; }
    const Span row = rows.part(first, 1).host_span();
    const Span pinned = find_pinned(row);
    if (pinned.bytes == 0) { return 1; }
    const uint64_t behind = pinned.begin + pinned.bytes - (row.begin + row.bytes);
    return std::min(rows.count - first, 1 + behind / rows.host_stride());
}

constexpr std::array texts = {"to host", "to device", "within device"};

} // namespace

Submission::~Submission() {
    for (const auto& list : lists_) { list->lose(); }
}

Submission& Submission::operator=(Submission&& other) noexcept {
    std::swap(open_, other.open_);
    std::swap(lists_, other.lists_);
    std::swap(pinned_, other.pinned_);
    std::swap(pinned_address_, other.pinned_address_);
    return *this;
}

/// False: kernels do not reach it. The host's memory has to be pinned by this process: what the
/// application has pinned it may let go.
bool Submission::find_shift(Copies& copies, const Piece& piece, uint64_t* shift) {
    *shift = 0;
    if (piece.direction == Direction::within_device) { return true; }
    const uint64_t begin = on_host(piece);
    const bool is_known =
        begin >= pinned_.begin && begin + piece.bytes <= pinned_.begin + pinned_.bytes;
    if (!is_known) {
        pinned_ = find_pinned({begin, piece.bytes});
        pinned_address_ = pinned_.bytes > 0 ? copies.address_for_kernels(pinned_) : 0;
    }
    *shift = pinned_address_ - pinned_.begin;
    return pinned_address_ != 0;
}

/// False: no kernel copies it.
bool Submission::add_to_list(Copies& copies, const Piece& piece) {
    const bool is_short = piece.bytes <= ListWriter::most_bytes;
    uint64_t shift = 0;
    if (!is_short || !piece.is_for_kernels || !list_kernel::is_possible() ||
        !find_shift(copies, piece, &shift)) {
        return false;
    }
    List& list = list_of(piece.direction);
    const bool is_apart = list.writer.runs() == 0 || list.shift != shift;
    if (is_apart) { begin_list(copies, piece.direction); }
    list.shift = shift;
    const uint64_t to = piece.to + (piece.direction == Direction::to_host ? shift : 0);
    const uint64_t from = piece.from + (piece.direction == Direction::to_device ? shift : 0);
    try {
        if (list.writer.add(to, from, piece.bytes)) { return true; }
        begin_list(copies, piece.direction);
        return list.writer.add(to, from, piece.bytes);
    } catch (const std::bad_alloc&) { return false; }
}

/// The piece is the next row of the copy.
bool Submission::goes_on(Rows& rows, const Piece& piece) {
    if (piece.bytes != rows.bytes || piece.to <= rows.to || piece.from <= rows.from) {
        return false;
    }
    if (rows.count == 1) {
        rows.to_stride = piece.to - rows.to;
        rows.from_stride = piece.from - rows.from;
        return std::min(rows.to_stride, rows.from_stride) >= rows.bytes &&
               std::max(rows.to_stride, rows.from_stride) <= Rows::longest_stride;
    }
    return piece.to == rows.to + rows.count * rows.to_stride &&
           piece.from == rows.from + rows.count * rows.from_stride;
}

/// False: there are as many as there may be.
bool Submission::add_to_copies(List& list, const Piece& piece, bool may_go_on) {
    constexpr size_t most_copies = 256;
    if (may_go_on && !list.copies.empty() && goes_on(list.copies.back(), piece)) {
        ++list.copies.back().count;
        ++list.rows;
        return true;
    }
    try {
        if (list.copies.size() == most_copies) { return false; }
        list.copies.push_back({piece.direction, piece.to, piece.from, piece.bytes});
        ++list.rows;
        return true;
    } catch (const std::bad_alloc&) { return false; }
}

/// What is for kernels is in their list already.
void Submission::add_to_rows(Copies& copies, const Piece& piece) {
    List& list = list_of(piece.direction);
    const bool is_first = list.copies.empty();
    const bool is_alike =
        piece.allocation != 0 && (is_first || piece.allocation == list.allocation);
    list.is_of_one_allocation = is_alike && (is_first || list.is_of_one_allocation);
    list.allocation = piece.allocation;
    const bool may_go_on =
        is_alike && piece.direction != Direction::within_device && Copies::have_rows();
    if (list.are_too_many || add_to_copies(list, piece, may_go_on)) { return; }
    if (list.writer.runs() > 0) {
        list.are_too_many = true;
        return;
    }
    begin_by_engine(copies, list);
    if (!add_to_copies(list, piece, false)) { copy_alone(copies, piece); }
}

void Submission::add(Copies& copies, const Piece& piece) {
    if (piece.bytes == 0) { return; }
    if (!add_to_list(copies, piece)) {
        if (list_of(piece.direction).writer.runs() > 0) { begin_list(copies, piece.direction); }
        if (piece.allocation == 0 || piece.bytes > ListWriter::most_bytes) {
            return copy_alone(copies, piece);
        }
    }
    add_to_rows(copies, piece);
}

void Submission::begin(Copies& copies) {
    for (const Direction direction :
         {Direction::to_host, Direction::to_device, Direction::within_device}) {
        begin_list(copies, direction);
    }
    open_ = {};
}

/// In nanoseconds, on an H200 (on others things are not much different): a copy takes 2.2 us where
/// many follow each other, and some more for each row; to write a list and launch a kernel 17 us,
/// or the turn of a process where several take turns on the device, of which the copy engine needs
/// none.
bool Submission::is_for_engine(const List& list) {
    constexpr uint64_t of_copy = 2200;
    constexpr uint64_t of_row = 20;
    constexpr uint64_t of_kernel = 17000;
    constexpr uint64_t of_turn = 140000;
    if (list.are_too_many) { return false; }
    const uint64_t by_engine = list.copies.size() * of_copy + list.rows * of_row;
    return by_engine < (are_devices_shared() ? of_turn : of_kernel);
}

void Submission::begin_list(Copies& copies, Direction direction) {
    List& list = list_of(direction);
    const bool has_list = list.writer.runs() > 0;
    const bool has_begun = has_list && !is_for_engine(list) && launch(copies, direction);
    if (!has_begun && list.are_too_many) {
        begin_without_kernel(copies, direction);
    } else if (!has_begun) {
        begin_by_engine(copies, list);
    }
    list.writer.clear();
    list.copies.clear();
    list.rows = 0;
    list.are_too_many = false;
}

/// Of more copies than are remembered: they are found again.
void Submission::begin_without_kernel(Copies& copies, Direction direction) {
    List& list = list_of(direction);
    const bool may_go_on =
        list.is_of_one_allocation && direction != Direction::within_device && Copies::have_rows();
    const uint64_t to_shift = direction == Direction::to_host ? list.shift : 0;
    const uint64_t from_shift = direction == Direction::to_device ? list.shift : 0;
    list.copies.clear();
    list.writer.for_each([&](uint64_t to, uint64_t from, uint64_t bytes) {
        const Piece piece{direction, to - to_shift, from - from_shift, bytes};
        if (add_to_copies(list, piece, may_go_on)) { return; }
        begin_by_engine(copies, list);
        if (!add_to_copies(list, piece, false)) { copy_alone(copies, piece); }
    });
    begin_by_engine(copies, list);
}

void Submission::begin_by_engine(Copies& copies, List& list) {
    for (const Rows& rows : list.copies) {
        for (uint64_t first = 0; first < rows.count;) {
            const uint64_t count = rows_at_once(rows, first);
            if (count > 1 && copies.rows(rows.part(first, count))) {
                first += count;
                continue;
            }
            const Rows row = rows.part(first, 1);
            copy_alone(copies, {row.direction, row.to, row.from, row.bytes});
            ++first;
        }
    }
    list.copies.clear();
    list.rows = 0;
}

/// False: nothing has begun.
bool Submission::launch(Copies& copies, Direction direction) {
    ListWriter& writer = list_of(direction).writer;
    const ranges::Range range("copies by a kernel", texts[static_cast<size_t>(direction)],
                              writer.bytes());
    try {
        if (!list_kernel::is_usable(copies)) { return false; }
        lists_.reserve(lists_.size() + 1);
        auto list = kept_list(writer);
        const uint64_t address = list->memory().address_for_kernels(copies);
        if (address == 0) { return false; }
        if (!list_kernel::launch(copies, writer.written(address, list->parts()))) { return false; }
        lists_.push_back(std::move(list));
    } catch (const std::bad_alloc&) { return false; }
    DeviceCounting::add(counts_of(direction, writer.bytes()));
    return true;
}

} // namespace nodeaware::device
