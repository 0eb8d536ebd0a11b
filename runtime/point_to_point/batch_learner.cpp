#include "runtime/point_to_point/batch_learner.hpp"

#include <algorithm>
#include <iterator>
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
    std::sort(current_.begin(), current_.end());
    const auto known = std::find_if(batches_.begin(), batches_.end(),
                                    [&](const auto& batch) { return batch.streams == current_; });
    if (known != batches_.end() && !overflow_) {
        ++known->repetitions;
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
    batches_.push_back({std::move(streams), 1});
}

std::vector<batches::Batch> BatchLearner::repeated() const {
    std::vector<batches::Batch> repeated;
    std::copy_if(batches_.begin(), batches_.end(), std::back_inserter(repeated),
                 [](const auto& batch) { return batch.repetitions >= 2; });
    return repeated;
}

bool BatchLearner::is_stable() const { return recent_new_ * 10 <= recent_; }

void BatchLearner::begin_period() {
    recent_ = 0;
    recent_new_ = 0;
    seconds_ = 0;
    std::erase_if(batches_, [](const auto& batch) { return batch.repetitions == 0; });
    for (batches::Batch& batch : batches_) { batch.repetitions = 0; }
}

void BatchLearner::forget() { *this = BatchLearner(); }

} // namespace nodeaware
