#include "tests/unit/scripted/scheduler.hpp"

#include "tests/unit/scripted/stack.hpp"

#include <cxxabi.h>
#include <exception>
#include <ucontext.h>

namespace scripted {

namespace {

Scheduler* active = nullptr;
ucontext_t outside;

constexpr uint64_t hopeless = 30000; ///< moments in which nothing has happened

/// Exceptions that are being handled, which the language keeps for each thread.
struct Handling {
    void* caught = nullptr;
    unsigned int uncaught = 0;
};
Handling& handling() { return *reinterpret_cast<Handling*>(abi::__cxa_get_globals()); }

} // namespace

struct Scheduler::Fiber {
    Stack stack;
    ucontext_t context{};
    Handling exceptions;
    std::function<bool()> ready; ///< empty: it can go on
    bool is_in_mpi = false;
    bool is_over = false;
    size_t haste = 1;
    std::string place = "start";
    const char* call = nullptr;
};

Scheduler::Scheduler(Random random)
    : random_(random), patience_(random_.one_of(std::vector<size_t>{2, 4, 16, 64})) {}

Scheduler::~Scheduler() { active = nullptr; }

Scheduler* Scheduler::running() {
    return active != nullptr && active->current_ >= 0 ? active : nullptr;
}

void Scheduler::enter() {
    Stack::finish_switch(nullptr);
    const int rank = active->current_;
    try {
        active->program_(rank);
    } catch (const std::exception& error) {
        active->stop(std::string("an exception: ") + error.what());
    }
    active->fibers_[static_cast<size_t>(rank)]->is_over = true;
    active->note_change();
    active->suspend();
}

/// By itself, as getcontext may return twice for all that the compiler knows.
void Scheduler::prepare(Fiber& fiber) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = Stack::size;
    makecontext(&fiber.context, enter, 0);
}

std::string Scheduler::run(int ranks, const std::function<void(int)>& program, Deliver deliver) {
    active = this;
    program_ = program;
    deliver_ = std::move(deliver);
    for (int rank = 0; rank < ranks; ++rank) {
        Fiber& fiber = *fibers_.emplace_back(std::make_unique<Fiber>());
        fiber.haste = random_.one_of(std::vector<size_t>{1, 4, 16});
        prepare(fiber);
    }
    while (ended_.empty()) {
        const int next = choose();
        if (next < 0) { break; }
        resume(next);
        nanoseconds_ += idle_ < 500 ? 1000 : 50000;
        if (++idle_ > hopeless) { ended_ = "nothing happens any more" + places(); }
    }
    active = nullptr;
    return ended_;
}

/// A rank that can go on; -1 if all are over or none can.
int Scheduler::choose() {
    while (true) {
        std::vector<int> able;
        bool are_over = true;
        for (size_t i = 0; i < fibers_.size(); ++i) {
            Fiber& fiber = *fibers_[i];
            if (fiber.is_over) { continue; }
            are_over = false;
            const int rank = static_cast<int>(i);
            if (fiber.ready && fiber.is_in_mpi && random_.one_in(4)) { deliver_(rank, false); }
            if (!fiber.ready || fiber.ready()) { able.insert(able.end(), fiber.haste, rank); }
        }
        if (!able.empty()) { return random_.one_of(able); }
        if (are_over) { return -1; }
        bool has_happened = false;
        for (size_t i = 0; i < fibers_.size(); ++i) {
            const Fiber& fiber = *fibers_[i];
            const bool looks = !fiber.is_over && fiber.is_in_mpi;
            if (looks && deliver_(static_cast<int>(i), true)) { has_happened = true; }
        }
        if (!has_happened) {
            ended_ = "no rank can go on" + places();
            return -1;
        }
    }
}

std::string Scheduler::places() const {
    std::string text;
    for (size_t i = 0; i < fibers_.size(); ++i) {
        const Fiber& fiber = *fibers_[i];
        text += "\n  rank " + std::to_string(i) + ": " + (fiber.is_over ? "over" : fiber.place);
        if (fiber.call != nullptr && !fiber.is_over) { text += std::string(", in ") + fiber.call; }
        if (fiber.ready) { text += ", blocked"; }
    }
    return text;
}

void Scheduler::resume(int rank) {
    Fiber& fiber = *fibers_[static_cast<size_t>(rank)];
    current_ = rank;
    fiber.ready = nullptr;
    const Handling kept = handling();
    handling() = fiber.exceptions;
    void* fake = nullptr;
    Stack::begin_switch(&fake, fiber.stack.data(), Stack::size);
    swapcontext(&outside, &fiber.context);
    Stack::finish_switch(fake);
    fiber.exceptions = handling();
    handling() = kept;
    current_ = -1;
}

void Scheduler::suspend() {
    Fiber& fiber = *fibers_[static_cast<size_t>(current_)];
    void* fake = nullptr;
    Stack::begin_switch_outside(&fake);
    swapcontext(&fiber.context, &outside);
    Stack::finish_switch(fake);
}

void Scheduler::may_switch() {
    if (random_.one_in(patience_) || !ended_.empty()) { suspend(); }
}

void Scheduler::wait_until(std::function<bool()> ready, bool in_mpi) {
    Fiber& fiber = *fibers_[static_cast<size_t>(current_)];
    fiber.is_in_mpi = in_mpi;
    do {
        fiber.ready = ready;
        suspend();
    } while (!ready());
}

void Scheduler::set_place(std::string place) {
    fibers_[static_cast<size_t>(current_)]->place = std::move(place);
}

void Scheduler::set_call(const char* function) {
    fibers_[static_cast<size_t>(current_)]->call = function;
}

const std::string& Scheduler::place() const {
    return fibers_[static_cast<size_t>(current_)]->place;
}

void Scheduler::stop(const std::string& why) {
    if (ended_.empty()) {
        ended_ = why;
        if (current_ >= 0) { ended_ += places(); }
    }
}

} // namespace scripted
