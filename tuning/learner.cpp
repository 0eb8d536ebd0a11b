#include "tuning/learner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

namespace nodeaware::tuning {

namespace {

constexpr int agreements_until_stale = 3; // candidates that lost by far are measured again then
constexpr double lost_by_far = 1.5;

std::string text_of(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
    return text;
}

} // namespace

Learner::Learner(const std::vector<std::string_view>& names, size_t initial) : best_(initial) {
    for (const std::string_view name : names) {
        candidates_.emplace_back();
        candidates_.back().name = name;
    }
}

void Learner::set_kinds(std::span<const int> kinds) {
    for (size_t i = 0; i < candidates_.size(); ++i) { candidates_[i].kind = kinds[i]; }
}

void Learner::change(size_t candidate, bool is_possible) {
    Candidate& changed = candidates_[candidate];
    changed.is_possible = is_possible;
    changed.measured.reset();
    changed.times.clear();
}

size_t Learner::choice() const { return measures() ? plan_[next_measurement_] : best_; }

void Learner::add_time(double seconds, double preparation) {
    preparation_ += preparation;
    candidates_[plan_[next_measurement_]].times.push_back(seconds);
    ++next_measurement_;
}

void Learner::set_predictions(std::span<const double> seconds) {
    for (size_t i = 0; i < candidates_.size(); ++i) { candidates_[i].predicted = seconds[i]; }
}

std::vector<double> Learner::report() const {
    std::vector<double> numbers = {preparation_, wait_};
    for (const Candidate& candidate : candidates_) {
        numbers.push_back(candidate.predicted);
        for (size_t i = 0; i < rounds; ++i) {
            numbers.push_back(i < candidate.times.size() ? candidate.times[i] : 0);
        }
    }
    return numbers;
}

/// The slowest rank counts for every call, and the fastest call for the candidate: others were held
/// up by what the model knows nothing of.
void Learner::take_in(std::span<const double> maxima) {
    if (!plan_.empty()) {
        spent_ += maxima.front();
        call_preparation_ = maxima.front() / static_cast<double>(plan_.size());
    }
    if (maxima[1] > 0) { agreed_wait_ = maxima[1]; }
    preparation_ = 0;
    maxima = maxima.subspan(2);
    const bool is_planned_now = calls_ == next_plan_;
    for (Candidate& candidate : candidates_) {
        candidate.agreed_prediction = maxima.front();
        const auto times = maxima.subspan(1, std::min<size_t>(rounds, candidate.times.size()));
        if (times.empty()) {
            candidate.agreements_ago += is_planned_now ? 1 : 0;
        } else {
            candidate.measured = *std::min_element(times.begin(), times.end());
            candidate.agreements_ago = is_planned_now ? 0 : -1; // counted at those alone
            const double best = candidates_[best_].measured.value_or(*candidate.measured);
            for (const double time : times) { spent_ += std::max(time - best, 0.0); }
        }
        candidate.times.clear();
        maxima = maxima.subspan(1 + rounds);
    }
    find_repeated();
}

/// Where the model sees no difference, no time is spent on it.
void Learner::find_repeated() {
    for (size_t i = 0; i < candidates_.size(); ++i) {
        Candidate& candidate = candidates_[i];
        candidate.is_repeated = false;
        const bool is_known = candidate.measured || candidate.agreed_prediction <= 0;
        if (candidate.kind < 0 || is_known || i == best_) { continue; }
        for (size_t j = 0; j < candidates_.size(); ++j) {
            const Candidate& other = candidates_[j];
            const bool comes_first = j < i || j == best_ || other.measured;
            candidate.is_repeated =
                candidate.is_repeated ||
                (j != i && comes_first && other.is_possible && other.kind == candidate.kind &&
                 other.agreed_prediction == candidate.agreed_prediction);
        }
    }
}

/// What a call is expected to take: as measured; else as predicted, corrected by how far the
/// prediction for the best candidate is off.
double Learner::expected(const Candidate& candidate) const {
    if (!candidate.is_possible || candidate.is_repeated) {
        return std::numeric_limits<double>::infinity();
    }
    if (candidate.measured) { return *candidate.measured; }
    const Candidate& best = candidates_[best_];
    const double off =
        best.measured && best.agreed_prediction > 0 ? *best.measured / best.agreed_prediction : 1.0;
    return candidate.agreed_prediction * off;
}

void Learner::choose_best() {
    const bool measured = candidates_[best_].measured.has_value();
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const Candidate& candidate = candidates_[i];
        if (measured && !candidate.measured) { continue; }
        if (!measured && candidate.agreed_prediction <= 0) { continue; }
        const double share = measured ? measurably_better : worth_a_change;
        if (expected(candidate) < share * expected(candidates_[best_])) { best_ = i; }
    }
}

