#include "runtime/communicators/selection.hpp"

#include "runtime/job/log.hpp"
#include "runtime/job/ways.hpp"
#include "runtime/memory/areas_on_host.hpp"
#include "runtime/requests/library.hpp"
#include "strategies/forecast.hpp"
#include "strategies/relay.hpp"

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

using Candidates = std::vector<Agreement::CandidateWay>;

std::vector<double> uniform_predictions(const InnerCommunicator& inner, uint64_t bytes,
                                        const Candidates& candidates) {
    std::vector<double> seconds;
    for (const auto& [strategy, parameters, is_possible] : candidates) {
        seconds.push_back(
            is_possible ? predicted_uniform_seconds(inner.topology(), bytes, strategy, *parameters)
                        : 0);
    }
    return seconds;
}

bool way_relays(size_t way) {
    return ways()[way].strategy != nullptr && ways()[way].strategy->relays();
}

/// Else there is one rank on each node: what does not relay sends the messages that MPI would.
bool may_gather(const InnerCommunicator& inner) {
    return inner.topology().most_ranks_on_a_node() > 1;
}

/// Forms of one strategy; and the others, which often come to the same plan.
std::vector<int> kinds_of_ways() {
    std::vector<int> kinds;
    for (size_t i = 0; i < ways().size(); ++i) {
        kinds.push_back(i == native_candidate ? -1 : static_cast<int>(way_relays(i)));
    }
    return kinds;
}

/// Before anything is measured the model decides; MPI may have better algorithms than single
/// messages where it finds nothing to gather, and for reductions.
size_t initial_candidate(const InnerCommunicator& inner, Operation operation,
                         uint64_t uniform_bytes, CallMemory memory) {
    if (operation == Operation::allreduce || !may_gather(inner)) { return native_candidate; }
    const bool gathers = uniform_bytes == 0 || gathering_pays(inner.topology(), uniform_bytes,
                                                              inner.parameters(memory).costs);
    return gathers ? model_candidate : native_candidate;
}

/// Calls that stay with MPI build no schedule, from which the others' times would be known. With
/// none, they would never be tried, however wrong the model is about this machine.
void predict_without_schedule(const InnerCommunicator& inner, uint64_t uniform_bytes,
                              const Candidates& candidates, tuning::Learner& learner) {
    if (learner.best() != native_candidate || uniform_bytes == 0) { return; }
    learner.set_predictions(uniform_predictions(inner, uniform_bytes, candidates));
}

/// The same of a rank that is all of its node, and so knows all that its node has to do.
void predict_alone(const InnerCommunicator& inner, const Exchange& exchange,
                   const Candidates& candidates, tuning::Learner& learner) {
    if (may_gather(inner) || learner.best() != native_candidate) { return; }
    const Topology& topology = inner.topology();
    const RankTraffic* const own[] = {&exchange.traffic};
    const NodeTraffic traffic =
        gather_traffic(topology, topology.node_of(inner.rank()), own, exchange.sharing);
    learner.set_predictions(Agreement::predictions(traffic, candidates));
}

/// Bytes that the node of this rank has for another one, if its other ranks have as much;
/// `uniform`: of every block, if it is known. By powers of two, so that all sizes of a class are
/// alike.
uint64_t bundle_bytes(const InnerCommunicator& inner, const Exchange& exchange, uint64_t uniform) {
    if (exchange.operation == Operation::allreduce) { return uniform; } // one for all its ranks
    const Topology& topology = inner.topology();
    const auto ranks = static_cast<uint64_t>(topology.most_ranks_on_a_node());
    if (uniform > 0) { return std::bit_floor(uniform) * ranks * ranks; }
    const int node = topology.node_of(inner.rank());
    uint64_t sum = 0;
    for (const Outgoing& message : exchange.traffic.outgoing) {
        sum += topology.node_of(message.peer) == node ? 0 : message.bytes;
    }
    return std::bit_floor(sum * ranks / static_cast<uint64_t>(std::max(1, topology.nodes() - 1)));
}

/// By what the ranks have agreed on or know alike; that of the configuration comes first.
int radix_for(const InnerCommunicator& inner, uint64_t bundle, CallMemory memory) {
    const Parameters& parameters = inner.parameters(memory);
    if (library->world.options.radix > 0) { return parameters.radix; }
    return best_radix(inner.topology(), bundle, parameters.costs);
}

struct Seen {
    CallMemory memory;
    uint64_t bundle;
};

