#include "runtime/point_to_point/batch_learner.hpp"

#include <algorithm>

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
    std::sort(current_.begin(), current_.end());
    const auto known = std::find_if(batches_.begin(), batches_.end(),
                                    [&](const Batch& batch) { return batch.streams == current_; });
    if (known != batches_.end() && !overflow_) {
        ++known->count;
        ++known->recent;
    } else {
        ++recent_new_;
        if (batches_.size() < most_batches && !overflow_) { batches_.push_back({current_, 1, 1}); }
    }
    overflow_ = false;
    current_.clear();
}

bool BatchLearner::is_stable() const { return recent_new_ * 10 <= recent_; }

void BatchLearner::begin_period() {
    recent_ = 0;
    recent_new_ = 0;
    seconds_ = 0;
    for (Batch& batch : batches_) { batch.recent = 0; }
}

void BatchLearner::forget() { *this = BatchLearner(); }

} // namespace nodeaware
