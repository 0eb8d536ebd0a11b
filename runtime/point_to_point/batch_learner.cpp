#include "runtime/point_to_point/batch_learner.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

namespace {

using Streams = std::vector<batches::Stream>; // sorted

bool go_the_same_way(const Streams& left, const Streams& right) {
    return std::equal(
        left.begin(), left.end(), right.begin(), right.end(),
        [](const auto& one, const auto& other) { return one.destination == other.destination; });
}

void add_destinations(const Streams& streams, std::set<int>& to) {
    for (const batches::Stream& stream : streams) { to.insert(stream.destination); }
}

/// Older ones fade.
void add(const BatchLearner::Durations& recent, BatchLearner::Durations& to) {
    to.batches = to.batches / 2 + recent.batches;
    to.cycles = to.cycles / 2 + recent.cycles;
    to.count = to.count / 2 + recent.count;
}

} // namespace

void BatchLearner::post(double seconds) {
    if (has_completed_) {
        finish();
        has_completed_ = false;
        first_post_ = 0;
    }
    if (first_post_ == 0) { first_post_ = seconds; }
}

void BatchLearner::send(const Stream& stream) {
    if (current_.size() < most_streams) {
        current_.push_back(stream);
    } else {
        overflow_ = true;
    }
}

void BatchLearner::complete(double seconds) {
    has_completed_ = true;
    last_completion_ = seconds;
}

void BatchLearner::finish() {
    if (current_.empty()) { return; }
    ++recent_;
    seconds_ += last_completion_ - first_post_;
    last_ = none;
    std::sort(current_.begin(), current_.end());
    const auto known = std::find_if(batches_.begin(), batches_.end(), [&](const auto& batch) {
        return go_the_same_way(batch.streams, current_);
    });
    if (known != batches_.end() && !overflow_) {
        ++known->times;
        known->streams = current_;
        if (++known->repetitions == 2) { add_destinations(current_, learned_); }
        last_ = static_cast<size_t>(known - batches_.begin());
        note_times(last_);
    } else {
        ++recent_new_;
        const size_t place = overflow_ ? none : remember(current_);
        note_times(place);
    }
    overflow_ = false;
    current_.clear();
}

/// Of the batch before, now that the next is complete.
void BatchLearner::note_times(size_t next) {
    if (before_ < batches_.size()) {
        Durations& times = batches_[before_].recent;
        times.batches += before_seconds_;
        times.cycles += first_post_ - before_began_;
        ++times.count;
    }
    before_ = next;
    before_began_ = first_post_;
    before_seconds_ = last_completion_ - first_post_;
}

/// Programs set up with many batches that never come again: those make room.
size_t BatchLearner::remember(std::vector<Stream> streams) {
    if (batches_.size() >= most_batches) {
        const auto seldom = std::find_if(batches_.begin(), batches_.end(),
                                         [](const auto& batch) { return batch.repetitions < 2; });
        if (seldom == batches_.end()) { return none; }
        batches_.erase(seldom);
        before_ = none;
    }
    Kind& kind = batches_.emplace_back();
    kind.streams = std::move(streams);
    kind.repetitions = 1;
    kind.times = 1;
    return batches_.size() - 1;
}

std::optional<double> BatchLearner::library_to_mpi() const {
    constexpr double clear = 0.05;
    Durations library;
    Durations mpi; // of as many
    for (const Kind& kind : batches_) {
        if (kind.by_mpi.count == 0 || kind.by_library.count == 0) { continue; }
        const double share = kind.by_library.count / kind.by_mpi.count;
        library.batches += kind.by_library.batches;
        library.cycles += kind.by_library.cycles;
        mpi.batches += share * kind.by_mpi.batches;
        mpi.cycles += share * kind.by_mpi.cycles;
    }
    if (mpi.batches <= 0 || mpi.cycles <= 0) { return std::nullopt; }
    const double cycles = library.cycles / mpi.cycles;
    const bool is_clear = cycles < 1 - clear || cycles > 1 + clear;
    return is_clear ? cycles : library.batches / mpi.batches;
}

bool BatchLearner::is_stable() const { return recent_new_ * 10 <= recent_; }

void BatchLearner::begin_period(Mover last) {
    recent_ = 0;
    recent_new_ = 0;
    seconds_ = 0;
    last_ = none;
    before_ = none;
    for (Kind& batch : batches_) { batch.unseen = batch.repetitions == 0 ? batch.unseen + 1 : 0; }
    std::erase_if(batches_, [](const auto& batch) { return batch.unseen > most_unseen; });
    learned_.clear();
    for (Kind& batch : batches_) {
        if (last == Mover::mpi) { add(batch.recent, batch.by_mpi); }
        if (last == Mover::library) { add(batch.recent, batch.by_library); }
        batch.recent = {};
        if (batch.repetitions >= 2) { add_destinations(batch.streams, learned_); }
        batch.repetitions = 0;
    }
}

} // namespace nodeaware