/// The most that any rank has seen. Collective.
Seen agree_on(const InnerCommunicator& inner, const Seen& seen) {
    const double mine[] = {static_cast<double>(seen.memory), static_cast<double>(seen.bundle)};
    double all[] = {0, 0};
    MPI_CALL(Allreduce, mine, all, 2, MPI_DOUBLE, MPI_MAX, inner.comm());
    return {static_cast<CallMemory>(all[0]), static_cast<uint64_t>(all[1])};
}

/// At the second, fourth, eighth .. call.
bool agrees_at(uint64_t count) { return count > 1 && std::has_single_bit(count); }

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
    const auto names = names_of_ways();
    const auto found = std::find(names.begin(), names.end(), *name);
    return static_cast<size_t>(found - names.begin());
}

void keep_choice(const InnerCommunicator& inner, Operation operation, uint64_t uniform_bytes,
                 const tuning::Learner& learner) {
    if (const auto seconds = learner.best_measured()) {
        library->learned.learn(&learner, {key_of(inner, operation, uniform_bytes),
                                          std::string(ways()[learner.best()].name), *seconds});
    }
}

// What the forecast counts as copied together is what the library does copy together.
static_assert(AreasOnHost::small.message == DeviceCosts::copied_together);

} // namespace

void Selected::learn_predictions(std::span<const double> seconds) const {
    if (learner == nullptr || seconds.empty()) { return; }
    learner->set_predictions(seconds);
}

void Selected::learn_time() const { learner->add_time(seconds_since(start), preparation); }

/// A radix stays as long as what it was chosen for is about the same: another one would have to be
/// measured anew.
void Selection::set_candidates(InnerCommunicator& inner, uint64_t bundle, Calls& calls) {
    constexpr uint64_t much = 4;
    if (calls.bundle == 0 || bundle >= much * calls.bundle || bundle <= calls.bundle / much) {
        calls.bundle = bundle;
    }
    const CallMemory memory = calls.agreed;
    const int radix = radix_for(inner, calls.bundle, memory);
    constexpr int fewest = 2;
    const bool is_free = library->world.options.radix == 0 && radix != fewest;
    calls.candidates.resize(ways().size());
    for (size_t i = 0; i < ways().size(); ++i) {
        const Way& way = ways()[i];
        const bool is_native = way.strategy == nullptr;
        Agreement::CandidateWay now{way.strategy, &inner.parameters(memory),
                                    is_native || may_gather(inner)};
        if (way_relays(i)) {
            const bool takes_fewest = way.has_fewest_messages && is_free;
            now.parameters =
                &inner.parameters(memory, takes_fewest ? fewest : radix, !way.is_whole);
            const Relay relay(inner.topology(), *now.parameters);
            now.is_possible = takes_fewest == way.has_fewest_messages && relay.is_used() &&
                              calls.bundle <= relay.limit();
        }
        Agreement::CandidateWay& before = calls.candidates[i];
        const bool is_same =
            before.parameters == now.parameters && before.is_possible == now.is_possible;
        if (!is_same) { calls.learner.change(i, now.is_possible); }
        before = now;
    }
}

Selection::Calls& Selection::calls(InnerCommunicator& inner, Operation operation,
                                   uint64_t uniform_bytes) {
    const std::pair key(operation, static_cast<int>(std::bit_width(uniform_bytes)));
    if (const auto found = calls_.find(key); found != calls_.end()) { return found->second; }
    const size_t initial = initial_candidate(inner, operation, uniform_bytes, CallMemory::host);
    Calls& calls =
        calls_.try_emplace(key, Calls{tuning::Learner(names_of_ways(), initial)}).first->second;
    calls.learner.set_kinds(kinds_of_ways());
    Exchange nothing;
    nothing.operation = operation;
    set_candidates(inner, bundle_bytes(inner, nothing, uniform_bytes), calls);
    if (const auto learned = learned_candidate(inner, operation, uniform_bytes)) {
        calls.learner.settle(*learned);
    } else {
        predict_without_schedule(inner, uniform_bytes, calls.candidates, calls.learner);
    }
    return calls;
}

