#pragma once

#include "interpose/abi.hpp"

#include <atomic>
#include <cstdint>

namespace nodeaware::interpose {

/// The definition of `name` that comes after this library in the search order; for MPI_X, PMPI_X if
/// there is none. nullptr if there is no such function. Never one of this library's own, which has
/// both names: the order is followed from here on, and beyond it libraries of MPI are asked, then
/// all others but this one.
void* next_symbol(const char* name);

/// What this library does not have: the variable or function of this name that the program finds,
/// or else that of MPI; nullptr: there is none.
void* symbol_of_mpi(const char* name);

/// Of a library that is neither one of MPI nor this one.
bool is_of_stand_in(const void* symbol);

/// Where a library that was loaded by itself, as those of Python are, brings along what stands in
/// for MPI (sequential MUMPS does), its calls are for that, whether or not the process has MPI,
/// too: the function of this name that the library of `caller` finds there; nullptr: it has no
/// such.
void* stand_in(const char* name, const void* caller);

/// A function further down, found at its first use.
template <class Function> class Next {
  public:
    explicit constexpr Next(const char* name) : name_(name) {}

    Function* get() {
        auto* function = function_.load(std::memory_order_relaxed);
        if (function == nullptr) {
            function = reinterpret_cast<Function*>(next_symbol(name_));
            function_.store(function, std::memory_order_relaxed);
        }
        return function;
    }

    /// What calls from there are for, if that is not MPI.
    Function* stand_in(const void* caller) {
        return reinterpret_cast<Function*>(interpose::stand_in(name_, caller));
    }

    /// The same, or nullptr before its first use.
    Function* known() const { return function_.load(std::memory_order_relaxed); }

  private:
    const char* name_;
    std::atomic<Function*> function_{nullptr};
};

/// Returned when a wrapper is called and there is no MPI to pass the call to: MPI_ERR_OTHER of all
/// known MPIs.
inline constexpr int no_mpi = 16;

/// The core, while it is in charge of calls of this thread: not before MPI_Init and after
/// MPI_Finalize, not without a core for this MPI, and not inside our own work or an MPI function
/// that is implemented with others. `caller`: where the application has called the function.
const abi::Core* active_core(const void* caller = nullptr);

/// Which calls a running core wants to see: its counters of the same names; zeroes while no core
/// runs. Cheaper to ask than active_core(), for calls that mostly nobody wants to see.
struct Activity {
    static constexpr std::atomic<int> nothing{0};
    using Counter = std::atomic<const std::atomic<int>*>;
    Counter meetings{&nothing};
    Counter requests{&nothing};
    Counter messages{&nothing};
    Counter pending_work{&nothing};
    Counter reductions{&nothing};
    Counter told_calls{&nothing};
};
inline constinit Activity activity;
inline bool is_any(const Activity::Counter& counter) {
    return counter.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) != 0;
}

/// While one lives, calls of this thread pass straight through. The end of the outermost throws
/// what functions of the application have thrown meanwhile, as if it came from MPI.
class Inside {
  public:
    Inside();
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

/// What calls this thread is in.
struct ThreadState {
    int depth = 0;                 ///< of Inside
    int blocking = 0;              ///< BlockingCalls
    bool is_told = false;          ///< a ToldCall
    const void* caller = nullptr;  ///< of the outermost of them, in the application
    const void* fortran = nullptr; ///< the same, of a call from Fortran
    void* thrown = nullptr;        ///< kept until the outermost ends
    unsigned errors = 0;           ///< of which MPI has told handlers of the application
    int last_error = 0;
};

/// Around a call from Fortran. MPI may do it by functions of C, whose caller is then not the
/// application: it stays the place where the outermost was called.
class CalledFromFortran {
  public:
    explicit CalledFromFortran(const void* caller);
    ~CalledFromFortran();
    CalledFromFortran(const CalledFromFortran&) = delete;
    CalledFromFortran& operator=(const CalledFromFortran&) = delete;

  private:
    const bool is_outermost_;
};

/// While one lives, this thread runs a function of the application, whoever has called it, and is
/// in no call. Left by longjmp that stays so, as it should.
class Application {
  public:
    Application();
    ~Application();
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    /// Calls the function. What it throws is thrown at the end of the application's own call, if
    /// that is one of those that the library has a hand in; no more functions are called until
    /// then.
    template <class Function> void run(Function function) {
        if (state_.thrown != nullptr) { return; }
        keeps_exceptions()
            ? call_and_keep([](void* of) { (*static_cast<Function*>(of))(); }, &function)
            : function();
    }

