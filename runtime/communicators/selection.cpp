#include "runtime/communicators/selection.hpp"

#include "runtime/job/log.hpp"
#include "runtime/memory/areas_on_host.hpp"
#include "runtime/requests/library.hpp"
#include "strategies/forecast.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

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

std::vector<double> uniform_predictions(const InnerCommunicator& inner, uint64_t bytes,
                                        CallMemory memory) {
    std::vector<double> seconds;
    for (const Strategy* strategy : candidate_strategies()) {
        seconds.push_back(
            predicted_uniform_seconds(inner.topology(), bytes, strategy, inner.parameters(memory)));
    }
    return seconds;
}

/// Before anything is measured the model decides; MPI may have better algorithms than single
/// messages where it finds nothing to gather.
size_t initial_candidate(const InnerCommunicator& inner, uint64_t uniform_bytes,
                         CallMemory memory) {
    const bool gathers = uniform_bytes == 0 || gathering_pays(inner.topology(), uniform_bytes,
                                                              inner.parameters(memory).costs);
    return gathers ? model_candidate : native_candidate;
}

/// Calls that stay with MPI build no schedule, from which the others' times would be known. With
/// none, they would never be tried, however wrong the model is about this machine.
void predict_without_schedule(const InnerCommunicator& inner, uint64_t uniform_bytes,
                              CallMemory memory, tuning::Learner& learner) {
    if (learner.best() != native_candidate || uniform_bytes == 0) { return; }
    learner.set_predictions(uniform_predictions(inner, uniform_bytes, memory));
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string text_of(const CopyCosts& copies) {
    return fmt::format("{:.3g} us (each further one {:.3g} us) and {:.3g} us/MB",
                       1e6 * copies.latency, 1e6 * copies.next, 1e12 * copies.per_byte);
}

/// What a choice is for, whichever the communicator.
using Kind = std::tuple<Operation, int, int, CallMemory>;

/// Programs make communicators by the hundred, whose choices are mostly the same.
bool is_another_choice(const Kind& kind, size_t choice) {
    static std::mutex mutex;
    static std::map<Kind, size_t> told;
    const std::lock_guard guard(mutex);
    const auto [known, is_new] = told.try_emplace(kind, choice);
    return is_new || std::exchange(known->second, choice) != choice;
}

tuning::ChoiceKey key_of(const InnerCommunicator& inner, Operation operation,
                         uint64_t uniform_bytes) {
    const Topology& topology = inner.topology();
    return {std::string(name_of(operation)), topology.ranks(), topology.nodes(),
            topology.most_ranks_on_a_node(), static_cast<int>(std::bit_width(uniform_bytes))};
}

/// By runs before; nothing where devices may be found to be in use, which only learning agrees on.
std::optional<size_t> learned_candidate(const InnerCommunicator& inner, Operation operation,
                                        uint64_t uniform_bytes) {
    if (inner.may_have_devices()) { return std::nullopt; }
    const std::string* const name = library->learned.find(key_of(inner, operation, uniform_bytes));
    if (name == nullptr) { return std::nullopt; }
    const auto names = candidate_names();
    const auto found = std::find(names.begin(), names.end(), *name);
    return static_cast<size_t>(found - names.begin());
}

void keep_choice(const InnerCommunicator& inner, Operation operation, uint64_t uniform_bytes,
                 const tuning::Learner& learner) {
    if (const auto seconds = learner.best_measured()) {
        library->learned.learn(&learner,
                               {key_of(inner, operation, uniform_bytes),
                                std::string(candidate_names()[learner.best()]), *seconds});
    }
}

// What the forecast counts as copied together is what the library does copy together.
static_assert(AreasOnHost::small.message == DeviceCosts::copied_together);

} // namespace

std::span<const Strategy* const> Selected::candidates() const {
    if (learner == nullptr) { return {}; }
    return candidate_strategies();
}

void Selected::learn_predictions(std::span<const double> seconds) const {
    if (learner != nullptr && !seconds.empty()) { learner->set_predictions(seconds); }
}

void Selected::learn_time() const { learner->add_time(seconds_since(start), preparation); }