/// Returns what learning has cost since the last time, on rank 0 (on the others 0).
double Selection::agree(InnerCommunicator& inner, const Exchange& exchange, uint64_t uniform_bytes,
                        Calls& calls) {
    const Operation operation = exchange.operation;
    tuning::Learner& learner = calls.learner;
    const double before = learner.cost_of_learning();
    if (uniform_bytes == 0) { predict_alone(inner, exchange, calls.candidates, learner); }
    std::vector<double> numbers = learner.report();
    numbers.push_back(static_cast<double>(bundle_bytes(inner, exchange, uniform_bytes)));
    numbers.push_back(static_cast<double>(calls.seen));
    std::vector<double> maxima(numbers.size());
    const auto arrival = std::chrono::steady_clock::now();
    MPI_CALL(Allreduce, numbers.data(), maxima.data(), static_cast<int>(numbers.size()), MPI_DOUBLE,
             MPI_MAX, inner.comm());
    const double wait = seconds_since(arrival);
    const auto memory = static_cast<CallMemory>(maxima.back());
    maxima.pop_back();
    const auto bundle = static_cast<uint64_t>(maxima.back());
    maxima.pop_back();
    const bool has_devices_now = memory > calls.agreed;
    const CallMemory was = std::exchange(calls.agreed, std::max(calls.agreed, memory));
    set_candidates(inner, bundle, calls);
    learner.agree(maxima);
    learner.add_wait(wait);
    if (memory == CallMemory::host) { keep_choice(inner, operation, uniform_bytes, learner); }
    const double cost = learner.cost_of_learning() - before;
    if (inner.rank() == 0) {
        const bool is_news = is_another_choice(
            {operation, inner.size(), std::bit_width(uniform_bytes), was}, learner.best());
        log(is_news ? LogLevel::info : LogLevel::debug, "{} of {} ranks{}: {}", name_of(operation),
            inner.size(), text_of(was), learner.explain());
    }
    if (has_devices_now) {
        learner.begin_again(initial_candidate(inner, operation, uniform_bytes, memory));
        predict_without_schedule(inner, uniform_bytes, calls.candidates, learner);
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

Selected Selection::select_fixed(InnerCommunicator& inner, const Exchange& exchange,
                                 const Strategy* strategy, uint64_t uniform_bytes) {
    Selected selected;
    selected.strategy = strategy;
    if (strategy == nullptr) { return selected; }
    selected.parameters = &inner.parameters();
    if (!inner.may_have_devices() && !strategy->relays()) { return selected; }
    FixedCalls& calls =
        fixed_calls_[{exchange.operation, static_cast<int>(std::bit_width(uniform_bytes))}];
    const uint64_t bundle = bundle_bytes(inner, exchange, uniform_bytes);
    if (uniform_bytes > 0) { calls.bundle = bundle; }
    calls.seen = std::max(calls.seen, memory_of(exchange));
    const bool is_known = uniform_bytes > 0 && !inner.may_have_devices();
    if (!is_known && agrees_at(++calls.count)) {
        const Seen seen = agree_on(inner, {calls.seen, bundle});
        calls.agreed = seen.memory;
        calls.bundle = seen.bundle;
    }
    selected.memory = calls.agreed;
    selected.parameters = &inner.parameters(calls.agreed);
    if (strategy->relays()) {
        const int radix = radix_for(inner, calls.bundle, calls.agreed);
        selected.parameters = &inner.parameters(calls.agreed, radix, true);
    }
    return selected;
}

Selected Selection::select(InnerCommunicator& inner, const Exchange& exchange, const Choice& choice,
                           uint64_t uniform_bytes) {
    if (choice.kind == Choice::Kind::fixed) {
        return select_fixed(inner, exchange, choice.strategy, uniform_bytes);
    }
    Selected selected;
    const Operation operation = exchange.operation;
    Calls& calls = this->calls(inner, operation, uniform_bytes);
    calls.seen = std::max(calls.seen, memory_of(exchange));
    tuning::Learner& learner = calls.learner;
    learner.begin_call();
    if (learner.agrees_now()) {
        selected.learning_seconds = agree(inner, exchange, uniform_bytes, calls);
    }
    // What was learned in another run says nothing of how much there is to relay.
    const bool relays = way_relays(learner.choice());
    if (learner.is_settled() && relays && uniform_bytes == 0 && agrees_at(++calls.count)) {
        const uint64_t mine = bundle_bytes(inner, exchange, uniform_bytes);
        set_candidates(inner, agree_on(inner, {calls.seen, mine}).bundle, calls);
    }
    selected.learner = &learner;
    selected.memory = calls.agreed;
    selected.candidates = calls.candidates;
    const Agreement::CandidateWay& way = calls.candidates.at(learner.choice());
    selected.strategy = way.strategy;
    selected.parameters = way.parameters;
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
