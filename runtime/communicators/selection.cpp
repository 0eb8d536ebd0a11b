#include "runtime/communicators/selection.hpp"

#include "runtime/job/log.hpp"
#include "strategies/forecast.hpp"

#include <bit>

namespace nodeaware {

namespace {

constexpr size_t native_candidate = 0;
constexpr size_t model_candidate = 1;

/// All strategies, and nullptr: native. Where times are equal, the first wins.
const std::vector<const Strategy*>& candidate_strategies() {
    static const std::vector<const Strategy*> list = [] {
        const Strategy* const model = find_strategy("model");
        std::vector<const Strategy*> candidates = {nullptr, model};
        for (const Strategy& strategy : strategies()) {
            if (&strategy != model) { candidates.push_back(&strategy); }
        }
        return candidates;
    }();
    return list;
}

std::vector<std::string_view> candidate_names() {
    std::vector<std::string_view> names;
    for (const Strategy* strategy : candidate_strategies()) {
        names.push_back(strategy == nullptr ? "native" : strategy->name);
    }
    return names;
}

/// Returns what learning has cost since the last time, on rank 0 (on the others 0).
double agree(InnerCommunicator& inner, Operation operation, tuning::Learner& learner) {
    const double before = learner.cost_of_learning();
    std::vector<double> numbers = learner.report();
    std::vector<double> maxima(numbers.size());
    MPI_CALL(Allreduce, numbers.data(), maxima.data(), static_cast<int>(numbers.size()), MPI_DOUBLE,
             MPI_MAX, inner.comm());
    learner.agree(maxima);
    if (inner.rank() != 0) { return 0; }
    log(LogLevel::info, "{} of {} ranks: {}", name_of(operation), inner.size(), learner.explain());
    return learner.cost_of_learning() - before;
}

std::vector<double> uniform_predictions(const InnerCommunicator& inner, uint64_t bytes) {
    std::vector<double> seconds;
    for (const Strategy* strategy : candidate_strategies()) {
        seconds.push_back(
            predicted_uniform_seconds(inner.topology(), bytes, strategy, inner.parameters()));
    }
    return seconds;
}

} // namespace

std::span<const Strategy* const> Selected::candidates() const {
    if (learner == nullptr) { return {}; }
    return candidate_strategies();
}

void Selected::learn_predictions(std::span<const double> seconds) const {
    if (learner != nullptr && !seconds.empty()) { learner->set_predictions(seconds); }
}

void Selected::learn_time() const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    learner->add_time(time.count(), preparation);
}

tuning::Learner& Selection::learner(const InnerCommunicator& inner, Operation operation,
                                    uint64_t uniform_bytes) {
    const std::pair key(operation, static_cast<int>(std::bit_width(uniform_bytes)));
    if (const auto found = learners_.find(key); found != learners_.end()) { return found->second; }
    // Before anything is measured the model decides; MPI may have better algorithms than single
    // messages where it finds nothing to gather.
    const bool gathers = uniform_bytes == 0 ||
                         gathering_pays(inner.topology(), uniform_bytes, inner.parameters().costs);
    tuning::Learner& learner =
        learners_.try_emplace(key, candidate_names(), gathers ? model_candidate : native_candidate)
            .first->second;
    // Calls that stay with MPI build no schedule, from which the others' times would be known. With
    // none, they would never be tried, however wrong the model is about this machine.
    if (!gathers) { learner.set_predictions(uniform_predictions(inner, uniform_bytes)); }
    return learner;
}

Selected Selection::select(InnerCommunicator& inner, Operation operation, const Choice& choice,
                           uint64_t uniform_bytes) {
    if (choice.kind == Choice::Kind::fixed) { return {choice.strategy}; }
    tuning::Learner& learner = this->learner(inner, operation, uniform_bytes);
    learner.begin_call();
    Selected selected;
    selected.learner = &learner;
    if (learner.agrees_now()) { selected.learning_seconds = agree(inner, operation, learner); }
    selected.strategy = candidate_strategies().at(learner.choice());
    selected.is_measured = learner.measures();
    if (selected.is_measured) {
        // All ranks start together, so that the time of a call is its own.
        const auto arrival = std::chrono::steady_clock::now();
        MPI_CALL(Barrier, inner.comm());
        selected.start = std::chrono::steady_clock::now();
        selected.preparation = std::chrono::duration<double>(selected.start - arrival).count();
    }
    return selected;
}

} // namespace nodeaware
