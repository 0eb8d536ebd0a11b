#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nodeaware {

/// Whether the messages of operations of one kind on one communicator go with others or straight,
/// by what has been measured: the time from one operation to the next, whatever else the program
/// does, for what other work hides need not be shorter. Every rank has one of its own and decides
/// alone, as receivers take what comes either way. They try the other way at the same operations,
/// so seldom that it costs little. Pure.
class GatheringFeedback {
  public:
    static constexpr uint64_t trial_calls = 3;
    static constexpr uint64_t first_trial = 64; ///< call; each later one comes at 4 times that
    static constexpr uint64_t trial_factor = 4;
    static constexpr double trial_share = 0.05; ///< of the time, at most
    static constexpr double worth_a_change = 0.9;

    /// An operation begins at that time, in seconds of any steady clock. `gain`: how many times as
    /// long it may take straight, at most. True: its messages go with others.
    bool begin(double seconds, double gain) {
        if (calls_ > 0) { note(seconds - began_); }
        began_ = seconds;
        ++calls_;
        if (calls_ == next_trial_) {
            next_trial_ *= trial_factor;
            const double cost = gathers_ ? gain : 1;
            const bool is_cheap = double(trial_calls) * cost <= trial_share * double(calls_);
            if (is_cheap) { trial_left_ = trial_calls; }
        }
        is_trial_ = trial_left_ > 0;
        if (is_trial_) { --trial_left_; }
        return gathers_ != is_trial_;
    }

  private:
    /// Of the call before, now that it is over.
    void note(double seconds) {
        std::vector<double>& times = is_trial_ ? tried_ : usual_;
        constexpr size_t most = 32;
        if (times.size() == most) { times.erase(times.begin()); }
        times.push_back(seconds);
        if (!is_trial_ || trial_left_ > 0) { return; }
        if (median(tried_) < worth_a_change * median(usual_)) {
            gathers_ = !gathers_;
            usual_.swap(tried_);
        }
        tried_.clear();
    }

    static double median(std::vector<double> times) {
        if (times.empty()) { return 0; }
        const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        return *middle;
    }

    bool gathers_ = true;
    bool is_trial_ = false; ///< the last call
    uint64_t trial_left_ = 0;
    uint64_t calls_ = 0;
    uint64_t next_trial_ = first_trial;
    double began_ = 0;
    std::vector<double> usual_; ///< seconds of the last calls
    std::vector<double> tried_;
};

} // namespace nodeaware