void Learner::plan_measurements() {
    const double best = expected(candidates_[best_]);
    const auto calls = static_cast<double>(next_agreement_ - calls_);
    budget_ += learning_share * calls * best;
    std::vector<size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return expected(candidates_[a]) < expected(candidates_[b]);
    });
    std::vector<size_t> chosen = {best_};
    // As long as nothing better is known, starting together takes about as long as an exchange, or
    // as ranks have waited for each other if that is less: one wait may be long by chance.
    const double guess = std::min(best, agreed_wait_.value_or(best));
    const double preparation = call_preparation_.value_or(guess);
    double left = budget_ - spent_ - rounds * preparation;
    for (const size_t i : order) {
        const Candidate& candidate = candidates_[i];
        const double time = expected(candidate);
        if (i == best_ || time <= 0 || !std::isfinite(time)) { continue; }
        const bool is_stale = candidate.agreements_ago >= agreements_until_stale;
        if (candidate.measured && time > lost_by_far * best && !is_stale) { continue; }
        const double cost = rounds * (std::max(time - best, 0.0) + preparation);
        if (cost > left) { break; }
        left -= cost;
        chosen.push_back(i);
    }
    if (chosen.size() == 1) { return; } // nobody to compare it with
    // In turn, so that what else happens on the machine meets all alike.
    for (int round = 0; round < rounds; ++round) {
        if (plan_.size() + chosen.size() < next_agreement_ - calls_) {
            plan_.insert(plan_.end(), chosen.begin(), chosen.end());
        }
    }
}

void Learner::agree(std::span<const double> maxima) {
    take_in(maxima);
    choose_best();
    plan_.clear();
    next_measurement_ = 0;
    const bool is_planned_now = calls_ == next_plan_;
    if (is_planned_now) { next_plan_ *= agreement_factor; }
    next_agreement_ = next_plan_;
    if (!is_planned_now) { return; }
    plan_measurements();
    const uint64_t measured = calls_ + plan_.size();
    if (!plan_.empty() && next_plan_ - measured >= many_calls) { next_agreement_ = measured; }
}

void Learner::begin_again(size_t initial) {
    for (Candidate& candidate : candidates_) {
        Candidate fresh;
        fresh.name = candidate.name;
        fresh.kind = candidate.kind;
        fresh.is_possible = candidate.is_possible;
        candidate = std::move(fresh);
    }
    best_ = initial;
    plan_.clear();
    next_measurement_ = 0;
    next_agreement_ = calls_ + first_agreement;
    next_plan_ = next_agreement_;
    budget_ = spent_; // the calls that were to come have not been made
}

std::string Learner::explain() const {
    std::string text;
    const double best = expected(candidates_[best_]);
    for (size_t i = 0; i < candidates_.size(); ++i) {
        const Candidate& candidate = candidates_[i];
        text += text.empty() ? "" : "; ";
        text += std::string(candidate.name) + ": ";
        if (!candidate.is_possible && i != best_) {
            text += "not possible";
            continue;
        }
        if (candidate.agreed_prediction > 0) {
            text += "predicted " + text_of(candidate.agreed_prediction) + ", ";
        }
        text += candidate.measured ? "measured " + text_of(*candidate.measured)
                                   : std::string("not measured");
        if (i == best_) {
            text += ", in use";
        } else if (candidate.is_repeated) {
            text += ", as another one";
        } else if (best > 0 && std::isfinite(expected(candidate)) && expected(candidate) > 0) {
            char lost[64];
            std::snprintf(lost, sizeof lost, ", %.2f times the best%s", expected(candidate) / best,
                          candidate.measured ? "" : " by the model");
            text += lost;
        } else {
            text += ", nothing known";
        }
    }
    return text;
}

} // namespace nodeaware::tuning
