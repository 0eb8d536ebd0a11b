#include "runtime/point_to_point/batch_learner.hpp"

#include <algorithm>
#include <utility>

namespace nodeaware {

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
    const auto known = std::find_if(batches_.begin(), batches_.end(),
                                    [&](const auto& batch) { return batch.streams == current_; });
    if (known != batches_.end() && !overflow_) {
        ++known->times;
        if (++known->repetitions == 2) { learned_.insert(current_.begin(), current_.end()); }
        last_ = static_cast<size_t>(known - batches_.begin());
    } else {
        ++recent_new_;
        if (!overflow_) { remember(current_); }
    }
    overflow_ = false;
    current_.clear();
}

/// Programs set up with many batches that never come again: those make room.
void BatchLearner::remember(std::vector<Stream> streams) {
    if (batches_.size() >= most_batches) {
        const auto seldom = std::find_if(batches_.begin(), batches_.end(),
                                         [](const auto& batch) { return batch.repetitions < 2; });
        if (seldom == batches_.end()) { return; }
        batches_.erase(seldom);
    }
    batches_.push_back({std::move(streams), 1, 1});
}

bool BatchLearner::is_stable() const { return recent_new_ * 10 <= recent_; }

void BatchLearner::begin_period() {
    recent_ = 0;
    recent_new_ = 0;
    seconds_ = 0;
    last_ = none;
    std::erase_if(batches_, [](const auto& batch) { return batch.repetitions == 0; });
    learned_.clear();
    for (batches::Batch& batch : batches_) {
        if (batch.repetitions >= 2) { learned_.insert(batch.streams.begin(), batch.streams.end()); }
        batch.repetitions = 0;
    }
}

} // namespace nodeaware