  private:
    bool keeps_exceptions() const;
    void call_and_keep(void (*function)(void*), void* argument);

    ThreadState state_;  ///< of whoever has called it
    uint32_t turns_ = 0; ///< that this thread has given up
};

/// MPI is calling an error handler of the application.
void tell_error(int code);

/// Before MPI's own call: what that has come to. MPICH from 4.3 on returns success once it has
/// called such a handler.
class Outcome {
  public:
    Outcome();
    /// The error code; `returned` is what the call has returned.
    int of(int returned) const;

  private:
    unsigned errors_;
};

/// Before a function that may block in MPI.
inline void before_blocking(const abi::Core& core) {
    if (is_any(activity.pending_work)) {
        const Inside inside;
        core.before_blocking();
    }
}

/// Around a call of MPI's own function that may block.
class BlockingCall {
  public:
    explicit BlockingCall(const abi::Core& core);
    ~BlockingCall();
    BlockingCall(const BlockingCall&) = delete;
    BlockingCall& operator=(const BlockingCall&) = delete;

  private:
    const abi::Core& core_;
};

/// Around MPI's own call, which the core is told of where it wants to know. Only of the outermost:
/// functions of MPI for Fortran may come to those of C.
class ToldCall {
  public:
    ToldCall(const abi::Core& core, const char* function);
    ~ToldCall();
    ToldCall(const ToldCall&) = delete;
    ToldCall& operator=(const ToldCall&) = delete;

    /// After it; `comm`: of a collective one. Returns `result`.
    int done(int result, const abi::MPI_Comm* comm = nullptr) const {
        if (is_wanted(result)) { tell(comm, nullptr); }
        return result;
    }
    /// `passed` says what a collective one was given.
    template <class Reader>
    int done(int result, const abi::MPI_Comm& comm, const Reader& passed) const {
        if (is_wanted(result)) {
            const abi::Passed read = passed.read();
            tell(&comm, &read);
        }
        return result;
    }

  private:
    bool is_wanted(int result) const { return core_ != nullptr && result == 0; }
    void tell(const abi::MPI_Comm* comm, const abi::Passed* passed) const;

    const abi::Core* const core_; ///< nullptr: nobody wants to know
    const char* const function_;
    const int64_t begin_;
};

/// Before memory is made that ranks share: they may learn from it that a message was sent.
inline void before_sharing(const abi::Core& core) {
    const Inside inside;
    core.memory_shared();
}

/// Before the application waits for its buffered messages.
inline void before_detaching(const abi::Core& core) {
    const Inside inside;
    core.buffer_detached();
}

/// After memory was given to buffered messages of a communicator or a session.
inline int attached(const abi::Core& core, int result) {
    if (result == 0) { core.buffer_attached(); }
    return result;
}

/// Around MPI's own collective call, whose communicator is asked for afterwards.
template <class Call, class Communicator>
int around_meeting(const abi::Core& core, Call call, Communicator communicator) {
    if (!is_any(activity.meetings)) {
        const BlockingCall blocking(core);
        return call();
    }
    const Inside inside;
    core.before_meeting();
    const Outcome outcome;
    const int result = call();
    const int code = outcome.of(result);
    const int after = core.meeting(communicator(), code);
    return after == code ? result : after;
}

/// MPI_Allreduce, by the core or by MPI's own `call`.
template <class Call>
int reduce(const abi::Core& core, const abi::Reduction& reduction, abi::MPI_Comm comm, Call call) {
    if (!is_any(activity.reductions)) { return call(); }
    int result = 0;
    abi::Offered offered = abi::Offered::left_alone;
    {
        const Inside inside;
        offered = core.allreduce(&result, reduction, comm);
    }
    if (offered == abi::Offered::done) { return result; }
    result = call();
    if (offered == abi::Offered::left_and_counted) {
        const Inside inside;
        core.native_done(result);
    }
    return result;
}

/// Called after a successful MPI_Init: loads the core that fits the MPI and starts it, if all ranks
/// can. It stops inside MPI_Finalize.
void start_core();

/// The process ends without MPI_Finalize.
void before_end(bool by_abort);

/// True if this process runs Open MPI.
bool is_open_mpi();

} // namespace nodeaware::interpose
