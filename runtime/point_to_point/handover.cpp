#include "runtime/point_to_point/handover.hpp"

#include "strategies/traffic.hpp"

#include <algorithm>

namespace nodeaware::handover {

namespace {

uint64_t hash_of(int tag) { return mix(0x2545f4914f6cdd1dU, static_cast<uint64_t>(tag)); }

} // namespace

void Count::add(int tag) {
    ++messages;
    hash += hash_of(tag);
}

void Count::remove(int tag) {
    --messages;
    hash -= hash_of(tag);
}

void Sender::sent_by_mpi(int tag) {
    tags_[count_.messages % remembered] = tag;
    count_.add(tag);
}

Sender::Next Sender::answered(const Count& receives) {
    if (phase_ != Phase::proposed) { return Next::wait; } // an answer to what was given up
    receives_ = receives;
    phase_ = Phase::answered;
    return look();
}

Sender::Next Sender::look() {
    if (phase_ != Phase::answered) { return Next::wait; }
    const bool is_behind = count_.messages < receives_.messages;
    const uint64_t apart =
        is_behind ? receives_.messages - count_.messages : count_.messages - receives_.messages;
    if (apart > remembered) {
        give_up();
        return Next::give_up;
    }
    if (is_behind) { return Next::wait; }
    Count then = count_;
    for (const int tag : tags()) { then.remove(tag); }
    if (then != receives_) { // of others than those sent: their messages come later, or never
        give_up();
        return Next::give_up;
    }
    phase_ = Phase::library;
    return Next::hand_over;
}

std::vector<int> Sender::tags() const {
    std::vector<int> tags;
    for (uint64_t i = receives_.messages; i < count_.messages; ++i) {
        tags.push_back(tags_[i % remembered]);
    }
    return tags;
}

void Sender::give_up() {
    phase_ = Phase::mpi;
    next_proposal_ = count_.messages + patience_;
    if (++failures_ > usual_failures) { patience_ = std::min(2 * patience_, most_patience); }
}

void Sender::leave(uint32_t sequence) {
    phase_ = Phase::leaving;
    left_at_ = sequence;
}

bool Sender::confirmed(uint32_t sequence, uint32_t next) {
    const bool is_last = phase_ == Phase::leaving && sequence == left_at_ && next == sequence + 1;
    if (!is_last) { return false; }
    count_ = {};
    give_up();
    return true;
}

Count Receiver::answer() {
    phase_ = Phase::answered;
    by_mpi_.clear();
    before_.clear();
    return count_;
}

void Receiver::handed_over(std::span<const int> tags) {
    ++era_;
    for (const int tag : tags) { change(by_mpi_, tag, 1); }
    phase_ = Phase::library;
}

bool Receiver::matched_by_mpi(int tag) {
    if (phase_ != Phase::answered && phase_ != Phase::library) { return false; }
    const auto before = before_.find(tag);
    if (before != before_.end() && before->second > 0) {
        change(before_, tag, -1);
        return false;
    }
    change(by_mpi_, tag, -1);
    return true;
}

void Receiver::in_doubt(int tag) { change(before_, tag, 1); }
void Receiver::was_not_cancelled(int tag) { change(before_, tag, -1); }

bool Receiver::must_come_by_mpi_first(int tag, bool any) const {
    return phase_ == Phase::answered || any_of(by_mpi_, tag, any) || any_of(before_, tag, any);
}

bool Receiver::may_come_by_mpi(int tag, bool any) const {
    return phase_ != Phase::library || must_come_by_mpi_first(tag, any);
}

uint64_t Receiver::from_before(int tag) const {
    const auto found = before_.find(tag);
    return found == before_.end() || found->second < 0 ? 0 : static_cast<uint64_t>(found->second);
}

bool Receiver::leave(std::span<const int> waiting) {
    if (!is_receiving() || !by_mpi_.empty() || !before_.empty()) { return false; }
    count_ = {};
    for (const int tag : waiting) { count_.add(tag); }
    phase_ = Phase::leaving;
    return true;
}

void Receiver::matched_by_library(int tag) {
    if (phase_ == Phase::leaving) { count_.remove(tag); }
}

void Receiver::change(Tags& tags, int tag, int64_t by) {
    const auto at = tags.try_emplace(tag, 0).first;
    at->second += by;
    if (at->second == 0) { tags.erase(at); }
}

bool Receiver::any_of(const Tags& tags, int tag, bool any) {
    if (any) {
        return std::any_of(tags.begin(), tags.end(),
                           [](const auto& entry) { return entry.second > 0; });
    }
    const auto found = tags.find(tag);
    return found != tags.end() && found->second > 0;
}

} // namespace nodeaware::handover
