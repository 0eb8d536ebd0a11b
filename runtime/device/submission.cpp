#include "runtime/device/submission.hpp"

#include "runtime/device/list_kernel.hpp"
#include "runtime/device/sharing.hpp"
#include "runtime/job/device_counts.hpp"
#include "runtime/job/ranges.hpp"

#include <new>
#include <utility>

namespace nodeaware::device {

namespace {

uint64_t on_host(const Piece& piece) {
    return piece.direction == Direction::to_host ? piece.to : piece.from;
}

DeviceCounts counts_of(Direction direction, uint64_t bytes) {
    switch (direction) {
    case Direction::to_host: return {.to_host = bytes};
    case Direction::to_device: return {.to_device = bytes};
    default: return {.within = bytes};
    }
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

/// What is for kernels is in their list already.
void Submission::add_to_copies(Copies& copies, const Piece& piece) {
    List& list = list_of(piece.direction);
    if (list.copies.empty() && !list.are_too_many) { list.allocation = piece.allocation; }
    if (list.allocation != piece.allocation) { list.allocation = 0; }
    if (list.are_too_many) { return; }
    const auto add = [&] {
        return list.copies.add(piece.direction, piece.to, piece.from, piece.bytes,
                               piece.allocation);
    };
    if (add()) { return; }
    if (list.writer.runs() > 0) {
        list.are_too_many = true;
        return;
    }
    list.copies.begin(copies);
    if (!add()) { copy_one(copies, piece.direction, piece.to, piece.from, piece.bytes); }
}

void Submission::add(Copies& copies, const Piece& piece) {
    if (piece.bytes == 0) { return; }
    if (!add_to_list(copies, piece)) {
        if (list_of(piece.direction).writer.runs() > 0) { begin_list(copies, piece.direction); }
        if (piece.allocation == 0 || piece.bytes > ListWriter::most_bytes) {
            return copy_one(copies, piece.direction, piece.to, piece.from, piece.bytes);
        }
    }
    add_to_copies(copies, piece);
}

void Submission::begin(Copies& copies) {
    for (const Direction direction :
         {Direction::to_host, Direction::to_device, Direction::within_device}) {
        begin_list(copies, direction);
    }
    open_ = {};
}

/// To write a list and launch a kernel takes 17 us on an H200, or the turns of all processes where
/// they take turns on the device, of which the copy engine needs none: a copy takes longer then,
/// too, so that this is the turn of one.
bool Submission::is_for_kernel(const List& list) {
    constexpr uint64_t of_kernel = 17000; // ns
    constexpr uint64_t of_turn = 140000;
    return list.writer.runs() > 0 &&
           (list.are_too_many ||
            list.copies.nanoseconds() >= (are_devices_shared() ? of_turn : of_kernel));
}

void Submission::begin_list(Copies& copies, Direction direction) {
    List& list = list_of(direction);
    const bool has_begun = is_for_kernel(list) && launch(copies, direction);
    if (!has_begun && list.are_too_many) {
        begin_without_kernel(copies, direction);
    } else if (!has_begun) {
        list.copies.begin(copies);
    }
    list.writer.clear();
    list.copies.clear();
    list.are_too_many = false;
}

/// Of more copies than are remembered: they are found again.
void Submission::begin_without_kernel(Copies& copies, Direction direction) {
    List& list = list_of(direction);
    const uint64_t to_shift = direction == Direction::to_host ? list.shift : 0;
    const uint64_t from_shift = direction == Direction::to_device ? list.shift : 0;
    list.copies.clear();
    list.writer.for_each([&](uint64_t to, uint64_t from, uint64_t bytes) {
        const auto add = [&] {
            return list.copies.add(direction, to - to_shift, from - from_shift, bytes,
                                   list.allocation);
        };
        if (add()) { return; }
        list.copies.begin(copies);
        if (!add()) { copy_one(copies, direction, to - to_shift, from - from_shift, bytes); }
    });
    list.copies.begin(copies);
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
