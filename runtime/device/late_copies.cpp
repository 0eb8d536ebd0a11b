#include "runtime/device/late_copies.hpp"

#include "runtime/mpi/mpi.hpp"

#include <algorithm>
#include <new>

namespace nodeaware::device {

LateCopies::~LateCopies() {
    try {
        finish();
    } catch (const std::bad_alloc&) {} // of the text of an error
}

void LateCopies::add(const Place& place, const Copy& wanted, uint32_t number) {
    Copy copy = wanted;
    const Span on_device{copy.direction == Direction::to_host ? copy.from : copy.to, copy.bytes};
    const bool is_of_place = copy.direction != Direction::within_device &&
                             (copy.runs != nullptr || place.holds(on_device));
    copy.is_for_kernels = place.is_for_kernels && is_of_place;
    copy.allocation = is_of_place ? place.allocation.begin : 0;
    const bool is_to_device = copy.direction == Direction::to_device;
    const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
        return !group.has_begun && group.bytes < many_bytes &&
               share_a_stream(group, place, is_to_device);
    });
    if (found == groups_.end()) {
        groups_.push_back({place, is_to_device, {copy}, {number}, copy.bytes});
        return;
    }
    Group& group = *found;
    group.numbers.push_back(number);
    if (continues(group, place, copy)) {
        group.copies.back().bytes += copy.bytes;
    } else {
        try {
            group.copies.push_back(copy);
        } catch (...) {
            group.numbers.pop_back();
            throw;
        }
        group.place = place;
    }
    group.bytes += copy.bytes;
}

/// Those of a context, if it can have streams for each direction.
bool LateCopies::share_a_stream(const Group& group, const Place& place, bool is_to_device) {
    const Place& other = group.place;
    return group.is_to_device == is_to_device && place.context == other.context &&
           place.current == other.current && place.ordinal == other.ordinal;
}

/// Of the last copy of the group, on both sides. An old driver does not tell allocations apart.
bool LateCopies::continues(const Group& group, const Place& place, const Copy& copy) {
    const Copy& last = group.copies.back();
    return copy.mapping != nullptr && copy.runs == nullptr && last.runs == nullptr &&
           last.mapping == copy.mapping && last.direction == copy.direction &&
           last.to + last.bytes == copy.to && last.from + last.bytes == copy.from &&
           place.allocation.begin != 0 && are_in_one_allocation(group.place, place);
}

void LateCopies::begin() {
    for (Group& group : groups_) {
        if (!group.has_begun) { begin(group); }
    }
}

void LateCopies::begin_one(Copies& copies, Group& group, Copy copy) {
    if (copy.runs == nullptr) { return begin_run(copies, group, copy); }
    Runs::Reader runs(*copy.runs, copy.first_byte);
    Copy run = copy;
    while (copy.bytes > 0) {
        const Span next = runs.peek(copy.bytes);
        (copy.direction == Direction::to_host ? run.from : run.to) = next.begin;
        run.bytes = next.bytes;
        begin_run(copies, group, run);
        runs.take(next.bytes);
        (copy.direction == Direction::to_host ? run.to : run.from) += next.bytes;
        copy.bytes -= next.bytes;
    }
}

void LateCopies::begin_run(Copies& copies, Group& group, Copy copy) {
    while (copy.bytes > 0) {
        const uint64_t on_host = copy.direction == Direction::to_host ? copy.to : copy.from;
        uint64_t bytes = copy.bytes;
        if (copy.mapping != nullptr) {
            bytes = copy.mapping->in_one_copy({on_host, copy.bytes});
            copy.mapping->pin(copies, group.place, {on_host, bytes});
        }
        group.submission.add(copies, {copy.direction, copy.to, copy.from, bytes,
                                      copy.is_for_kernels, copy.allocation});
        copy.to += bytes;
        copy.from += bytes;
        copy.bytes -= bytes;
    }
}

/// What has begun when one fails is waited for like all others.
void LateCopies::begin(Group& group) {
    group.has_begun = true;
    const auto guarded = [this](auto work) {
        try {
            work();
        } catch (const MpiError& error) {
            if (error_ == MPI_SUCCESS) { error_ = error.code; }
        } catch (const std::bad_alloc&) {
            if (error_ == MPI_SUCCESS) { error_ = MPI_ERR_NO_MEM; }
        }
    };
    guarded([&] {
        Copies copies(group.place);
        copies.use_own_stream(group.is_to_device ? Direction::to_device : Direction::to_host);
        guarded([&] {
            for (const Copy& copy : group.copies) { begin_one(copies, group, copy); }
            group.submission.begin(copies);
        });
        group.event = copies.record_event();
        if (group.event == nullptr) {
            copies.finish();
            group.submission.end();
        }
    });
    group.is_over = group.event == nullptr;
}

/// Streams go on in their order, and so do most groups in one context and direction (threads have
/// streams of their own where there is no other): of those that are not over, only the first is
/// asked for.
bool LateCopies::is_behind_another(size_t group) const {
    const auto end = groups_.begin() + static_cast<ptrdiff_t>(group);
    return std::any_of(groups_.begin(), end, [&](const Group& other) {
        return share_a_stream(other, groups_[group].place, groups_[group].is_to_device);
    });
}

bool LateCopies::is_over(Group& group) {
    if (!group.has_begun) { begin(group); }
    if (group.is_over) { return true; }
    try {
        Copies copies(group.place);
        if (!copies.is_over(group.event)) { return false; }
        end(group, copies);
    } catch (const MpiError&) { wait_for(group); } // which says what is wrong, if anything still is
    return true;
}

int LateCopies::try_to_wait(Group& group) {
    try {
        Copies copies(group.place);
        copies.wait_for(group.event);
        end(group, copies);
        return MPI_SUCCESS;
    } catch (const MpiError& error) { return error.code; }
}

/// Not given up at once, for what is still under way writes to memory that is others' afterwards.
void LateCopies::wait_for(Group& group) {
    if (try_to_wait(group) == MPI_SUCCESS) { return; }
    const int code = try_to_wait(group);
    if (error_ == MPI_SUCCESS) { error_ = code; }
    group.is_over = true;
}

void LateCopies::end(Group& group, Copies& copies) {
    copies.destroy(group.event);
    group.submission.end();
    group.is_over = true;
}

void LateCopies::finish() {
    begin();
    for (Group& group : groups_) {
        if (!group.is_over) { wait_for(group); }
    }
}

} // namespace nodeaware::device
