#include "runtime/point_to_point/comparison_policy.hpp"

#include <algorithm>

namespace nodeaware {

namespace {

/// Comparisons are never more seldom than after so many periods that told nothing.
constexpr int most_undecided = 1024;

/// What a comparison may cost, to what batches take.
constexpr double comparing_share = 0.05;

bool surely_gains(const ComparisonPolicy::Measured& measured) {
    return measured && measured->is_of_whole_periods && measured->is_surely_below(1);
}

} // namespace

ComparisonPolicy::Decision ComparisonPolicy::end_period(const Measured& measured,
                                                        double saved_share) {
    if (surely_gains(measured)) { return Decision::go_on; }
    if (++undecided_ < periods_to_decide(measured, saved_share)) { return Decision::go_on; }
    undecided_ = 0;
    if (was_compared_ && measured && measured->is_surely_above(slower)) {
        was_faster_ = false;
        return Decision::give_back;
    }
    if (was_compared_ && --periods_to_compare_ > 0) { return Decision::go_on; }
    return Decision::compare;
}

bool ComparisonPolicy::joins(const Measured& measured, double saved_share) const {
    if (surely_gains(measured)) { return false; }
    constexpr int sooner = 4; // than it would compare by itself
    return sooner * (undecided_ + 1) >= periods_to_decide(measured, saved_share);
}

void ComparisonPolicy::know_faster() {
    begin();
    was_faster_ = true;
}

void ComparisonPolicy::begin() {
    compared_after_ = std::min(2 * compared_after_, most_undecided);
    periods_to_compare_ = compared_after_;
    undecided_ = 0;
    was_compared_ = true;
}

/// What is faster goes on at once, not when it is time to think of it again; of what the noise
/// hides the model decides.
ComparisonPolicy::Decision ComparisonPolicy::end(const Measured& measured) {
    was_faster_ = measured && measured->is_surely_below(1);
    constexpr int most_in_vain = 8;
    if (!measured) { // others have come
        was_compared_ = false;
        compared_in_vain_ = std::min(compared_in_vain_ + 1, most_in_vain);
    }
    const bool is_slower = measured && measured->is_surely_above(slower);
    return is_slower ? Decision::give_back : Decision::go_on;
}

/// Before what takes so long, to what it takes by MPI, is measured once more. The more it seems to
/// gain, or, where batches were not seen by MPI, the more messages are saved, the more is lost by
/// that; and where that told nothing, it may do so again.
int ComparisonPolicy::periods_to_decide(const Measured& measured, double saved_share) const {
    if (measured && (measured->is_of_whole_periods || measured->is_surely_above(slower))) {
        return 1;
    }
    constexpr int some = 4; // what was seen by MPI may come again
    constexpr int many = 32;
    const double ratio = measured ? measured->ratio : 1 - saved_share;
    const double share = double(to_settle + period_to_compare) / double(period) / comparing_share;
    constexpr double least = 0.01;
    const double lost = 1 / std::max(ratio, least) - 1;
    const int periods = std::clamp(static_cast<int>(share * lost), some, many);
    return measured ? periods : periods << compared_in_vain_;
}

} // namespace nodeaware
