#include "tools/simulate/virtual_time.hpp"

#include <algorithm>
#include <queue>
#include <simgrid/s4u.hpp>
#include <unistd.h>
#include <unordered_map>

namespace nodeaware::simulation::virtual_time {

namespace {

namespace sg = simgrid::s4u;

/// Events closer to each other than SimGrid tells apart: a rank that waits for a message looks
/// after it has come.
constexpr double moment = 1e-8;
constexpr double shortest_sleep = 1e-9; ///< that SimGrid takes for one
/// A rank looks now and then even if nothing seems to have happened.
constexpr double shortest_patience = 2e-5;
constexpr double longest_patience = 1e-3;
/// Through how many ranks of a node it goes on that something has happened: who is told may have
/// done something by which it lets a third go on, and nobody sees what is written to memory.
constexpr int farthest = 2;

enum class Wait { none, looks, sleeps };

struct Rank {
    int node = 0;
    sg::SemaphorePtr bell;
    Wait wait = Wait::none;
    bool is_called = false; ///< the bell has been rung, and not yet been heard
    int told = 0;        ///< what it has been told since it last looked, how far that is to go on
    double told_at = 0;  ///< when it can see that
    int news = farthest; ///< what it has to tell
    double patience = shortest_patience;
    double debt = 0;
    double last_wait = 0; ///< when that was over
    std::priority_queue<double, std::vector<double>, std::greater<>> arrivals;
};

struct State {
    Costs costs;
    std::vector<Rank> ranks;
    std::vector<std::vector<int>> nodes;
    std::unordered_map<long, int> rank_of; ///< of actors
    double call_began = 0;
};
State* state = nullptr;

Rank& own() { return state->ranks[static_cast<size_t>(rank())]; }

void call(Rank& other) {
    if (other.is_called) { return; }
    other.is_called = true;
    other.bell->release();
}

/// Until somebody calls, or that time. False: nobody has.
bool wait(Rank& mine, Wait how, double until) {
    mine.wait = how;
    mine.bell->acquire_timeout(std::max(shortest_sleep, until - sg::Engine::get_clock()));
    mine.wait = Wait::none;
    while (mine.bell->get_capacity() > 0) { mine.bell->acquire(); } // called when it was late
    return std::exchange(mine.is_called, false);
}

/// Those that look, that something may be there.
void tell_node(Rank& mine) {
    if (mine.news == 0) { return; }
    const int news = std::exchange(mine.news, 0);
    for (const int other : state->nodes[static_cast<size_t>(mine.node)]) {
        Rank& theirs = state->ranks[static_cast<size_t>(other)];
        if (&theirs == &mine) { continue; }
        if (theirs.told == 0) { theirs.told_at = sg::Engine::get_clock() + state->costs.flag; }
        theirs.told = std::max(theirs.told, news);
        if (theirs.wait == Wait::looks) { call(theirs); }
    }
}

bool pay(Rank& mine) {
    if (mine.debt < shortest_sleep) { return false; }
    sg::this_actor::sleep_for(std::exchange(mine.debt, 0));
    return true;
}

/// Forgets messages that have come. True: some have since this rank last waited.
bool take_arrivals(Rank& mine) {
    const double clock = sg::Engine::get_clock();
    bool has_new = false;
    for (; !mine.arrivals.empty() && mine.arrivals.top() + moment <= clock; mine.arrivals.pop()) {
        has_new |= mine.arrivals.top() + moment > mine.last_wait;
    }
    return has_new;
}

/// When it has something to look for again; infinite: nothing is under way, and nobody has told it
/// anything.
double next_look(const Rank& mine) {
    double next = std::numeric_limits<double>::infinity();
    if (!mine.arrivals.empty()) { next = mine.arrivals.top() + moment; }
    return mine.told > 0 ? std::min(next, mine.told_at) : next;
}

/// Time that has passed otherwise has passed in MPI: it may have done anything there.
void note_time(Rank& mine) {
    if (sg::Engine::get_clock() > mine.last_wait) { mine.news = farthest; }
}

void end_wait(Rank& mine) { mine.last_wait = sg::Engine::get_clock(); }

} // namespace

void open(const std::vector<int>& node_of, const Costs& costs) {
    state = new State{costs, std::vector<Rank>(node_of.size()), {}, {}, 0};
    for (size_t i = 0; i < node_of.size(); ++i) {
        Rank& made = state->ranks[i];
        made.node = node_of[i];
        made.bell = sg::Semaphore::create(0);
        const auto node = static_cast<size_t>(made.node);
        if (state->nodes.size() <= node) { state->nodes.resize(node + 1); }
        state->nodes[node].push_back(static_cast<int>(i));
    }
}

void begin_call() { state->call_began = sg::Engine::get_clock(); }

void begin_rank(int rank) { state->rank_of[sg::this_actor::get_pid()] = rank; }

int rank() {
    if (state == nullptr || sg::this_actor::is_maestro()) { return -1; }
    const auto found = state->rank_of.find(sg::this_actor::get_pid());
    return found == state->rank_of.end() ? -1 : found->second;
}

double now() {
    const int mine = rank();
    const double clock = sg::Engine::get_clock();
    return mine < 0 ? clock : clock + state->ranks[static_cast<size_t>(mine)].debt;
}

void charge_copy(size_t bytes) {
    const int mine = rank();
    if (mine < 0) { return; }
    state->ranks[static_cast<size_t>(mine)].debt +=
        static_cast<double>(bytes) * state->costs.copy_per_byte;
}

void arrives(int rank, double time) {
    Rank& theirs = state->ranks[static_cast<size_t>(rank)];
    const bool is_first = theirs.arrivals.empty() || time < theirs.arrivals.top();
    theirs.arrivals.push(time);
    if (is_first && theirs.wait == Wait::looks) { call(theirs); } // to wait for this one
}

void wait_for_arrivals() {
    Rank& mine = own();
    while (!mine.arrivals.empty()) { // more may get under way meanwhile
        const double next = mine.arrivals.top() + moment;
        mine.arrivals.pop();
        if (next > sg::Engine::get_clock()) { sg::this_actor::sleep_until(next); }
    }
}

void note_progress() { own().news = farthest; }

void before_call() {
    if (rank() < 0) { return; }
    Rank& mine = own();
    pay(mine);
    note_time(mine);
    tell_node(mine);
}

void pause() {
    Rank& mine = own();
    note_time(mine);
    pay(mine);
    tell_node(mine);
    const double begin = sg::Engine::get_clock();
    if (begin > state->call_began + state->costs.hopeless) { _exit(waits_for_ever); }
    const double give_up = begin + mine.patience;
    bool has_news = take_arrivals(mine);
    while (!has_news && sg::Engine::get_clock() < std::min(give_up, next_look(mine))) {
        wait(mine, Wait::looks, std::min(give_up, next_look(mine)));
        has_news = take_arrivals(mine);
    }
    if (has_news) { mine.news = farthest; }
    if (mine.told > 0 && sg::Engine::get_clock() >= mine.told_at) {
        mine.news = std::max(mine.news, std::exchange(mine.told, 0) - 1);
        has_news = true;
    }
    mine.patience = has_news ? shortest_patience : std::min(2 * mine.patience, longest_patience);
    end_wait(mine);
}

void sleep(const std::atomic<uint32_t>& flag, uint32_t value, double most) {
    Rank& mine = own();
    note_time(mine);
    pay(mine);
    tell_node(mine);
    if (flag.load() != value) { return end_wait(mine); }
    if (wait(mine, Wait::sleeps, sg::Engine::get_clock() + most)) {
        sg::this_actor::sleep_for(state->costs.flag);
    }
    mine.news = farthest;
    end_wait(mine);
}

void wake() {
    Rank& mine = own();
    pay(mine);
    for (const int other : state->nodes[static_cast<size_t>(mine.node)]) {
        Rank& theirs = state->ranks[static_cast<size_t>(other)];
        if (&theirs != &mine && theirs.wait == Wait::sleeps) { call(theirs); }
    }
    mine.news = farthest;
    tell_node(mine);
}

} // namespace nodeaware::simulation::virtual_time
