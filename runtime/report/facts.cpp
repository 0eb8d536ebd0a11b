#include "runtime/report/facts.hpp"

#include "runtime/job/versions.hpp"
#include "runtime/trace/purpose.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <numeric>
#include <set>

namespace nodeaware::report {

namespace {

/// Of one rank, and of the job.
constexpr size_t most_rows_of_rank = 32;
constexpr size_t most_rows = 1024;

struct Numbered {
    double value;
    int rank;
};

uint64_t calls_of(const CommunicatorRow& row) { return row.exchanges + row.messages; }

void add_to(CommunicatorRow& sum, const CommunicatorRow& row) {
    sum.communicators += row.communicators;
    sum.exchanges += row.exchanges;
    sum.messages += row.messages;
    sum.seconds += row.seconds;
    for (const auto& added : row.ways) {
        const auto known = std::find_if(sum.ways.begin(), sum.ways.end(),
                                        [&](const auto& way) { return way.first == added.first; });
        if (known == sum.ways.end()) {
            sum.ways.push_back(added);
        } else {
            known->second += added.second;
        }
    }
}

std::array<Spread, Times::kinds> spread_over_ranks(const World& world, const Times& mine) {
    std::array<Numbered, Times::kinds> own{};
    for (size_t i = 0; i < own.size(); ++i) { own[i] = {mine.seconds[i], world.rank}; }
    std::array<Numbered, Times::kinds> least{};
    std::array<Numbered, Times::kinds> most{};
    std::array<double, Times::kinds> sums{};
    constexpr int count = Times::kinds;
    MPI_CALL(Reduce, own.data(), least.data(), count, MPI_DOUBLE_INT, MPI_MINLOC, 0,
             MPI_COMM_WORLD);
    MPI_CALL(Reduce, own.data(), most.data(), count, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
    MPI_CALL(Reduce, mine.seconds.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
    std::array<Spread, Times::kinds> spreads{};
    for (size_t i = 0; i < spreads.size(); ++i) {
        spreads[i] = {least[i].value, sums[i] / world.size, most[i].value, least[i].rank,
                      most[i].rank};
    }
    return spreads;
}

template <class Function> Function* find_or_throw(const char* name) {
    auto* const function = reinterpret_cast<Function*>(find_mpi(name));
    if (function == nullptr) { throw MpiError(MPI_ERR_OTHER, name); }
    return function;
}

void check(int code, const char* function) {
    if (code != MPI_SUCCESS) { throw MpiError(code, function); }
}

/// The texts of all ranks, on rank 0, if it has memory for them, which the others are told before
/// they send any.
std::vector<std::string> gathered(const World& world, const std::string& mine) {
    auto* const gather = find_or_throw<decltype(MPI_Gather)>("MPI_Gather");
    auto* const gatherv = find_or_throw<decltype(MPI_Gatherv)>("MPI_Gatherv");
    const int length = static_cast<int>(mine.size());
    const unsigned long long own = mine.size();
    unsigned long long sum = 0;
    MPI_CALL(Reduce, &own, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    const auto ranks = static_cast<size_t>(world.rank == 0 ? world.size : 0);
    std::vector<int> lengths;
    std::vector<int> places;
    std::string all;
    int has_room = sum < (1ULL << 30) ? 1 : 0;
    try {
        lengths.resize(ranks);
        places.resize(ranks);
        if (has_room == 1) { all.resize(sum); }
    } catch (const std::bad_alloc&) { has_room = 0; }
    MPI_CALL(Bcast, &has_room, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (has_room == 0) { return {}; }
    check(gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Gather");
    std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
    check(gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(),
                  MPI_CHAR, 0, MPI_COMM_WORLD),
          "MPI_Gatherv");
    std::vector<std::string> texts;
    for (size_t i = 0; i < ranks; ++i) {
        texts.push_back(
            all.substr(static_cast<size_t>(places[i]), static_cast<size_t>(lengths[i])));
    }
    return texts;
}

std::vector<CommunicatorRow> rows_of_all(const World& world, const Times& mine) {
    std::string own;
    try {
        own = packed(merged(mine.communicators, most_rows_of_rank));
    } catch (const std::bad_alloc&) { own.clear(); } // the others wait for this rank
    std::vector<CommunicatorRow> rows;
    for (const std::string& text : gathered(world, own)) {
        const auto more = unpacked(text);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return merged(rows, most_rows);
}

} // namespace

std::vector<CommunicatorRow> merged(const std::vector<CommunicatorRow>& rows, size_t most) {
    std::vector<CommunicatorRow> sums;
    std::map<std::pair<std::string, int>, size_t> places;
    for (const CommunicatorRow& row : rows) {
        const auto [place, is_new] = places.try_emplace({row.name, row.ranks}, sums.size());
        if (is_new) { sums.push_back({row.name, row.ranks, 0, 0, 0, 0, {}}); }
        add_to(sums[place->second], row);
    }
    std::stable_sort(sums.begin(), sums.end(), [](const auto& one, const auto& other) {
        return calls_of(one) > calls_of(other);
    });
    if (sums.size() <= most) { return sums; }
    CommunicatorRow others;
    for (size_t i = most - 1; i < sums.size(); ++i) { add_to(others, sums[i]); }
    sums.resize(most - 1);
    sums.push_back(std::move(others));
    return sums;
}

Times times_of(const trace::Contents& contents, double wall, bool only_led) {
    Times times;
    std::vector<CommunicatorRow> rows;
    for (size_t i = 0; i < contents.communicators().size(); ++i) {
        const trace::Communicator& communicator = contents.communicators()[i];
        CommunicatorRow& row = rows.emplace_back();
        row = {communicator.name, communicator.size, 1, 0, 0, 0, {}};
        for (const auto& [strategy, calls] : contents.ways()[i].all) {
            row.exchanges += calls;
            row.ways.emplace_back(strategy, calls);
        }
    }
    for (const trace::Site& site : contents.sites()) {
        const trace::Purpose purpose = trace::purpose_of(site.call.function);
        const double seconds = static_cast<double>(site.times.sum) * 1e-9;
        constexpr std::array<Times::Kind, trace::purposes> kinds = {
            Times::exchanges, Times::messages, Times::others, Times::files};
        times.seconds[kinds[static_cast<size_t>(purpose)]] += seconds;
        if (site.call.communicator < 0) { continue; }
        CommunicatorRow& row = rows[static_cast<size_t>(site.call.communicator)];
        row.seconds += seconds;
        if (purpose == trace::Purpose::message) { row.messages += site.times.calls; }
    }
    times.seconds[Times::wall] = wall;
    times.seconds[Times::in_calls] = static_cast<double>(contents.all_calls().sum) * 1e-9;
    for (size_t i = 0; i < rows.size(); ++i) {
        const bool is_led = contents.communicators()[i].rank == 0;
        if (is_led || !only_led) { times.communicators.push_back(std::move(rows[i])); }
    }
    return times;
}

Facts facts_of(const World& world) {
    Facts facts;
    facts.library = library_version();
    facts.mpi = mpi_version();
    facts.model = world.model_table;
    facts.ranks = world.size;
    facts.nodes = static_cast<int>(std::set(world.node_of.begin(), world.node_of.end()).size());
    facts.machines = world.machines;
    facts.nodes_are_virtual = !world.options.ppn.empty();
    facts.observes = world.options.observes;
    for (const Strategy& strategy : strategies()) { facts.strategies.push_back(strategy.name); }
    return facts;
}

void add_own(Facts& facts, int rank, Counted counted, const Times* times) {
    facts.only_rank = rank;
    facts.counted = std::move(counted);
    facts.has_times = times != nullptr;
    if (times == nullptr) { return; }
    for (size_t i = 0; i < facts.times.size(); ++i) {
        const double seconds = times->seconds[i];
        facts.times[i] = {seconds, seconds, seconds, rank, rank};
    }
    facts.communicators = merged(times->communicators, most_rows_of_rank);
}

void add_all(Facts& facts, const World& world, Counted counted, std::vector<Report::Note> notes,
             const Times* times) {
    std::vector<unsigned long long> mine;
    counted.each([&](uint64_t number) { mine.push_back(number); });
    for (const Report::Note& note : notes) { mine.push_back(note.value); }
    std::vector<unsigned long long> sums(mine.size());
    MPI_CALL(Reduce, mine.data(), sums.data(), static_cast<int>(mine.size()),
             MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    auto next = sums.begin();
    counted.each([&](uint64_t& number) { number = *next++; });
    for (Report::Note& note : notes) { note.value = *next++; }
    facts.counted = std::move(counted);
    facts.notes = std::move(notes);
    facts.has_times = world.options.report_times;
    if (!facts.has_times) { return; }
    const Times none;
    facts.times = spread_over_ranks(world, times == nullptr ? none : *times);
    facts.communicators = rows_of_all(world, times == nullptr ? none : *times);
}

} // namespace nodeaware::report