Selection::Calls& Selection::calls(const InnerCommunicator& inner, Operation operation,
                                   uint64_t uniform_bytes) {
    const std::pair key(operation, static_cast<int>(std::bit_width(uniform_bytes)));
    if (const auto found = calls_.find(key); found != calls_.end()) { return found->second; }
    const size_t initial = initial_candidate(inner, uniform_bytes, CallMemory::host);
    Calls& calls =
        calls_.try_emplace(key, Calls{tuning::Learner(candidate_names(), initial)}).first->second;
    if (const auto learned = learned_candidate(inner, operation, uniform_bytes)) {
        calls.learner.settle(*learned);
    } else {
        predict_without_schedule(inner, uniform_bytes, calls.agreed, calls.learner);
    }
    return calls;
}

/// Returns what learning has cost since the last time, on rank 0 (on the others 0).
double Selection::agree(InnerCommunicator& inner, Operation operation, uint64_t uniform_bytes,
                        Calls& calls) {
    tuning::Learner& learner = calls.learner;
    const double before = learner.cost_of_learning();
    std::vector<double> numbers = learner.report();
    numbers.push_back(static_cast<double>(calls.seen));
    std::vector<double> maxima(numbers.size());
    const auto arrival = std::chrono::steady_clock::now();
    MPI_CALL(Allreduce, numbers.data(), maxima.data(), static_cast<int>(numbers.size()), MPI_DOUBLE,
             MPI_MAX, inner.comm());
    const double wait = seconds_since(arrival);
    const auto memory = static_cast<CallMemory>(maxima.back());
    maxima.pop_back();
    learner.agree(maxima);
    learner.add_wait(wait);
    if (memory == CallMemory::host) { keep_choice(inner, operation, uniform_bytes, learner); }
    const double cost = learner.cost_of_learning() - before;
    if (inner.rank() == 0) {
        const bool is_news = is_another_choice(
            {operation, inner.size(), std::bit_width(uniform_bytes), calls.agreed}, learner.best());
        log(is_news ? LogLevel::info : LogLevel::debug, "{} of {} ranks{}: {}", name_of(operation),
            inner.size(), text_of(calls.agreed), learner.explain());
    }
    if (memory > calls.agreed) {
        calls.agreed = memory;
        learner.begin_again(initial_candidate(inner, uniform_bytes, memory));
        predict_without_schedule(inner, uniform_bytes, memory, learner);
        if (inner.rank() == 0) {
            const DeviceCosts& costs = inner.parameters(memory).costs.devices;
            log(LogLevel::info,
                "{} of {} ranks: learning begins again{}; copies: to the host {}, to the device {}",
                name_of(operation), inner.size(), text_of(memory), text_of(costs.to_host),
                text_of(costs.to_device));
        }
    }
    return inner.rank() == 0 ? cost : 0;
}

CallMemory Selection::agreed_memory(const InnerCommunicator& inner, const Exchange& exchange) {
    FixedCalls& calls = fixed_calls_[exchange.operation];
    calls.seen = std::max(calls.seen, memory_of(exchange));
    ++calls.count;
    const bool agrees_now = calls.count > 1 && std::has_single_bit(calls.count);
    if (agrees_now && calls.agreed < CallMemory::devices) {
        int seen = static_cast<int>(calls.seen);
        int largest = 0;
        MPI_CALL(Allreduce, &seen, &largest, 1, MPI_INT, MPI_MAX, inner.comm());
        calls.agreed = static_cast<CallMemory>(largest);
    }
    return calls.agreed;
}

Selected Selection::select(InnerCommunicator& inner, const Exchange& exchange, const Choice& choice,
                           uint64_t uniform_bytes) {
    Selected selected;
    if (choice.kind == Choice::Kind::fixed) {
        selected.strategy = choice.strategy;
        if (choice.strategy != nullptr && inner.may_have_devices()) {
            selected.memory = agreed_memory(inner, exchange);
        }
        return selected;
    }
    const Operation operation = exchange.operation;
    Calls& calls = this->calls(inner, operation, uniform_bytes);
    calls.seen = std::max(calls.seen, memory_of(exchange));
    tuning::Learner& learner = calls.learner;
    learner.begin_call();
    if (learner.agrees_now()) {
        selected.learning_seconds = agree(inner, operation, uniform_bytes, calls);
    }
    selected.learner = &learner;
    selected.memory = calls.agreed;
    selected.strategy = candidate_strategies().at(learner.choice());
    selected.is_measured = learner.measures();
    if (selected.is_measured) {
        // All ranks start together, so that the time of a call is its own.
        const auto arrival = std::chrono::steady_clock::now();
        MPI_CALL(Barrier, inner.comm());
        selected.start = std::chrono::steady_clock::now();
        selected.preparation = seconds_since(arrival);
    }
    return selected;
}

} // namespace nodeaware
