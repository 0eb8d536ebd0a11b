#include "runtime/point_to_point/batch_learner.hpp"

#include <algorithm>
#include <cmath>
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

using Sum = BatchLearner::Sum;
using Durations = BatchLearner::Durations;
using Comparison = BatchLearner::Comparison;

void add(double seconds, Sum& to) {
    to.seconds += seconds;
    to.squares += seconds * seconds;
}

/// Older ones fade.
void fade(const Sum& recent, Sum& to) {
    to.seconds = to.seconds / 2 + recent.seconds;
    to.squares = to.squares / 2 + recent.squares;
}
void add(const Durations& recent, Durations& to) {
    fade(recent.batches, to.batches);
    fade(recent.cycles, to.cycles);
    to.count = to.count / 2 + recent.count;
}

/// The same batches, moved in two ways.
struct Estimate {
    double seconds = 0;
    double variance = 0;
    /// `share`: times as many as there were.
    void add(const Sum& sum, double count, double share) {
        seconds += share * sum.seconds;
        const double mean = sum.seconds / count;
        constexpr double few = 4; // which tell nothing of how they spread
        const double seen = (sum.squares - count * mean * mean) / std::max(count - 1, 1.0);
        const double spread = count < few ? std::max(seen, mean * mean) : std::max(seen, 0.0);
        variance += share * share * count * spread;
    }
    double relative_variance() const { return variance / (seconds * seconds); }
};

struct BothWays {
    Estimate library;
    Estimate mpi;
    bool are_of_whole_periods = true;
    void add(const Sum& by_library, const Sum& by_mpi, double libraries, double mpis) {
        library.add(by_library, libraries, 1);
        mpi.add(by_mpi, mpis, libraries / mpis);
    }
    std::optional<Comparison> comparison() const {
        if (mpi.seconds <= 0 || library.seconds <= 0) { return std::nullopt; }
        const double ratio = library.seconds / mpi.seconds;
        const double variance = library.relative_variance() + mpi.relative_variance();
        return Comparison{ratio, ratio * std::sqrt(variance), are_of_whole_periods};
    }
};

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
        note_times(last_, false);
    } else {
        ++recent_new_;
        const size_t place = overflow_ ? none : remember(current_);
        note_times(place, true);
    }
    overflow_ = false;
    current_.clear();
}

/// Of the batch before, now that the next is complete. The first of a kind says nothing: MPI has to
/// connect ranks.
void BatchLearner::note_times(size_t next, bool is_first) {
    if (before_ < batches_.size() && !before_was_first_) {
        Durations& times = batches_[before_].recent;
        add(before_seconds_, times.batches);
        add(first_post_ - before_began_, times.cycles);
        ++times.count;
    }
    before_ = next;
    before_was_first_ = is_first;
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

std::optional<Comparison> BatchLearner::library_to_mpi() const {
    constexpr double clear = 0.05;
    BothWays batches;
    BothWays cycles;
    for (const Kind& kind : batches_) {
        const Durations& library = kind.by_library;
        const Durations& mpi = kind.by_mpi;
        if (mpi.count == 0 || library.count == 0) { continue; }
        for (BothWays* both : {&batches, &cycles}) {
            both->are_of_whole_periods = both->are_of_whole_periods && kind.was_by_mpi;
        }
        batches.add(library.batches, mpi.batches, library.count, mpi.count);
        cycles.add(library.cycles, mpi.cycles, library.count, mpi.count);
    }
    const auto by_cycles = cycles.comparison();
    const auto by_batches = batches.comparison();
    if (!by_cycles || !by_batches) { return std::nullopt; }
    const bool is_clear =
        by_cycles->is_surely_below(1 - clear) || by_cycles->is_surely_above(1 + clear);
    return is_clear ? by_cycles : by_batches;
}

void BatchLearner::moved_by_mpi_until_now() {
    for (Kind& batch : batches_) {
        if (batch.recent.count > 0) { add(std::exchange(batch.recent, {}), batch.by_mpi); }
    }
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
        if (last == Mover::mpi && batch.recent.count > 0) {
            // What MPI took at first tells nothing of what it takes once all ranks are connected.
            if (!std::exchange(batch.was_by_mpi, true)) { batch.by_mpi = {}; }
            add(batch.recent, batch.by_mpi);
        }
        if (last == Mover::library) { add(batch.recent, batch.by_library); }
        batch.recent = {};
        if (batch.repetitions >= 2) { add_destinations(batch.streams, learned_); }
        batch.repetitions = 0;
    }
}

} // namespace nodeaware
